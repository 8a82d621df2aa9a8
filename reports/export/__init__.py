"""A run in the formats of other programs: CSV, JSON, LaTeX, SVG."""
