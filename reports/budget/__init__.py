"""Reports on a budget: for a terminal, a pull request, and programs."""
