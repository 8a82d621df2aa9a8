"""Spaces, digits and indentation: what they cost, and whether they can be told apart."""

from __future__ import annotations

from collections.abc import Iterator

from tokbench.bench.markup import listed
from tokbench.bench.run.probe import Subject, Trip
from tokbench.suites.health.verdict import HealthFinding, quoted

_SPACES = ("a b", "a  b", "a   b", "a    b", "a\tb", "a\nb", "a\n\nb", "a\r\nb", "a\u00a0b", "a ")
_INDENTED = ("if a:\n    b\n        c\n", "if a:\n\tb\n\t\tc\n", "if a:\n  b\n    c\n")
_DIGITS = ("7", "42", "365", "2024", "90210", "123456", "3141592", "12345678", "1234567890123456")


def checks(subject: Subject) -> Iterator[HealthFinding]:
    """Return what becomes of spaces, indentation and digits."""
    yield _collisions(subject)
    yield _kept(subject, "spaces", _SPACES, "runs and kinds of white space")
    yield _kept(subject, "indentation", _INDENTED, "indented programs")
    yield _digits(subject)


def _collisions(subject: Subject) -> HealthFinding:
    """Find out whether a text and the same behind a space have the same ids."""
    plain, spaced = subject.trips(["moon rises", " moon rises"])
    same = plain.failure is None and plain.ids == spaced.ids
    if not same:
        text = "'moon' and ' moon' have ids of their own"
        return HealthFinding(name="leading space", verdict="pass", text=text)
    return HealthFinding(
        name="leading space",
        verdict="warn",
        text="'moon' and ' moon' have the same ids",
        cost="a text that begins with a space does not come back; joining parts moves spaces",
        page="docs/metrics.md, round_trip",
    )


def _kept(subject: Subject, name: str, texts: tuple[str, ...], what: str) -> HealthFinding:
    trips = subject.trips(texts)
    lost = [
        trip for trip in trips if trip.failure is not None or trip.back.lstrip(" ") != trip.text
    ]
    if not lost:
        tokens = ", ".join(str(len(trip.ids)) for trip in trips)
        return HealthFinding(name=name, verdict="pass", text=f"{what} come back (tokens: {tokens})")
    return HealthFinding(
        name=name,
        verdict="warn",
        text=f"{len(lost)} of {len(texts)} {what} do not come back: "
        f"{listed([_shown(trip) for trip in lost], 3)}",
        cost="code, tables and Markdown lose their layout; do not use it for code",
        page="docs/metrics.md, round_trip",
    )


def _shown(trip: Trip) -> str:
    return f"{quoted(trip.text, 20)} → {quoted(trip.failure or trip.back, 20)}"


def _digits(subject: Subject) -> HealthFinding:
    """Say how numbers are cut: digit by digit, in groups of at most three, or as learned."""
    answers = subject.ids([f"a {one}" for one in _DIGITS])
    start = subject.ids(["a "])[0]
    if isinstance(start, str) or any(isinstance(one, str) for one in answers):
        return HealthFinding(name="digits", verdict="fail", text="the library fails on numbers")
    contents = subject.tokenizer.vocabulary.token_bytes
    runs = [
        [(contents[i] or b"").strip() for i in ids if (contents[i] or b"").strip().isdigit()]
        for ids in answers
        if not isinstance(ids, str)
    ]
    cut = {
        one: [len(part) for part in parts]
        for one, parts in zip(_DIGITS, runs, strict=True)
        if parts
    }
    if not cut:
        return HealthFinding(
            name="digits",
            verdict="warn",
            text="no token holds the digits of a number",
            cost="numbers are unknown tokens or lie in tokens of other text",
            page="docs/metrics.md, suite probes",
        )
    return _grouping(cut)


def _grouping(cut: dict[str, list[int]]) -> HealthFinding:
    longest = max(max(lengths) for lengths in cut.values())
    example = max(cut, key=len)
    shown = f"{example} as {'+'.join(map(str, cut[example]))} digits"
    if longest == 1:
        return HealthFinding(name="digits", verdict="pass", text=f"digit by digit ({shown})")
    if all(_in_groups(lengths, longest) for lengths in cut.values()):
        return HealthFinding(
            name="digits", verdict="pass", text=f"in groups of at most {longest} ({shown})"
        )
    return HealthFinding(
        name="digits",
        verdict="warn",
        text=f"in pieces that were learned, of up to {longest} digits ({shown})",
        cost="numbers that differ in one digit are cut otherwise, which makes arithmetic harder",
        page="docs/metrics.md, suite probes",
    )


def _in_groups(lengths: list[int], size: int) -> bool:
    """Whether all groups are whole but the first or the last, as the longest that is allowed.

    >>> _in_groups([3, 3, 1], 3), _in_groups([1, 3, 3], 3), _in_groups([2, 3, 2], 3)
    (True, True, False)
    """
    return all(n == size for n in lengths[:-1]) or all(n == size for n in lengths[1:])
