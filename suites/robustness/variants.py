"""Variants of a text by class: where each class may edit it, and what comes there.

Which places are taken, and what is put there where there is a choice, is drawn from a seed.
Letters are letters with their marks, so that no class takes a mark off its letter but the one
that says so. After TokSuite (Altıntaş et al. 2025, arXiv 2512.20757).
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import regex

from tokbench.suites.robustness.characters import (
    HOMOGLYPHS,
    KEYBOARD_SCRIPTS,
    OCR,
    layout_of,
    neighbours,
)


class Writing(NamedTuple):
    """How a text is written: subtag of its language, and ISO 15924 code of its script."""

    language: str
    script: str


class Edit(NamedTuple):
    """A place of a text, in code points, and what may come there."""

    start: int
    end: int
    choices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A text, and what was edited.

    `places` are those of the original, in code points; `lengths` are the bytes that came there.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    lengths: tuple[int, ...]


Finder = Callable[[str, Writing], Iterator[Edit]]
"""Yields the places that a class may edit, in order, none over another."""


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """A class of variants: what it does, in which scripts, and whether at all of its places."""

    what: str
    find: Finder
    scripts: frozenset[str] | None = None
    """None for every script."""
    everywhere: bool = False
    """Whether every place is edited; else one is drawn for so many characters."""

    def applies(self, writing: Writing) -> bool:
        """Return whether the class is meant for a script."""
        return self.scripts is None or writing.script in self.scripts

    def variant(self, text: str, writing: Writing, *, seed: str, per_edit: int) -> Variant | None:
        """Return the variant that a seed gives, None where the text has no place for one."""
        edits = list(self.find(text, writing))
        if not edits:
            return None
        rng = random.Random(seed)
        if not self.everywhere:
            wanted = max(1, len(text) // per_edit)
            edits = sorted(rng.sample(edits, min(wanted, len(edits))))
        return _edited(text, edits, rng)


def _edited(text: str, edits: list[Edit], rng: random.Random) -> Variant:
    parts: list[str] = []
    lengths, done = [], 0
    for start, end, choices in edits:
        new = choices[0] if len(choices) == 1 else rng.choice(choices)
        parts += (text[done:start], new)
        lengths.append(len(new.encode()))
        done = end
    places = tuple((edit.start, edit.end) for edit in edits)
    return Variant(text="".join([*parts, text[done:]]), places=places, lengths=tuple(lengths))


_INNER = regex.compile(r"(?<=[\p{L}\p{M}])\p{L}\p{M}*")
_PAIR = regex.compile(r"(?<=[\p{L}\p{M}])(\p{L}\p{M}*)(\p{L}\p{M}*)")
_JOINED = regex.compile(r"\p{L}\p{M}*(?=\p{L})")
_LETTER = regex.compile(r"\p{L}\p{M}*")
_CLUSTER = regex.compile(r"\X")
_OCR = regex.compile("|".join(sorted(OCR, key=len, reverse=True)))
_SPACES = ("  ", "\u00a0", "\t", "\n")


def _rewritten(pattern: regex.Pattern[str], change: Callable[[regex.Match[str]], str]) -> Finder:
    """Return a finder of matches that a function changes."""

    def find(text: str, writing: Writing) -> Iterator[Edit]:
        for match in pattern.finditer(text):
            changed = change(match)
            if changed != match.group():
                yield Edit(*match.span(), (changed,))

    return find


def _by_character(change: Callable[[str, Writing], str]) -> Finder:
    """Return a finder of characters that a function changes."""

    def find(text: str, writing: Writing) -> Iterator[Edit]:
        known = {character: change(character, writing) for character in set(text)}
        for place, character in enumerate(text):
            if known[character] != character:
                yield Edit(place, place + 1, (known[character],))

    return find


def _keys_beside(text: str, writing: Writing) -> Iterator[Edit]:
    beside = neighbours(layout_of(*writing))
    for place, character in enumerate(text):
        near = beside.get(character.lower())
        if near:
            upper = character.isupper()
            yield Edit(place, place + 1, tuple(key.upper() for key in near) if upper else near)


def _white_space(text: str, writing: Writing) -> Iterator[Edit]:
    for place, character in enumerate(text):
        if character == " ":
            yield Edit(place, place + 1, _SPACES)


def _normalized(form: str, match: regex.Match[str]) -> str:
    return unicodedata.normalize(form, match.group())  # type: ignore[arg-type]


def _form(form: str) -> Finder:
    clusters = _rewritten(_CLUSTER, partial(_normalized, form))

    def find(text: str, writing: Writing) -> Iterator[Edit]:
        if not unicodedata.is_normalized(form, text):  # type: ignore[arg-type]
            yield from clusters(text, writing)

    return find


def _without_marks(match: regex.Match[str]) -> str:
    letter = match.group()
    if letter.isascii():
        return letter
    parts = unicodedata.normalize("NFD", letter)
    bare = "".join(part for part in parts if unicodedata.category(part) != "Mn")
    return unicodedata.normalize("NFC", bare)


def _upper(character: str, writing: Writing) -> str:
    dotted = character == "i" and writing.language in ("tr", "az")
    return "İ" if dotted else character.upper()


def _other_case(character: str, writing: Writing) -> str:
    lower = character.lower()
    return lower if lower != character else _upper(character, writing)


def _full_width(character: str, writing: Writing) -> str:
    return chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character


def _bold(character: str, writing: Writing) -> str:
    for first, last, bold in (("A", "Z", 0x1D400), ("a", "z", 0x1D41A), ("0", "9", 0x1D7CE)):
        if first <= character <= last:
            return chr(bold + ord(character) - ord(first))
    return character


_CASED = frozenset({"Latn", "Cyrl", "Grek", "Armn"})
_EAST_ASIA = frozenset({"Hans", "Hant", "Hani", "Hang", "Jpan", "Kore"})

PERTURBATIONS: Mapping[str, Perturbation] = {
    "swapped_letters": Perturbation(
        what="two letters inside a word change places",
        find=_rewritten(_PAIR, lambda match: match[2] + match[1]),
    ),
    "dropped_letter": Perturbation(
        what="a letter inside a word is left out", find=_rewritten(_INNER, lambda match: "")
    ),
    "doubled_letter": Perturbation(
        what="a letter inside a word is written twice",
        find=_rewritten(_INNER, lambda match: match[0] * 2),
    ),
    "keyboard_neighbour": Perturbation(
        what="a letter becomes one beside it on the keyboard of the language",
        find=_keys_beside,
        scripts=KEYBOARD_SCRIPTS,
    ),
    "letter_case": Perturbation(
        what="a letter changes its case", find=_by_character(_other_case), scripts=_CASED
    ),
    "upper_case": Perturbation(
        what="all letters become capitals",
        find=_by_character(_upper),
        scripts=_CASED,
        everywhere=True,
    ),
    "ocr": Perturbation(
        what="a letter, or `rn`, becomes what OCR reads for it",
        find=_rewritten(_OCR, lambda match: OCR[match[0]]),
        scripts=frozenset({"Latn", "Cyrl"}),
    ),
    "homoglyph": Perturbation(
        what="a letter becomes one of another script that looks the same",
        find=_by_character(lambda character, writing: HOMOGLYPHS.get(character, character)),
        scripts=frozenset({"Latn", "Cyrl", "Grek"}),
    ),
    "zero_width": Perturbation(
        what="a zero-width space (U+200B) comes between two letters",
        find=_rewritten(_JOINED, lambda match: match[0] + "\u200b"),
    ),
    "nfc": Perturbation(what="normal form NFC", find=_form("NFC"), everywhere=True),
    "nfd": Perturbation(what="normal form NFD", find=_form("NFD"), everywhere=True),
    "nfkc": Perturbation(what="normal form NFKC", find=_form("NFKC"), everywhere=True),
    "full_width": Perturbation(
        what="printable ASCII becomes full-width",
        find=_by_character(_full_width),
        scripts=frozenset({"Latn"}) | _EAST_ASIA,
        everywhere=True,
    ),
    "styled": Perturbation(
        what="ASCII letters and digits become mathematical bold",
        find=_by_character(_bold),
        scripts=frozenset({"Latn"}),
        everywhere=True,
    ),
    "diacritics_removed": Perturbation(
        what="letters lose their marks",
        find=_rewritten(_LETTER, _without_marks),
        scripts=frozenset({"Latn", "Grek", "Arab", "Hebr"}),
        everywhere=True,
    ),
    "white_space": Perturbation(
        what="a space becomes two, a no-break space, a tab or a line end", find=_white_space
    ),
}
"""The classes, by name."""
