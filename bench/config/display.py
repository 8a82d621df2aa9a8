"""Checks across a config: languages in focus, stored texts, and keys that become file names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tokbench.bench.config.languages import near_key
from tokbench.bench.config.mistakes import Mistake
from tokbench.bench.config.suggestions import suggest
from tokbench.bench.config.yaml_file import ConfigFile

if TYPE_CHECKING:
    from tokbench.bench.config.schema import RunConfig


def display_mistakes(where: ConfigFile, run: RunConfig) -> Iterator[Mistake]:
    """Yield what is wrong with `focus` and `texts`: languages and corpora that are not there."""
    if isinstance(run.texts, Mapping):
        for corpus in run.texts:
            if corpus not in run.corpora:
                text = f"unknown corpus {corpus!r}{suggest(corpus, run.corpora)}"
                yield where.mistake(("texts", corpus), text, on="key")
    if focus_corpus(run) is None and run.focus:
        yield from _focus_mistakes(where, run)


_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?|.*\.", re.IGNORECASE)
"""Names that Windows cannot give to a file, or shortens."""


def file_name_mistakes(where: ConfigFile, kind: str, keys: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield keys that are not file names on every system; `keys` has the key in the file of each.

    macOS and Windows do not distinguish case: the files of `Qwen` would replace those of `qwen`.
    """
    seen: dict[str, str] = {}
    for key, written in keys.items():
        first = seen.setdefault(key.lower(), key)
        if first != key:
            why = f"differs from {first!r} in case only, and names of files may not; rename one"
            yield where.mistake((kind, written), why, on="key")
        elif _RESERVED.fullmatch(key):
            why = "is not a file name on Windows; choose another name"
            yield where.mistake((kind, written), f"{key!r} {why}", on="key")


def focus_corpus(run: RunConfig) -> str | None:
    """Return the first corpus that has every language in focus, None where none has."""
    return next((c for c, e in run.corpora.items() if set(run.focus) <= set(e.options())), None)


def _focus_mistakes(where: ConfigFile, run: RunConfig) -> Iterator[Mistake]:
    entries = run.corpora.values()
    known = list(dict.fromkeys(key for entry in entries for key in entry.options()))
    missing = [key for key in run.focus if key not in known]
    for key in missing:
        text = f"no corpus has a language {key!r}{near_key(key, known, kind='natural')}"
        yield where.mistake(("focus", key), text, on="key")
    if not missing:
        yield where.mistake(("focus",), "no corpus has all of these languages", on="key")
