"""Figures by the conventions of publications, to reproduce them."""
