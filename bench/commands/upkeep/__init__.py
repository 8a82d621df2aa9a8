"""Keeping house: what takes space and can go."""
