"""How close a vocabulary comes to the fewest tokens it allows."""
