"""Variants of texts, and how the ids of a tokenizer follow them."""
