"""Adapters of the libraries people use."""
