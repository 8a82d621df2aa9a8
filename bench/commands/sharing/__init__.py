"""Results that travel: a data set repository, and one table that grows over many runs."""
