"""Reports: pages written from a run folder, never from tokenizers."""
