"""Where tokens end: at the ends of words, inside them, inside characters."""
