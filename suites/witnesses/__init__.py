"""Small texts that show a loss."""
