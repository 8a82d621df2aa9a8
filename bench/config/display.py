"""What reports of a run show: the languages in focus, and the corpora whose text may be stored."""

from __future__ import annotations

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
