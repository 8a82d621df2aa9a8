"""What follows what, and the shape of the frequencies."""
