"""Segmented words from the files that people have: told apart by their headings and their marks.

- ``word;parts`` with parts separated by spaces, and perhaps a frequency (also with commas or tabs)
- MorphScore: ``full_word, pt1, rest``; or ``wordform, preceding_part, stem, following_part``
- UniMorph's segmentations: lemma, form, features, form with ``|`` between parts; tabs
- SIGMORPHON 2022: word, parts with `` @@`` between them, category; tabs

A word whose parts do not make up its letters (``happy @@ness``) has no places for its boundaries:
it is left out and counted.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.errors import InputError


@dataclass(frozen=True, kw_only=True)
class GoldWord:
    """A word, its morphemes in order, and how often it is used (1 where that is not known)."""

    word: str
    parts: tuple[str, ...]
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class GoldFile:
    """The words of one file."""

    words: tuple[GoldWord, ...]
    left_out: int
    """Words whose parts do not make up their letters."""
    sha256: str
    weighted: bool
    """Whether the file has frequencies."""


def read_gold(path: Path) -> GoldFile:
    """Read segmented words; `InputError` for a file that has none, or is not text."""
    try:
        data = path.read_bytes()
        lines = data.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{path}: cannot be read as UTF-8 text: {exc}") from exc
    found = [word for word in _words(lines) if word.word]
    good = tuple(word for word in found if "".join(word.parts) == word.word)
    if not any(len(word.parts) > 1 for word in good):
        raise InputError(
            f"{path}: no word of two parts; write one word a line, such as `walked;walk ed`"
        )
    weighted = any(word.weight != 1 for word in good)
    sha256 = hashlib.sha256(data).hexdigest()
    return GoldFile(words=good, left_out=len(found) - len(good), sha256=sha256, weighted=weighted)


def _words(lines: Sequence[str]) -> Iterator[GoldWord]:
    rows = [row for row in csv.reader(lines, delimiter=_delimiter(lines)) if any(row)]
    if not rows:
        return
    names = [name.strip().lower() for name in rows[0]]
    if {"full_word", "pt1", "rest"} <= set(names):
        yield from _morphscore(rows, names, "full_word", ("pt1", "rest"))
    elif {"wordform", "stem"} <= set(names):
        parts = ("preceding_part", "stem", "following_part")
        yield from _morphscore(rows, names, "wordform", parts)
    else:
        yield from (_plain(row) for row in rows[names[:2] == ["word", "parts"] :] if len(row) > 1)


def _delimiter(lines: Sequence[str]) -> str:
    first = next((line for line in lines if line.strip()), "")
    return next((mark for mark in "\t;," if mark in first), ";")


def _morphscore(
    rows: Sequence[Sequence[str]], names: Sequence[str], word: str, parts: Iterable[str]
) -> Iterator[GoldWord]:
    frequency = next((name for name in ("word_freq_norm", "word_freq") if name in names), None)
    for row in rows[1:]:
        cells: Mapping[str, str] = dict(zip(names, row, strict=False))
        found = tuple(cells[part] for part in parts if cells.get(part))
        weight = _number(cells.get(frequency or "", ""))
        yield GoldWord(word=cells.get(word, ""), parts=found, weight=weight)


def _plain(row: Sequence[str]) -> GoldWord:
    """Read a row of UniMorph (four cells), of SIGMORPHON (``@@``), or a word and its parts."""
    if len(row) >= 4 and "|" in row[3]:
        return GoldWord(word=row[1].strip(), parts=tuple(filter(None, row[3].strip().split("|"))))
    parts = tuple(filter(None, re.split(r" @@|[ |+]", row[1].strip())))
    weight = _number(row[2]) if len(row) > 2 and "@@" not in row[1] else 1.0
    return GoldWord(word=row[0].strip(), parts=parts, weight=weight)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 1.0
    return value if 0 <= value < float("inf") else 1.0
