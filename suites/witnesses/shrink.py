"""From a failing text to a small one that still fails: delta debugging over characters.

Follows Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), with
all candidates of a step asked in one batch. The result is 1-minimal: taking any single character
away makes the failure go away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Fails = Callable[[Sequence[str]], Sequence[bool]]
"""Says of each candidate whether the failure in question still happens."""

MARGINS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)
MAX_CANDIDATES = 64
PLAIN = "a"


def shrink(text: str, fails: Fails, *, start: int = 0, end: int | None = None) -> str | None:
    """Return a smallest part of a text that still fails, None where not even the text fails.

    `start` and `end` say where the failure shows: small pieces around it are tried first.

    >>> shrink("the cat, the dog", lambda ts: ["c" in t and "g" in t for t in ts])
    'cg'
    >>> shrink("abc", lambda ts: [False for _ in ts]) is None
    True
    """
    found = _around(text, fails, start, len(text) if end is None else end)
    if found is None:
        return None
    return _plainer(_smallest(found, fails), fails)


def _around(text: str, fails: Fails, start: int, end: int) -> str | None:
    """Return the narrowest window around a place that fails."""
    windows = [text[max(0, start - margin) : end + margin] for margin in MARGINS]
    candidates = [w for w in dict.fromkeys([*windows, text]) if w]
    if len(text) > 4 * MARGINS[-1]:  # the whole text is asked only when no window fails
        found = _first(candidates[:-1], fails)
        return found if found is not None else _first(candidates[-1:], fails)
    return _first(candidates, fails)


def _first(candidates: Sequence[str], fails: Fails) -> str | None:
    if not candidates:
        return None
    verdicts = fails(candidates)
    return next((c for c, failed in zip(candidates, verdicts, strict=True) if failed), None)


def _smallest(text: str, fails: Fails) -> str:
    """Take away pieces, large ones first, as long as what is left fails."""
    size = max(1, len(text) // 2)
    while len(text) > 1:
        smaller = _first_without(text, size, fails)
        if smaller is not None:
            text = smaller
            size = min(size, max(1, len(text) // 2))
        elif size == 1:
            break
        else:
            size //= 2
    return text


def _first_without(text: str, size: int, fails: Fails) -> str | None:
    starts = range(0, len(text), size)
    for block in range(0, len(starts), MAX_CANDIDATES):
        candidates = [
            text[:at] + text[at + size :] for at in starts[block : block + MAX_CANDIDATES]
        ]
        found = _first([c for c in dict.fromkeys(candidates) if c], fails)
        if found is not None:
            return found
    return None


def _plainer(text: str, fails: Fails) -> str:
    """Put a plain letter in place of each character that the failure does not need."""
    if text != PLAIN * len(text) and fails([PLAIN * len(text)])[0]:
        return PLAIN * len(text)
    for at, character in enumerate(text[:MAX_CANDIDATES]):
        if character != PLAIN:
            candidate = text[:at] + PLAIN + text[at + 1 :]
            if fails([candidate])[0]:
                text = candidate
    return text
