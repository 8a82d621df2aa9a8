"""The config: its models, and the YAML they are read from."""
