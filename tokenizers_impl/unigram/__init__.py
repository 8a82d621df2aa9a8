"""The Unigram model from scratch."""
