"""Small questions put to a tokenizer: digits, spaces, code."""
