"""Whether one tokenizer is sound: what `tokbench check` asks."""
