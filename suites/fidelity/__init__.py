"""Whether the text survives."""
