"""`tokbench check`: a health report of one tokenizer."""
