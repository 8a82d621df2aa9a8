"""Texts that make tokenizers slow or end them, each of any length.

A family is one kind of text without anything in it that a pre-tokenizer could cut at, or with
nothing else; `words` is ordinary text to compare with. All are the same in every run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

SPECIAL_TOKENS = "special_tokens"
"""The family that is made of the tokenizer's own spellings."""


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda n: (unit * (n // len(unit) + 1))[:n]


@cache
def _drawn(first: int, last: int) -> str:
    """Return characters of a range, drawn once and for all."""
    rng = random.Random(0)
    return "".join(chr(rng.randint(first, last)) for _ in range(65_537))


_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "they",
    "at",
    "be",
    "this",
    "from",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "said",
    "if",
    "do",
    "will",
    "each",
    "about",
    "how",
]


@cache
def _words() -> str:
    """Return words in an order drawn once and for all."""
    rng = random.Random(0)
    return "".join(f"{rng.choice(_WORDS)} " for _ in range(20_011))


FAMILIES: Mapping[str, Callable[[int], str]] = {
    "words": lambda n: _repeated(_words())(n),
    "one_letter": _repeated("a"),
    "letters": lambda n: _repeated(_drawn(0x61, 0x7A))(n),
    "spaces": _repeated(" "),
    "spaces_before_letter": lambda n: " " * (n - 1) + "x",
    "newlines": _repeated("\n"),
    "digits": _repeated("1234567890"),
    "punctuation": _repeated("!"),
    "cjk": lambda n: _repeated(_drawn(0x4E00, 0x9FA5))(n),
    "emoji_zwj": _repeated("\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"),
    "combining_marks": lambda n: "e" + "\u0301" * (n - 1),
    SPECIAL_TOKENS: lambda n: "",
}
"""How each family makes a text of n code points; `text_of` makes those of special tokens."""


def text_of(family: str, n: int, spellings: Sequence[str] = ()) -> str | None:
    """Return a text of n code points, None where the tokenizer has no spellings to make it of.

    >>> text_of("digits", 12), text_of("special_tokens", 7, ["<a>", "<b>"])
    ('123456789012', '<a><b><')
    """
    if family != SPECIAL_TOKENS:
        return FAMILIES[family](n)
    unit = "".join(sorted(spellings))
    return _repeated(unit)(n) if unit else None
