"""Text and tokens of some documents, for reports that show them."""
