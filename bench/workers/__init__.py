"""Processes that work for a run, and what they load."""
