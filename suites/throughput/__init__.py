"""How fast tokenizers are."""
