"""How evenly the vocabulary is used."""
