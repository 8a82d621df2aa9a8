"""How time grows with the length of a text."""
