"""Text as UTF-8 bytes, or the reason why there are none."""

from __future__ import annotations

from tokbench.bench.errors import TokenizerError


def utf8(text: str) -> bytes:
    """Return a text's bytes; raise `TokenizerError` for a lone surrogate, which has none.

    >>> utf8("é")
    b'\\xc3\\xa9'
    """
    try:
        return text.encode()
    except UnicodeEncodeError as exc:
        raise TokenizerError(
            f"the text holds a lone surrogate (U+{ord(text[exc.start]):04X}), which has no UTF-8 "
            "form; repair the text where it is read"
        ) from exc
