"""Two sides compared, value by value."""
