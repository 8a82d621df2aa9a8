"""The harness: corpora, counting, results, timing, comparisons and the command line."""
