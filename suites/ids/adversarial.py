r"""Texts on which engines of one vocabulary have been seen to differ.

Beside the seeded strings of `suites.fuzz`: runs of every kind of white space, long runs of one
character, contractions with letters that fold to ASCII ones, digits of many scripts, spellings of
special tokens, lone surrogates, and every code point between letters, digits and marks. All but
the strings of `fuzz` are the same for every seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tokbench.suites.witnesses.fuzz import FuzzText, fuzz

WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The code points with the property White_Space, 25 in every version of Unicode since 6.3."""

NEARLY_SPACE = "\x1c\x1d\x1e\x1f\u180e\u200b\u200c\u200d\u2060\ufeff"
"""What some languages and older versions of Unicode call white space, or what looks like it."""

RUNS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 129, 256, 1000, 4000)
LONG_RUNS = (100, 500, 1000, 5000, 20_000)
SPELLED = 200
"""Special tokens whose spelling is asked for, the first in order of the alphabet."""
IN_ONE_TEXT = 64
"""Code points in one text of `every_code_point`."""
WHOLE_PLANES = (0, 1, 2, 3, 14)
"""Planes of which every code point is asked for; of the others, which hold none that is assigned
or are for private use, as many as one text holds."""


def adversarial(
    seed: int,
    per_category: int,
    spellings: Sequence[str],
    *,
    longest_run: int = LONG_RUNS[-1],
    code_points: bool = True,
) -> list[FuzzText]:
    """Return the texts of all categories; runs are of no more code points than `longest_run`.

    >>> texts = adversarial(0, 1, ["<end>"], code_points=False)
    >>> [t.text for t in texts if t.category == "special_token_spellings"][:2]
    ['<end>', 'a<end>']
    """
    systematic = {
        "empty": iter([""]),
        "white_space_runs": _white_space_runs(longest_run),
        "character_runs": _character_runs(longest_run),
        "contractions": _contractions(),
        "digits": _digits(),
        "special_token_spellings": _spellings(spellings),
        "lone_surrogates": _lone_surrogates(),
        "every_code_point": _every_code_point() if code_points else iter(()),
    }
    texts = fuzz(seed, per_category, spellings)
    return texts + [FuzzText(name, text) for name, found in systematic.items() for text in found]


def _up_to(longest: int, lengths: Sequence[int]) -> list[int]:
    return [length for length in lengths if length <= longest]


def _white_space_runs(longest: int) -> Iterator[str]:
    """Runs of one kind alone, before and after a letter, a digit, a mark and a line end."""
    for character, length in itertools.product(WHITE_SPACE + NEARLY_SPACE, _up_to(longest, RUNS)):
        run = character * length
        yield from (run, f"a{run}", f"{run}b", f"a{run}b 1{run}2 .{run}.", f"a{run}\nb{run}\r\n")


def _character_runs(longest: int) -> Iterator[str]:
    for character, length in itertools.product(
        "aAz0.-=_/あ字ก한🙂\u0301\u200d", _up_to(longest, LONG_RUNS)
    ):
        yield character * length
        yield f" {character * length} x"


_APOSTROPHES = "'\u2019\u02bc`"
_ENDINGS = ("s", "t", "d", "m", "re", "ve", "ll", "\u017f", "\u212a", "\u0131", "x", "")


def _contractions() -> Iterator[str]:
    """U+017F folds to s and U+212A to k: ``(?i:'s)`` matches the first in one engine of two."""
    for apostrophe, ending in itertools.product(_APOSTROPHES, _ENDINGS):
        for written in dict.fromkeys((ending, ending.upper(), ending.title())):
            tail = f"{apostrophe}{written}"
            yield from (
                tail,
                f"I{tail}",
                f"it{tail} a",
                f"IT{tail}B",
                f"1{tail}2",
                f" {tail}{tail}",
            )


_ZEROS = (0x30, 0x660, 0x6F0, 0x966, 0xE50, 0xFF10, 0x1D7CE, 0x1FBF0)
_NUMBERS = "²³¼½⅓Ⅷⅻ①㉈〇一万𐄇𒐀"


def _digits() -> Iterator[str]:
    for length in range(1, 14):
        for zero in _ZEROS:
            run = "".join(chr(zero + n % 10) for n in range(length))
            yield from (run, f"a{run}b", f"{run}.{run}", f" {run} {run}")
        for character in _NUMBERS:
            yield f"a{character * length}1{character}"


def _spellings(spellings: Sequence[str]) -> Iterator[str]:
    """Whole spellings, and such as end too early."""
    for one in sorted(spellings)[:SPELLED]:
        yield from (one, f"a{one}", f"{one} b", f"{one}{one}", f" {one}\n", one[:-1], one[1:])


def _lone_surrogates() -> Iterator[str]:
    """Halves of a pair, alone, in the wrong order, and beside what they might belong to."""
    high, low = "\ud83d", "\ude00"
    for one in (high, low, "\ud800", "\udbff", "\udc00", "\udfff", low + high):
        yield from (one, f"a{one}b", f"{one} x", f"é{one}", f"🙂{one}", one * 7, f"1{one}\n")


def _every_code_point() -> Iterator[str]:
    for plane in range(17):
        start = plane << 16
        stop = start + (0x10000 if plane in WHOLE_PLANES else IN_ONE_TEXT)
        for first in range(start, stop, IN_ONE_TEXT):
            if not 0xD800 <= first <= 0xDFFF:
                yield "".join(map(_in_company, range(first, first + IN_ONE_TEXT)))


def _in_company(code: int) -> str:
    character = chr(code)
    return f"a{character}a A{character}A 1{character}1 .{character}. "
