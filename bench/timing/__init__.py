"""Timing: cases, samples and ratios."""
