"""Reading tokbench's own JSON files: one object, its kind and version under ``format``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.files import json_of, read_file, text_of


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text; raise `TokenizerError` when it is missing or something else."""
    return text_of(read_file(path, path.name), path.name)


def parse(text: str, path: Path, expected: str) -> dict[str, Any]:
    """Return the object in `text` if its ``format`` is the expected one.

    >>> parse('{"format": "tokbench.unigram.1"}', Path("m.json"), "tokbench.wordpiece.1")
    Traceback (most recent call last):
        ...
    tokbench.bench.errors.TokenizerError: m.json has format 'tokbench.unigram.1', not 'tokbench.wordpiece.1'
    """
    content = json_of(text, path.name)
    found = content.get("format")
    if found != expected:
        hint = ", it is a tokenizer.json for type huggingface" if _is_huggingface(content) else ""
        raise TokenizerError(f"{path.name} has format {found!r}, not {expected!r}{hint}")
    return content


def _is_huggingface(content: dict[str, Any]) -> bool:
    return "model" in content and "added_tokens" in content
