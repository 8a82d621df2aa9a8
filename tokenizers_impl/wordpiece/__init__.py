"""WordPiece from scratch."""
