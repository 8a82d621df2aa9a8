"""Other ways to encode with a vocabulary that is there."""
