"""What the entries of a vocabulary are."""
