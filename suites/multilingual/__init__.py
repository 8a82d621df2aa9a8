"""What each language pays."""
