"""Count one cell: the work that can run in any process.

A task and its outcome are small; the counts themselves go through a file, so that an interrupted
run keeps every finished cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.contents import CONTENTS, Contents, read_contents, write_contents
from bench.encode import Counter
from bench.environment import Stopwatch
from bench.errors import TokbenchError
from bench.loading import TokenizerSource
from bench.model import Finding, Tokenizer
from bench.results import read_cell, write_cell
from bench.slices import Slice
from bench.tally import Cell, CellKey, Tally, TokenizerFacts, merge


@dataclass(frozen=True, kw_only=True)
class CellTask:
    """One cell to count: which tokenizer, which slice, and where the counts go."""

    key: CellKey
    source: TokenizerSource
    slice: Slice
    path: Path
    keep_ids: bool


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """What became of a task; the counts are in the task's file when `facts` is there."""

    key: CellKey
    identity: Mapping[str, str]
    facts: TokenizerFacts | None
    reason: str | None
    reused: bool
    seconds: Mapping[str, float]
    process: int


_loaded: dict[str, Tokenizer | TokbenchError] = {}
"""The tokenizer this process used last, or why it could not be loaded."""


def count_cell(task: CellTask) -> CellOutcome:
    """Count a cell into its file, or find it there already."""
    watch = Stopwatch()
    try:
        tokenizer = _load(task.source, watch)
        facts = facts_of(tokenizer)
        identity = {
            "fingerprint": facts.fingerprint,
            "corpus_sha256": task.slice.meta.sha256,
            "keep_ids": str(task.keep_ids),
        }
        _keep_contents(task, tokenizer, watch)
        reused = read_cell(task.path, task.key, identity) is not None
        if not reused:
            cell = _count(task, tokenizer, watch)
            write_cell(task.path, cell, identity)
    except TokbenchError as exc:
        return CellOutcome(
            key=task.key,
            identity={},
            facts=None,
            reason=str(exc),
            reused=False,
            seconds=watch.stop(),
            process=os.getpid(),
        )
    return CellOutcome(
        key=task.key,
        identity=identity,
        facts=facts,
        reason=None,
        reused=reused,
        seconds=watch.stop(),
        process=os.getpid(),
    )


_kept: dict[Path, str] = {}
"""Where this process wrote contents last, and of which tokenizer."""


def contents_path(task_path: Path) -> Path:
    """Return where the contents of a cell's tokenizer are, beside its cells."""
    return task_path.parent.parent / CONTENTS


def _keep_contents(task: CellTask, tokenizer: Tokenizer, watch: Stopwatch) -> None:
    """Write what the ids stand for, once per tokenizer and run folder."""
    path, fingerprint = contents_path(task.path), tokenizer.fingerprint.sha256
    if _kept.get(path) == fingerprint and path.exists():
        return
    with watch.section("load"):
        if read_contents(path, fingerprint) is None:
            write_contents(path, Contents.of(tokenizer.vocabulary), fingerprint)
        _kept.clear()
        _kept[path] = fingerprint


def _load(source: TokenizerSource, watch: Stopwatch) -> Tokenizer:
    if source.key not in _loaded:
        _loaded.clear()
        try:
            with watch.section("load"):
                _loaded[source.key] = _warm(source.load())
        except TokbenchError as exc:
            _loaded[source.key] = exc
    tokenizer = _loaded[source.key]
    if isinstance(tokenizer, TokbenchError):
        raise tokenizer
    return tokenizer


def _warm(tokenizer: Tokenizer) -> Tokenizer:
    """Compute the look-up tables over the vocabulary, which are part of loading."""
    vocabulary = tokenizer.vocabulary
    _ = vocabulary.byte_lengths, vocabulary.is_partial_character, vocabulary.is_unknown
    _ = tokenizer.fingerprint.sha256
    return tokenizer


def forget_tokenizers() -> None:
    """Drop the tokenizer that this process has kept loaded."""
    _loaded.clear()


def facts_of(tokenizer: Tokenizer) -> TokenizerFacts:
    """Return what results keep of a tokenizer."""
    vocabulary = tokenizer.vocabulary
    return TokenizerFacts(
        fingerprint=tokenizer.fingerprint.sha256,
        fingerprint_parts=dict(tokenizer.fingerprint.parts),
        n_entries=vocabulary.n_entries,
        n_ids=vocabulary.n_ids,
        n_special=vocabulary.n_special,
        special_ids=tuple(sorted(vocabulary.special_ids)),
        byte_exact=tokenizer.byte_exact,
        notes=tuple(tokenizer.notes),
    )


def _count(task: CellTask, tokenizer: Tokenizer, watch: Stopwatch) -> Cell:
    counter = Counter(tokenizer=tokenizer, watch=watch, keep_ids=task.keep_ids)
    parts = []
    with watch.section("corpus"):
        batches = iter(task.slice.batches())
    while True:
        with watch.section("corpus"):
            batch = next(batches, None)
        if batch is None:
            break
        parts.append(counter.count(batch))
    tally = merge(parts)
    return _judged(task.key, replace(tally, findings=_first_of_each(tally.findings, task.key)))


def _judged(key: CellKey, tally: Tally) -> Cell:
    n_failed = len(tally.failed_rows)
    if not n_failed and not tally.n:
        return Cell(key=key, status="skipped", tally=tally, detail="the corpus has no documents")
    if not n_failed:
        return Cell(key=key, status="ok", tally=tally)
    failure = next(f for f in tally.findings if f.kind == "failure")
    detail = (
        f"{n_failed} of {n_failed + tally.n} documents failed, first {failure.document_id}: "
        f"{failure.message}"
    )
    return Cell(key=key, status="partial" if tally.n else "failed", tally=tally, detail=detail)


def _first_of_each(findings: Iterable[Finding], key: CellKey) -> tuple[Finding, ...]:
    """Keep every failure and the first witness of each class, and say which cell they are of."""
    kept: dict[object, Finding] = {}
    for finding in findings:
        what = finding.document_id if finding.kind == "failure" else finding.data.get("class")
        kept.setdefault((finding.kind, what), finding)
    return tuple(
        replace(f, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language)
        for f in kept.values()
    )
