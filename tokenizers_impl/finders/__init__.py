"""Tokenizers by name, file or repository: what the command line and a config's plain string take."""
