"""How token boundaries go with the boundaries of morphemes."""
