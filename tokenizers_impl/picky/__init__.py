"""Byte-level BPE that drops entries: PickyBPE, and vocabularies that are trimmed."""
