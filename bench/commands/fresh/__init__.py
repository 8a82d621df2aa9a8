"""Beginning without a config: what files are there, their size at once, a config written."""
