"""Corpora of `datasets`: from the Hub, or local files through it."""
