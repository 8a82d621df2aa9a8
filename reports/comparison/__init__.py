"""Reports on two runs, and on many."""
