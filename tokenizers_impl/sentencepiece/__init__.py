"""SentencePiece-style pieces and BPE from scratch."""
