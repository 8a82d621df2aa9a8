"""Reading tokbench's own JSON files: one object, its kind and version under ``format``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokbench.bench.errors import TokenizerError


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text; raise `TokenizerError` when it is missing or something else."""
    try:
        # not read_text(): it would turn "\r" inside an entry into a line end
        return path.read_bytes().decode()
    except OSError as exc:
        raise TokenizerError(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise TokenizerError(f"{path} is not UTF-8 text (byte {exc.start})") from exc


def parse(text: str, path: Path, expected: str) -> dict[str, Any]:
    """Return the object in `text` if its ``format`` is the expected one.

    >>> parse('{"format": "tokbench.unigram.1"}', Path("m.json"), "tokbench.wordpiece.1")
    Traceback (most recent call last):
        ...
    tokbench.bench.errors.TokenizerError: m.json has format 'tokbench.unigram.1', not 'tokbench.wordpiece.1'
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as exc:
        raise TokenizerError(
            f"{path.name}:{exc.lineno}:{exc.colno} is not JSON: {exc.msg}"
        ) from exc
    found = content.get("format") if isinstance(content, dict) else None
    if found != expected:
        hint = ", it is a tokenizer.json for type huggingface" if _is_huggingface(content) else ""
        raise TokenizerError(f"{path.name} has format {found!r}, not {expected!r}{hint}")
    return dict(content)


def _is_huggingface(content: object) -> bool:
    return isinstance(content, dict) and "model" in content and "added_tokens" in content
