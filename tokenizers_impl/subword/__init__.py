"""Code files of subword-nmt and fastBPE."""
