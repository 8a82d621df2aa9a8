"""Tokens and short texts as a table can show them: nothing hidden, nothing read as markup."""

from __future__ import annotations

from tokbench.bench.markup import escape, visible

LONGEST = 60
"""Characters of a text that a table shows."""


def code(text: str) -> str:
    """Return text that is visible already as code.

    >>> code("a|b")
    '<code>a&#124;b</code>'
    """
    return f"<code>{escape(text)}</code>"


def shown_bytes(content: bytes) -> str:
    r"""Return a token's bytes as text, those that are no character as escapes.

    >>> print(shown_bytes(b" the"), shown_bytes(b"\xe6\x9c"))
    ␣the \xE6\x9C
    """
    text = content.decode("utf-8", "surrogateescape")
    return "".join(
        f"\\x{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text
    )


def shown_text(text: str) -> str:
    """Return a text with every character visible, a long one with its start only.

    >>> shown_text("a b"), shown_text(""), len(shown_text("x" * 99))
    ('a␣b', '(nothing)', 62)
    """
    if not text:
        return "(nothing)"
    return visible(text[:LONGEST]) + (" …" if len(text) > LONGEST else "")


def code_points(text: str) -> str:
    """Return the code points of a short text, a dash for a longer one.

    >>> code_points("é"), code_points("abcdefgh")
    ('U+00E9', '–')
    """
    if not 0 < len(text) <= 6:
        return "–"
    return " ".join(f"U+{ord(c):04X}" for c in text)
