"""Suites: what is computed from tallies, tokenizers or the clock. Each module is one suite."""
