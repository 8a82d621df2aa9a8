"""Trainers that change where or from what byte-level BPE learns."""
