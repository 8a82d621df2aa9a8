"""How compactly text is written."""
