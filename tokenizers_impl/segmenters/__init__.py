"""Words of languages that are written without spaces, found by libraries (extra: `words`)."""
