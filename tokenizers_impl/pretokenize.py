"""Pre-tokenization: where a text is cut before merges are learned or applied.

A merge never crosses a cut, so the pattern decides a tokenizer's boundaries as much as its
merges do. Each named rule holds one regular expression in two spellings:

- `pattern`: as published for tiktoken, and the meaning that counts here;
- `tokenizers_pattern`: what to write into a `tokenizer.json` so that the `tokenizers` library
  cuts at the same places. Its regex engine reads ``{1,3}+`` as "one or more groups of one to
  three", where tiktoken reads a possessive ``{1,3}``; the possessive ``++``, ``*+`` and ``?+``
  mean the same in both and must stay.

Splitting here goes through the `regex` library. `pretokenize_fast` cuts at the same places with
NumPy. Both use the Unicode tables of `regex`, which may know letters that the tables compiled
into tiktoken do not; texts of characters that are assigned in both are cut alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from tokbench.bench.errors import ConfigError, TokenizerError

if TYPE_CHECKING:
    import regex

_CONTRACTION = r"'(?:[sdmt]|ll|ve|re)"
_ANY_CASE_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


@dataclass(frozen=True, kw_only=True)
class PreTokenization:
    """One way to cut a text into pieces: a name, a pattern, and its spelling for `tokenizers`.

    >>> PRE_TOKENIZATIONS["cl100k"].split("It's 12345 o'clock")
    ['It', "'s", ' ', '123', '45', ' o', "'clock"]
    """

    name: str
    pattern: str
    tokenizers_pattern: str

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text, in order; joined they are the text again.

        Raises `TokenizerError` when the pattern leaves characters unmatched: tiktoken would drop
        them without a word.
        """
        pieces: list[str] = _compiled(self.pattern).findall(text)
        if sum(map(len, pieces)) != len(text):
            raise TokenizerError(
                f"pre-tokenization {self.name!r} loses text: its pattern {self.pattern!r} does not "
                "match every character; add an alternative for the rest, such as |[\\s\\S]"
            )
        return pieces


def _gpt2_like(numbers: str) -> str:
    """Return GPT-2's pattern with another rule for numbers."""
    return rf"{_CONTRACTION}| ?\p{{L}}++|{numbers}| ?[^\s\p{{L}}\p{{N}}]++|\s++$|\s+(?!\S)|\s"


_GPT2 = _gpt2_like(r" ?\p{N}++")
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_O200K = "|".join(
    [
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ANY_CASE_CONTRACTION}?",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ANY_CASE_CONTRACTION}?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_WHITESPACE = r" ?\S++|\s++$|\s+(?!\S)|\s"
_DIGITS_3 = _gpt2_like(r"\p{N}{1,3}")
_DIGITS_3_RIGHT = _gpt2_like(r"\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N}))")
_DIGITS_1 = _gpt2_like(r"\p{N}")


def _named(name: str, pattern: str, tokenizers_pattern: str | None = None) -> PreTokenization:
    return PreTokenization(
        name=name, pattern=pattern, tokenizers_pattern=tokenizers_pattern or pattern
    )


PRE_TOKENIZATIONS = {
    p.name: p
    for p in (
        _named("none", r"[\s\S]+"),
        _named("whitespace", _WHITESPACE),
        _named("gpt2", _GPT2),
        _named("cl100k", _CL100K, _CL100K.replace("{1,3}+", "{1,3}")),
        _named("o200k", _O200K),
        _named("digits_3", _DIGITS_3),
        _named("digits_3_right", _DIGITS_3_RIGHT),
        _named("digits_1", _DIGITS_1),
    )
}
"""The named rules.

- `none`: the whole text is one piece.
- `whitespace`: a word takes the one space before it; other whitespace stays apart.
- `gpt2`, `cl100k`, `o200k`: as in the encodings of these names.
- `digits_3`, `digits_3_right`, `digits_1`: GPT-2's rule with numbers cut into groups of up to three
  digits from the left (``123 456 78``), from the right (``12 345 678``), or into single digits,
  and no space taken into a number.
"""


def pre_tokenization(name: str) -> PreTokenization:
    """Return the named rule; raise `ConfigError` with the known names when there is none.

    >>> pre_tokenization("digits_3_right").split("n = 12345678")
    ['n', ' =', ' ', '12', '345', '678']
    """
    try:
        return PRE_TOKENIZATIONS[name]
    except KeyError:
        raise ConfigError(
            f"unknown pre-tokenization {name!r}; use one of: {', '.join(PRE_TOKENIZATIONS)}"
        ) from None


def from_pattern(pattern: str, *, dialect: str = "tiktoken") -> PreTokenization:
    """Return the rule with this pattern: a named one where the pattern is known.

    `dialect` is ``tiktoken`` or ``tokenizers``. A pattern that is not known keeps its spelling in
    both, except for the bounded possessive quantifier.

    >>> from_pattern(r"[\\s\\S]+").name
    'none'
    >>> from_pattern(r"\\S+|\\s+").name
    'custom'
    """
    for known in PRE_TOKENIZATIONS.values():
        spelling = known.pattern if dialect == "tiktoken" else known.tokenizers_pattern
        if pattern == spelling:
            return known
    if not _compiles(pattern):
        raise ConfigError(f"pre-tokenization pattern {pattern!r} is not a regular expression")
    return _named("custom", pattern, pattern.replace("{1,3}+", "{1,3}"))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> regex.Pattern[str]:
    import regex

    return regex.compile(pattern)


def _compiles(pattern: str) -> bool:
    import regex

    try:
        _compiled(pattern)
    except regex.error:
        return False
    return True
