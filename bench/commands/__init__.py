"""What the commands do; `tokbench.bench.cli` parses and prints."""
