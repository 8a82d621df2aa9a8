"""Baselines: characters, words and bytes."""
