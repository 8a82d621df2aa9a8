"""Byte-level BPE from scratch."""
