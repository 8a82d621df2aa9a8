"""Tokenizers: written from scratch, and adapters of the libraries people use."""
