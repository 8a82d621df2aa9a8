"""`tokbench bisect`: the first version of a library that changes something."""
