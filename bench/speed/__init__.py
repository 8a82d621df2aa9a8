"""Two sides timed against each other in the same job."""
