"""Slices: one corpus in one language on disk, read by every tokenizer and every worker.

A slice is found by the hash of its corpus entry and of the local files it is made from, and
taken up only if it still holds what its metadata says. `tokbench.bench.corpus.slice_file` describes
the file, `tokbench.bench.corpus.slice_build` makes it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tokbench.bench.cache import cache_folder
from tokbench.bench.config.corpora import AnyCorpus, Corpus, HuggingFaceCorpus, canonical
from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus import read_files, segment, slice_build
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.file_state import KnownFile, check_unchanged
from tokbench.bench.corpus.hub import reader as read_hub
from tokbench.bench.corpus.segmenters import WordFinder
from tokbench.bench.corpus.slice_file import (
    FORMAT,
    LAYOUT,
    Slice,
    SliceBatch,
    SliceMeta,
    is_intact,
    open_slice,
)
from tokbench.bench.environment import Stopwatch, version_of
from tokbench.bench.errors import CorpusError, InputError, Refusal
from tokbench.bench.markup import plural

__all__ = [
    "Slice",
    "SliceBatch",
    "SliceMeta",
    "check_parallel",
    "materialise",
    "open_slice",
    "slices_folder",
    "stored",
]


def materialise(
    name: str,
    entry: AnyCorpus,
    language_key: str,
    folder: Path,
    *,
    limits: Limits | None = None,
    watch: Stopwatch | None = None,
) -> Slice:
    """Return the slice of one language of a corpus entry, built where it is missing or damaged.

    Relative paths start from `folder`; reading keeps to `limits`, by default those of a config
    without any; `watch` counts the time of word spans under ``words``.
    Raises `CorpusError` that names corpus and language.
    """
    with _named(name, language_key):
        budget = Budget(limits or Limits())
        files = _local_files(entry, language_key, folder, budget)
        target = _target(name, entry, language_key, files)
        if (found := _find(target)) is not None:
            return found
        order = slice_build.Order(
            name=name,
            entry=entry,
            key=language_key,
            folder=folder,
            budget=budget,
            target=target,
        )

        def check() -> None:
            check_unchanged(files, _local_files(entry, language_key, folder, budget))

        with _writing(target.parent):
            return slice_build.build(order, check, watch or Stopwatch())


def stored(name: str, entry: AnyCorpus, language_key: str, folder: Path) -> Slice | None:
    """Return the slice of one language if it is there and undamaged; see `materialise`."""
    with _named(name, language_key):
        files = _local_files(entry, language_key, folder)
        return _find(_target(name, entry, language_key, files))


def _target(name: str, entry: AnyCorpus, language_key: str, files: Sequence[KnownFile]) -> Path:
    return slices_folder() / f"{_file_name(name, entry, language_key, files)}.arrow"


def slices_folder() -> Path:
    """Return the folder that slices are kept in."""
    return cache_folder("slices")


@contextmanager
def _named(name: str, key: str) -> Iterator[None]:
    try:
        yield
    except InputError as exc:
        raise CorpusError(f"corpus {name!r}, language {key!r}: {exc}") from exc.__cause__
    except OSError as exc:  # the system took a file away between two looks
        why = f"a file of it cannot be read: {exc.strerror or exc}"
        raise CorpusError(f"corpus {name!r}, language {key!r}: {why}") from exc


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    # readers turn their own OSErrors into CorpusErrors, so what is left comes from the cache
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as exc:
        raise CorpusError(
            f"its slice cannot be written: {exc.strerror or exc}; "
            "set TOKBENCH_CACHE to a folder with room"
        ) from exc


def _find(path: Path) -> Slice | None:
    import pyarrow as pa

    try:
        found = open_slice(path)
        return found if is_intact(found) else None
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError, CorpusError):
        return None  # missing, cut short or overwritten: built again all the same


def _file_name(name: str, entry: Any, key: str, files: Sequence[KnownFile]) -> str:
    """Return a name that differs whenever the content may: readable first, then the hash."""
    language = entry.resolved_key(key)
    asked = {
        "format": [FORMAT, LAYOUT],
        "corpus": name,
        "entry": canonical(entry, key),
        "language": [language.tag, language.script],
        "files": [(file.name, file.sha256) for file in files],
        "versions": _versions(entry, key),
    }
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{name}-{key}")[:60]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _local_files(
    entry: AnyCorpus, key: str, folder: Path, budget: Budget | None = None
) -> list[KnownFile]:
    """Return what the local files that may be read are known by now; see `KnownFile`."""
    tick = budget.look if budget else None
    if isinstance(entry, HuggingFaceCorpus):
        return read_hub.known_files(entry, key, folder, tick)
    return read_files.known_files(entry, key, folder, tick)


def _versions(entry: Corpus, key: str) -> dict[str, str]:
    versions = segment.versions() if entry.kind == "natural" else {}
    words = WordFinder.of(entry, key)
    if words.name:
        versions = {**versions, "segmenter": words.version()}
    if isinstance(entry, HuggingFaceCorpus):
        versions = {**versions, "datasets": str(version_of("datasets"))}
    return versions


def check_parallel(slices: Sequence[Slice]) -> dict[str, Slice]:
    """Return the slices of one parallel corpus by language, row for row the same ids.

    Slices that agree are returned as they are; the same ids in another order are put into the
    pivot's. Raises `Refusal` where a language lacks an id of the pivot or has one more, unless
    the corpus says ``missing_ids: intersect``: then every slice is cut down to the ids that all
    languages have, and says so in its notes.
    """
    by_language = {one.meta.language: one for one in slices}
    meta = slices[0].meta
    ids = {language: one.document_ids() for language, one in by_language.items()}
    pivot = meta.pivot if meta.pivot in ids else meta.language
    if meta.missing_ids == "refuse":
        _refuse_differing(meta.corpus, pivot, ids)
    common = set.intersection(*map(set, ids.values()))
    if not common:
        raise Refusal(
            f"corpus {meta.corpus!r}: no id occurs in all of {', '.join(ids)}; "
            "check that `id` names the column that joins the languages"
        )
    order = [id for id in ids[pivot] if id in common]
    return {
        language: one if ids[language] == order else _restricted(one, ids[language], order)
        for language, one in by_language.items()
    }


def _restricted(whole: Slice, ids: Sequence[str], wanted: Sequence[str]) -> Slice:
    """Return the slice with only the wanted ids, in that order; kept in the cache like any other."""
    digest = hashlib.sha256(json.dumps([whole.meta.to_json(), wanted]).encode()).hexdigest()
    target = whole.path.with_name(f"{whole.path.stem[:60]}-{digest[:32]}.arrow")
    if (found := _find(target)) is not None:
        return found
    place = {id: row for row, id in enumerate(ids)}
    rows = np.fromiter((place[id] for id in wanted), np.int64, len(wanted))
    with _writing(target.parent):
        return slice_build.restrict(whole, rows, target)


INTERSECT = "use `missing_ids: intersect` to compare over the ids that all languages have"


def _refuse_differing(corpus: str, pivot: str, ids: Mapping[str, list[str]]) -> None:
    wanted = set(ids[pivot])
    problems = []
    for language, have in ids.items():
        if have != ids[pivot] and (differ := wanted ^ set(have)):
            lacks = [id for id in ids[pivot] if id in differ]
            extra = [id for id in have if id in differ]
            told = [f"lacks {_some(lacks)}"] * bool(lacks) + [f"also has {_some(extra)}"] * bool(
                extra
            )
            problems.append(f"{language} ({plural(len(have), 'id')}) {' and '.join(told)}")
    if problems:
        more = f"; and {plural(len(problems) - 5, 'more language')}" if len(problems) > 5 else ""
        raise Refusal(
            f"corpus {corpus!r}: ids differ from those of the pivot {pivot} "
            f"({plural(len(wanted), 'id')}): {'; '.join(problems[:5])}{more}; {INTERSECT}"
        )


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(repr(id) for id in ids[:3])
    return f"{shown} and {len(ids) - 3:,} more" if len(ids) > 3 else shown
