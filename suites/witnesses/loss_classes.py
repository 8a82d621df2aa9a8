"""Why a text did not come back: classes of difference between a text and its round trip.

Each differing spot is explained by the fewest changes under which both sides become equal. The
explanation is of what is seen: that a small letter stands where a capital was, not which part of
the tokenizer did it.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tokbench.bench.run.probe import Subject, Trip
from tokbench.suites.witnesses.alignment import Spot, parts, spots

CLASSES = {
    "prefix_space": "a leading space was added",
    "whitespace": "white space was trimmed, merged or changed",
    "whitespace_added": "white space was added inside the text",
    "clean_up": "the decoder took a space away before punctuation",
    "space_mark": "U+2581, which marks spaces inside the tokenizer, came back as a space",
    "normal_form": "the Unicode normal form changed (NFC, canonical equivalence)",
    "compatibility": "a character became its compatibility form (NFKC)",
    "case": "the case of letters changed",
    "marks": "combining marks were stripped",
    "control": "control or format characters were dropped",
    "unknown": "characters became an unknown token",
    "special_token": "the text spells a special or added token",
    "invalid_utf8": "bytes came back that are not valid UTF-8 (U+FFFD)",
    "dropped": "characters vanished without an unknown token",
    "other": "none of the other classes explains the difference",
    "failed": "the tokenizer failed",
}
"""Meaning by name of each class; a document counts in every class that one of its spots has."""

UNKNOWN = "\U0010fffd"
"""Stands for a decoded unknown token while texts are compared: a private-use code point."""

SPACE_MARK = "▁"
_SURE = {"special_token", "space_mark", "normal_form", "compatibility", "case"}
_UNSURE = {"dropped", "other"}
_CLEANED = (".", "?", "!", ",", "'", "n't")  # what WordPiece's clean-up pulls to the left


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a tokenizer writes what is no text: spellings to look for in what comes back."""

    unknown: str | None = None
    """What its decoder writes for an unknown token, such as ``[UNK]`` or `` ⁇ ``."""
    spellings: frozenset[str] = frozenset()
    """Of special and added tokens."""

    @classmethod
    def of(cls, subject: Subject) -> Manner:
        """Ask a tokenizer for its manner."""
        vocabulary = subject.tokenizer.vocabulary
        unknown = sorted(vocabulary.unknown_ids)
        written = subject.texts([[unknown[0]]])[0] if unknown else ""
        added = {
            (vocabulary.token_bytes[i] or b"").decode("utf-8", "replace")
            for i in vocabulary.added_ids
        }
        return cls(
            unknown=written[0] or None if isinstance(written, tuple) else None,
            spellings=frozenset(added - {""}) | subject.spellings,
        )


@dataclass(frozen=True, kw_only=True)
class Loss:
    """One spot of a text that came back otherwise, and the classes that explain it."""

    spot: Spot
    classes: tuple[str, ...]


def losses(trip: Trip, manner: Manner) -> list[Loss]:
    """Return what happened at every spot where a text differs from its round trip.

    >>> trip = Trip(text="Café  au  lait", back=" cafe au lait")
    >>> [loss.classes for loss in losses(trip, Manner())]
    [('prefix_space',), ('case',), ('marks', 'whitespace'), ('whitespace',)]
    """
    if trip.exact:
        return []
    if trip.failure is not None:
        return [Loss(spot=Spot(0, len(trip.text), 0, 0), classes=("failed",))]
    back, prefixed = compared(trip, manner)
    spelled = [s for s in manner.spellings if s in trip.text]
    found = []
    if prefixed:
        found.append(Loss(spot=Spot(0, 0, 0, 1), classes=("prefix_space",)))
    equivalent = _nfc(trip.text) == _nfc(back)
    for spot in spots(trip.text, back):
        if equivalent:  # marks in another order would look like marks lost here and won there
            found.append(Loss(spot=spot, classes=("normal_form",)))
        else:
            _add(found, _losses_at(spot, trip.text, back, spelled), trip.text, back, spelled)
    return found


def compared(trip: Trip, manner: Manner) -> tuple[str, bool]:
    """Return what came back as spots count it, and whether a leading space was taken off it.

    An unknown token is the one character `UNKNOWN` there.
    """
    back = trip.back
    if manner.unknown and manner.unknown not in trip.text:
        back = back.replace(manner.unknown, UNKNOWN)
    if back.startswith(" ") and not (trip.text[:1].isspace() or trip.text.startswith(SPACE_MARK)):
        return back[1:], True  # taken off first: beside another change it would hide in that spot
    return back, False


def _add(
    found: list[Loss], new: list[Loss], before: str, after: str, spelled: Sequence[str]
) -> None:
    """Append losses; where they or the last one lack a reason, try both as one spot.

    A word that occurs twice can be paired with the wrong one, which leaves two odd spots.
    """
    if found and any(_UNSURE & set(loss.classes) for loss in (found[-1], *new)):
        first, last = found[-1].spot, new[-1].spot
        joined = Spot(first.start, last.end, first.to_start, last.to_end)
        better = _losses_at(joined, before, after, spelled)
        if not any(_UNSURE & set(loss.classes) for loss in better):
            found[-1:] = better
            return
    found += new


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _losses_at(spot: Spot, before: str, after: str, spelled: Sequence[str]) -> list[Loss]:
    """Explain a spot as a whole where one change does, else part by part.

    Where a part has no explanation, parts were paired wrongly (a space that moved, letters that
    now look like their neighbours): then the whole is explained.
    """
    whole = Loss(spot=spot, classes=_at(spot, before, after, spelled))
    if len(whole.classes) == 1 and whole.classes[0] in _SURE:
        return [whole]
    split = [
        Loss(spot=part, classes=_at(part, before, after, spelled))
        for part in parts(spot, before, after)
    ]
    explained = [loss for loss in split if not _UNSURE & set(loss.classes)]
    if len(explained) == len(split):
        return split
    if whole.classes == ("unknown",):
        return [*explained, whole]
    return [whole]


def classes_of(trip: Trip, manner: Manner) -> frozenset[str]:
    """Return all classes of a trip.

    >>> sorted(classes_of(Trip(text="ﬁx", back=" fix"), Manner()))
    ['compatibility', 'prefix_space']
    """
    return frozenset(name for loss in losses(trip, manner) for name in loss.classes)


def _at(spot: Spot, before: str, after: str, spelled: Sequence[str]) -> tuple[str, ...]:
    x, y = before[spot.start : spot.end], after[spot.to_start : spot.to_end]
    if any(_touches(before, spelling, spot) for spelling in spelled):
        return ("special_token",)
    left = before[spot.start - 1 : spot.start]
    right = before[spot.end : spot.end + 3]
    return explain(x, y, left=left, right=right)


def _touches(text: str, spelling: str, spot: Spot) -> bool:
    """Whether an occurrence of a spelling overlaps a spot or lies beside it."""
    start = max(0, spot.start - len(spelling))
    return text.find(spelling, start, spot.end + len(spelling)) >= 0


@lru_cache(maxsize=1 << 16)
def explain(x: str, y: str, *, left: str = "", right: str = "") -> tuple[str, ...]:
    """Return the classes of one spot: x, between its neighbours left and right, came back as y.

    >>> explain("É", "e"), explain("字", UNKNOWN), explain("a", "b")
    (('case', 'marks'), ('unknown',), ('other',))
    >>> explain(" ", "", left="a", right=". B"), explain(" ", "", left="a", right=" . B")
    (('clean_up',), ('whitespace',))
    """
    if UNKNOWN in y:
        return ("unknown",)
    if "\ufffd" in y and "\ufffd" not in x:
        return ("invalid_utf8",)
    if _bare(x) == _bare(y):
        return (_white_space(x, y, left, right),)
    if SPACE_MARK in x and _bare(x.replace(SPACE_MARK, " ")) == _bare(y):
        return ("space_mark",)
    for names in _combinations():
        if _changed(x, names) == _changed(y, names):
            return _say_added(names, x, y)
    return ("dropped",) if not y.strip() else ("other",)


def _say_added(names: tuple[str, ...], x: str, y: str) -> tuple[str, ...]:
    if "whitespace" in names and len(y) - len(_bare(y)) > len(x) - len(_bare(x)):
        return tuple("whitespace_added" if name == "whitespace" else name for name in names)
    return names


def _bare(text: str) -> str:
    return "".join(text.split())


def _white_space(x: str, y: str, left: str, right: str) -> str:
    if len(y) > len(x):
        return "whitespace_added"
    alone = not left.isspace() and left != ""
    if x == " " and not y and alone and right.startswith(_CLEANED):
        return "clean_up"
    return "whitespace"


def _changed(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = _CHANGES[name](text)
    return text


def _no_marks(text: str) -> str:
    return "".join(
        c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c)[0] != "M"
    )


def _no_controls(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf"))


_CHANGES = {
    "normal_form": lambda text: unicodedata.normalize("NFC", text),
    "compatibility": lambda text: unicodedata.normalize("NFKC", text),
    "case": str.lower,
    "marks": _no_marks,
    "control": _no_controls,
    "whitespace": _bare,
}
"""Changes that can explain a difference, the least first; applied to both sides in this order."""


@lru_cache(maxsize=1)
def _combinations() -> tuple[tuple[str, ...], ...]:
    """Return the sets of changes to try, small ones first."""
    return tuple(_all_combinations())


def _all_combinations() -> Iterator[tuple[str, ...]]:
    for size in range(1, len(_CHANGES) + 1):
        for names in itertools.combinations(_CHANGES, size):
            if not {"normal_form", "compatibility"} <= set(names):
                yield names
