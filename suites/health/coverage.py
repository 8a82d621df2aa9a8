"""Can every byte and every script be written: characters asked one by one."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from tokbench.bench.markup import listed
from tokbench.bench.run.probe import Subject
from tokbench.suites.health.verdict import HealthFinding

PER_SCRIPT, AMONG = 8, 60
"""Letters of each script that are asked for, and the number of first ones they are spread over."""

_PAGE = "docs/metrics.md, lost_byte_share"


def check_bytes(subject: Subject) -> HealthFinding:
    """Ask for every byte that UTF-8 can hold, in characters that hold it."""
    fates = Fates.of(subject, list(_characters_of_bytes().values()))
    lost = [byte for byte, text in _characters_of_bytes().items() if text in fates.silent]
    broken = [byte for byte, text in _characters_of_bytes().items() if text in fates.failed]
    unknown = [byte for byte, text in _characters_of_bytes().items() if text in fates.unknown]
    total = len(_characters_of_bytes())
    if lost or broken:
        what = "vanish without an unknown token" if lost else "make the library fail"
        shown = listed([f"0x{byte:02X}" for byte in (lost or broken)], 6)
        return HealthFinding(
            name="bytes",
            verdict="fail",
            text=f"{len(lost or broken)} of {total} bytes of UTF-8 {what}: {shown}",
            cost="text is shortened and nothing in the ids says so; train again with the whole "
            "byte alphabet or an unknown token",
            page=_PAGE,
        )
    if unknown:
        return HealthFinding(
            name="bytes",
            verdict="warn",
            text=f"characters with {len(unknown)} of {total} bytes become unknown tokens",
            cost="a closed alphabet: what it lacks is lost",
            page=_PAGE,
        )
    text = f"each of the {total} bytes that UTF-8 can hold is encoded"
    return HealthFinding(name="bytes", verdict="pass", text=text)


def check_scripts(subject: Subject) -> HealthFinding:
    """Ask for letters of every script that this Python's Unicode has."""
    letters = letters_of_scripts()
    fates = Fates.of(subject, [letter for some in letters.values() for letter in some])
    for fate, verdict, what, cost in (
        (fates.failed, "fail", "make the library fail", "such text cannot be encoded at all"),
        (fates.silent, "fail", "vanish without an unknown token", "text is lost unseen"),
        (fates.unknown, "warn", "become unknown tokens", "text in them is lost; count it first"),
    ):
        gone = _whole_scripts(letters, fate)
        if gone:
            return HealthFinding(
                name="scripts",
                verdict="fail" if verdict == "fail" else "warn",
                text=f"letters of {len(gone)} of {len(letters)} scripts {what}: {listed(gone, 6)}",
                cost=cost,
                page=_PAGE,
            )
    version = unicodedata.unidata_version
    text = f"letters of all {len(letters)} scripts of Unicode {version} are encoded"
    return HealthFinding(name="scripts", verdict="pass", text=text)


def _whole_scripts(letters: Mapping[str, Sequence[str]], fate: Counter[str]) -> list[str]:
    """Return the scripts most of whose letters met a fate, those read by most people first."""
    found = {name: sum(one in fate for one in some) for name, some in letters.items()}
    return [name for name, count in found.items() if 2 * count > len(letters[name])]


@dataclass(kw_only=True)
class Fates:
    """What became of single characters: alone, and between letters."""

    failed: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    silent: Counter[str] = field(default_factory=Counter)
    """They left no token: the ids are those of the text without them."""

    @classmethod
    def of(cls, subject: Subject, characters: Sequence[str]) -> Fates:
        """Ask a tokenizer for each of them."""
        fates = cls()
        [without] = subject.ids(["aa"])
        alone = subject.ids(list(characters))
        inside = subject.ids([f"a{one}a" for one in characters])
        unknown = subject.tokenizer.vocabulary.unknown_ids
        for character, ids, between in zip(characters, alone, inside, strict=True):
            if isinstance(ids, str) or isinstance(between, str):
                fates.failed[character] += 1
            elif not unknown.isdisjoint(ids):
                fates.unknown[character] += 1
            elif not _is_ignorable(character) and (not ids or between == without):
                fates.silent[character] += 1
        return fates


def _is_ignorable(character: str) -> bool:
    """Whether a character may be dropped without loss of letters: a control, a mark, a space."""
    return unicodedata.category(character)[0] in "CMZ"


@cache
def _characters_of_bytes() -> dict[int, str]:
    """Return for every byte that UTF-8 can hold a character that holds it, letters first."""
    found: dict[int, str] = {}
    by_worth = sorted(
        (code for code in (*range(0x3000), *range(0x3000, 0x110000, 61)) if _is_scalar(code)),
        key=lambda code: (unicodedata.category(chr(code))[0] in "CMZ", code),
    )
    for code in by_worth:
        for byte in chr(code).encode():
            found.setdefault(byte, chr(code))
    return dict(sorted(found.items()))


def _is_scalar(code: int) -> bool:
    return not 0xD800 <= code <= 0xDFFF


@cache
def letters_of_scripts() -> dict[str, tuple[str, ...]]:
    """Return letters of each script that Unicode's data here and `regex` know, by code point.

    >>> letters_of_scripts()["Thai"][0], len(letters_of_scripts()) > 140
    ('ก', True)
    """
    letters: dict[str, list[str]] = {}
    for code in range(0x41, 0x32000):
        character = chr(code)
        if unicodedata.category(character) in ("Lo", "Ll", "Lu"):
            words = unicodedata.name(character, "").replace("-", " ").split(" ")
            if name := _script(tuple(words[:3])):
                letters.setdefault(name, []).append(character)
    return {name: tuple(_spread(some)) for name, some in letters.items()}


def _script(words: tuple[str, ...]) -> str | None:
    """Return the script whose name a character's name begins with.

    >>> _script(("OLD", "PERSIAN", "SIGN")), _script(("CJK", "UNIFIED", "IDEOGRAPH"))
    ('Old Persian', 'Han')
    """
    words = {"CJK": ("HAN",), "CANADIAN": ("CANADIAN", "ABORIGINAL")}.get(words[0], words)
    names = (" ".join(words[: n + 1]).title() for n in range(len(words)))
    return next(filter(_is_script, names), None)


@cache
def _is_script(name: str) -> bool:
    import regex

    try:
        regex.compile(rf"\p{{Script={name.replace(' ', '_')}}}")
    except regex.error:
        return False
    return True


def _spread(some: Sequence[str]) -> Sequence[str]:
    """Return letters from the first block of a script: those after it are rare, in every script."""
    return some[:AMONG][:: max(1, min(len(some), AMONG) // PER_SCRIPT)]
