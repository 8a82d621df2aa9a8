"""Counting: texts encoded once, and tallied."""
