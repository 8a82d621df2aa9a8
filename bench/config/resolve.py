"""Turns what a user writes for a tokenizer (a name, a file, a repository) into a config entry.

The order is that of the finders (entry points `tokbench.finders`): an encoding of tiktoken, a
sample, a baseline, a file or folder, a repository of the Hub. ``./gpt2`` is always the path.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.bench import plugins
from tokbench.bench.errors import InputError, TokenizerError, UsageError
from tokbench.bench.paths import is_text, user_path
from tokbench.bench.plugins import FinderPlugin

EXPECTED = (
    "A tokenizer is an encoding of tiktoken, a sample, a file (tokenizer.json, tekken.json, a rank "
    "file, a SentencePiece model, vocab.txt) or folder, or a Hub repository (owner/name)"
)

_GENERIC = re.compile(
    r"(tokenizer|tekken|spiece|vocab|sentencepiece(\.bpe)?)\.(json|model|txt)(\.gz)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """One tokenizer given in short form."""

    key: str
    """A name for tables and files."""
    entry: Mapping[str, Any]
    """`type` and options, as a config would have them."""
    note: str | None = None
    """Note on how an ambiguous name was resolved."""


def resolve(written: str, folder: Path, *, taken: Iterable[str] = ()) -> Found:
    """Resolve a name, path or repository; relative paths start from `folder`.

    `taken` are existing keys, which the new key must differ from. Raises `UsageError` for an
    unknown name, with suggestions, and `TokenizerError` for a file that is not a tokenizer.
    """
    finders = _finders()
    readings = [(f, what) for f in finders if (what := f.has(written, folder)) is not None]
    if not readings:
        raise UsageError(_unknown(written, finders, folder))
    (first, what), *others = readings
    return Found(
        key=unused(key_of(written), taken),
        entry=first.entry(written, folder),
        note=_choice(written, what, [other for _, other in others]),
    )


def _finders() -> list[FinderPlugin]:
    found = [plugins.find(FinderPlugin, name)() for name in plugins.names(FinderPlugin)]
    return sorted(found, key=lambda finder: finder.order)


def _choice(written: str, what: str, others: Sequence[str]) -> str | None:
    if not others:
        return None
    local = (
        f"; write ./{written} for the path"
        if others[0].startswith(("the file", "the folder"))
        else ""
    )
    return f"{written}: taken as {what}, not as {' or '.join(others)}{local}"


def _unknown(written: str, finders: Sequence[FinderPlugin], folder: Path) -> str:
    known = sorted({name for finder in finders for name in finder.names()})
    hint = next((hint for finder in finders if (hint := finder.hints(written))), None)
    near = _near_files(written, folder)
    near = near or difflib.get_close_matches(written[:80], known, n=2, cutoff=0.6)
    if hint is None and near:
        hint = f"did you mean {' or '.join(map(repr, near))}"
    shown = repr(written if len(written) <= 80 else f"{written[:80]}…")
    is_path = re.search(r"[/\\.]", written)
    parts = [f"unknown tokenizer {shown}", *(["the file does not exist"] if is_path else [])]
    said = "; ".join([*parts, f"{hint}?"]) if hint else "; ".join(parts) + "."
    return f"{said} {EXPECTED}; names: {', '.join(known)}"


def _near_files(written: str, folder: Path) -> list[str]:
    """Return the file whose name is closest to that of a path, written as the path is."""
    if not re.search(r"[/\\.]", written):
        return []
    try:
        place = user_path(folder, written)
        names = [one.name for one in place.parent.iterdir() if is_text(one)]
    except (InputError, OSError, ValueError):  # no path at all, or no folder that can be listed
        return []
    close = difflib.get_close_matches(place.name, names, n=1, cutoff=0.7)
    return [written.removesuffix(place.name) + name for name in close]


def key_of(written: str) -> str:
    """Return a key for a name, path or repository.

    >>> key_of("o200k_base"), key_of("./llama2/tokenizer.model"), key_of("owner/My model")
    ('o200k_base', 'llama2', 'My-model')
    """
    path = Path(written)
    is_generic = _GENERIC.fullmatch(path.name) and path.parent.name
    name = (
        path.parent.name
        if is_generic
        else re.sub(r"\.(json|model|txt|tiktoken)?(\.gz)?$", "", path.name)
    )
    key = re.sub(r"[^A-Za-z0-9._+#-]+", "-", name).strip("-._+#")
    return key[:80] or "tokenizer"


def unused(key: str, taken: Iterable[str]) -> str:
    """Return the key, with a number appended if it is taken.

    >>> unused("a", ["a", "a-2"])
    'a-3'
    """
    known, number = set(taken), 1
    while (name := key if number == 1 else f"{key}-{number}") in known:
        number += 1
    return name


def spelled_out(tokenizers: Any, folder: Path) -> tuple[Any, list[tuple[int | str, str]]]:
    """Return the tokenizers of a config with short forms resolved to entries.

    ``[gpt2, ./tokenizer.json]`` and ``{mine: gpt2}`` become a map of entries. The second value
    holds the mistakes, by key or position.
    """
    if isinstance(tokenizers, Mapping):
        written: list[tuple[int | str, Any]] = list(tokenizers.items())
    elif isinstance(tokenizers, list):
        written = list(enumerate(tokenizers))
    else:
        return tokenizers, []
    entries: dict[str, Any] = {}
    problems: list[tuple[int | str, str]] = []
    for place, one in written:
        if isinstance(one, str):
            try:
                found = resolve(one, folder, taken=entries)
                entries[place if isinstance(place, str) else found.key] = dict(found.entry)
            except (UsageError, TokenizerError) as exc:
                problems.append((place, str(exc)))
        elif isinstance(place, str):
            entries[place] = one
        else:
            problems.append(
                (place, f"a list takes names, files and Hub repositories (owner/name). {EXPECTED}")
            )
    return entries, problems
