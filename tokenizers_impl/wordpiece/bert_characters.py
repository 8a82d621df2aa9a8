"""What BERT's normalizer and pre-tokenizer make of one character.

Both work character by character, so that together they are a map from a character to a short
string in which spaces mark where words end:

>>> uncased = BertOptions(lowercase=True)
>>> [split_character(c, uncased) for c in "Aé,\\t中\\u200b"]
['a', 'e', ' , ', ' ', ' 中 ', '']

The classes of characters are those of the `tokenizers` library, whose tables know Unicode 8:
marks, punctuation and format characters that came later are letters to it, and here. Lower case
and decomposition follow the Unicode version of the running Python.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from tokbench.bench.plugins import weighted
from tokbench.tokenizers_impl.training_input import add_weighted


@dataclass(frozen=True, kw_only=True)
class BertOptions:
    """The options of BERT's normalizer, by their names in `tokenizers`."""

    lowercase: bool
    strip_accents: bool | None = None
    """Delete nonspacing marks; None: when lower-casing. Removes vowel signs of many scripts."""
    handle_chinese_chars: bool = True
    """Make each Han character a word of its own."""
    clean_text: bool = True
    """Delete control characters and U+FFFD."""

    @property
    def strips_accents(self) -> bool:
        """`strip_accents` with its default filled in."""
        return self.lowercase if self.strip_accents is None else self.strip_accents


def split_character(character: str, options: BertOptions) -> str:
    """Return the normalized character, with spaces where words begin and end around it."""
    if options.clean_text and is_control(character):
        return ""
    alone = options.handle_chinese_chars and is_chinese(character)
    if options.strips_accents:
        character = "".join(c for c in _decomposed(character) if not is_mark(c))
    if options.lowercase:
        # One character at a time: str.lower() of a whole word knows the final sigma, BERT does not.
        character = "".join(c.lower() for c in character)
    pieces = "".join(map(_pre_tokenized, character))
    return f" {pieces} " if alone else pieces


class CharacterMap(dict[int, str]):
    """`split_character` as a table for `str.translate`, filled as characters are met.

    >>> "Déjà-vu".translate(CharacterMap(BertOptions(lowercase=True))).split()
    ['deja', '-', 'vu']
    """

    def __init__(self, options: BertOptions) -> None:
        super().__init__()
        self._options = options

    def __missing__(self, code: int) -> str:
        pieces = self[code] = split_character(chr(code), self._options)
        return pieces


def has_odd_separators(text: str) -> bool:
    """Say whether `str.split` would cut where BERT does not, or does only without cleaning."""
    return any(c in text for c in "\x0b\x0c\x1c\x1d\x1e\x1f\x85")


def count_words(texts: Iterable[str], options: BertOptions) -> Counter[str]:
    """Count normalized words; each distinct stretch between spaces is normalized once.

    >>> sorted(count_words(["A bee, a bee"], BertOptions(lowercase=True)).items())
    [(',', 1), ('a', 2), ('bee', 2)]
    """
    chunks: Counter[str] = Counter()
    for text, weight in weighted(texts):
        add_weighted(chunks, [text] if has_odd_separators(text) else text.split(), weight)
    characters = CharacterMap(options)
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word in chunk.translate(characters).split(" "):
            words[word] += count
    del words[""]
    return words


def _pre_tokenized(character: str) -> str:
    if is_whitespace(character):
        return " "
    return f" {character} " if is_punctuation(character) else character


def is_control(character: str) -> bool:
    """Say whether cleaning deletes it: Cc, Cf, Co, U+FFFD, but not tab and line ends.

    >>> [is_control(c) for c in "\\x00\\u200d\\ufffd\\n"]
    [True, True, True, False]
    """
    if character in "\t\n\r" or ord(character) in _later_formats():
        return False
    return character == "\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Co"}


def is_whitespace(character: str) -> bool:
    """Say whether it has Unicode's White_Space property.

    Not `str.isspace`, which adds U+001C to U+001F.
    """
    return character.isspace() and not "\x1c" <= character <= "\x1f"


def is_punctuation(character: str) -> bool:
    """Say whether it is a word of its own: Unicode's P classes, and all ASCII symbols.

    >>> [is_punctuation(c) for c in "-$«a€"]
    [True, True, True, False, False]
    """
    code = ord(character)
    if code < 128:
        return character.isprintable() and not character.isalnum() and character != " "
    if code in (0x166D, 0x111C9):  # punctuation in Unicode 8, since then of another class
        return True
    return unicodedata.category(character)[0] == "P" and code not in _later_punctuation()


def is_mark(character: str) -> bool:
    """Say whether stripping accents deletes it: class Mn."""
    code = ord(character)
    if code in (0x1734, 0x1171E):  # nonspacing in Unicode 8, spacing since then
        return True
    return unicodedata.category(character) == "Mn" and code not in _later_marks()


def is_chinese(character: str) -> bool:
    """Say whether it lies in a block of Han characters, as BERT lists them.

    >>> [is_chinese(c) for c in "中かア한"]
    [True, False, False, False]
    """
    return ord(character) in _chinese()


def _decomposed(character: str) -> str:
    if ord(character) in _later_compositions():
        return character
    return unicodedata.normalize("NFD", character)


def _code_points(ranges: str) -> frozenset[int]:
    bounds = (part.partition("-") for part in ranges.split())
    return frozenset(
        code
        for first, _, last in bounds
        for code in range(int(first, 16), int(last or first, 16) + 1)
    )


@cache
def _chinese() -> frozenset[int]:
    return _code_points(
        "3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2b81f 2b920-2ceaf 2f800-2fa1f"
    )


@cache
def _later_formats() -> frozenset[int]:
    return _code_points("890-891 8e2 110cd 13430-1343f")


@cache
def _later_compositions() -> frozenset[int]:
    return _code_points(
        "105c9 105e4 11383 11385 1138e 11391 113c5 113c7-113c8 11938 16121-16128 16d68-16d6a"
    )


@cache
def _later_marks() -> frozenset[int]:
    return _code_points(
        "5c8-5c9 7fd 897-89f 8ca-8e1 9fe afa-aff b53-b55 c04 c3c d00 d3b-d3c d81 eba ece 180f "
        "1885-1886 1abf-1af0 1df6-1dfb a82c a8c5 a8ff a9bd 10d24-10d27 10d69-10d6d 10eab-10eac "
        "10ecb-10ecf 10ef0-10eff 10f46-10f50 10f82-10f85 11070 11073-11074 110c2 111c9 111cf "
        "1123e 11241 1133b 113bb-113c0 113ce 113d0 113d2 113e1-113e2 11438-1143f 11442-11444 "
        "11446 1145e 1182f-11837 11839-1183a 1193b-1193c 1193e 11943 119d4-119d7 119da-119db "
        "119e0 11a01-11a0a 11a33-11a38 11a3b-11a3e 11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 "
        "11a98-11a99 11b60 11b62-11b64 11b66 11c30-11c36 11c38-11c3d 11c3f 11c92-11ca7 "
        "11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47 "
        "11d90-11d91 11d95 11d97 11df0 11ef3-11ef4 11f00-11f01 11f36-11f3a 11f40 11f42 11f5a "
        "13440 13447-13455 1611e-16129 1612d-1612f 16f4f 16fe4 1cf00-1cf2d 1cf30-1cf46 "
        "1d127-1d128 1d25b-1d25c 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a "
        "1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef "
        "1e6f5 1e944-1e94a"
    )


@cache
def _later_punctuation() -> frozenset[int]:
    return _code_points(
        "61d 9fd a76 c77 c84 1b4e-1b4f 1b7d-1b7f 2e43-2e4f 2e52-2e5d 2e60-2e63 10d6e 10ead "
        "10ed0 10f55-10f59 10f86-10f89 113d4-113d5 113d7-113d8 1144b-1144f 1145a-1145b 1145d "
        "11660-1166c 116b9 1183b 11944-11946 119e2 11a3f-11a46 11a9a-11a9c 11a9e-11aa2 "
        "11b00-11b09 11be1 11c41-11c45 11c70-11c71 11ef7-11ef8 11f43-11f4f 11fff 12ff1-12ff2 "
        "16d6d-16d6f 16e97-16e9a 16fe2 1e5ff 1e95e-1e95f"
    )
