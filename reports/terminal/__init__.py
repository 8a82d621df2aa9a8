"""Tables of a run for a terminal of any width."""
