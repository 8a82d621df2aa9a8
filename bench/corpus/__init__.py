"""Corpora: read, sampled, segmented and kept as slices."""
