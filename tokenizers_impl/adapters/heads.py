"""What a tokenizer's file is, as far as its first bytes tell, and an option that types share."""

from __future__ import annotations

import re


def kind_of(head: bytes) -> str | None:
    """Return what a tokenizer's file is from its first bytes, None where they do not tell.

    >>> kind_of(b'{"version": "1.0"'), kind_of(b"IQ== 0\\nIg== 1"), kind_of(b"\\n\\x0e\\n\\x05<unk>")
    ('JSON', 'base64 ranks', 'a SentencePiece model')
    """
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return "JSON"
    if re.match(rb"[A-Za-z0-9+/]+={0,2} \d+\r?(?:\n|$)", head):
        return "base64 ranks"
    return "a SentencePiece model" if re.match(rb"\n[\x00-\xff]\n", head, re.DOTALL) else None


_READ_BY = {
    "JSON": "huggingface",
    "base64 ranks": "tiktoken",
    "a SentencePiece model": "sentencepiece",
}


def unlike(head: bytes, wanted: str) -> str | None:
    """Return why a file is not of the wanted kind, and the type that reads it; None where it is."""
    kind = kind_of(head)
    if kind == wanted:
        return None
    hint = f"is {kind}; use `type: {_READ_BY[kind]}`" if kind else f"does not begin like {wanted}"
    return hint if kind else f"{hint}; is it another file?"


def not_count(value: object) -> object:
    """Return an option `special_tokens` as it is; `ValueError` where it belongs to a suite."""
    if value == "count":
        raise ValueError(
            "special tokens are counted by a suite, for published figures only: "
            "`suites: {conventions: {special_tokens: count}}`"
        )
    return value
