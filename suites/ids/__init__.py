"""Whether engines give the same ids."""
