"""Count a part of a cell: the work that can run in any process, and be lost with it.

A task and its outcome are small; the counts themselves go through a file, so that an interrupted
run keeps every finished part. Small cells have one part; large ones are cut after every few
record batches of their slice, the same for any number of workers.

When a worker is lost at a batch, the task is tried again with that batch walked document by
document; when it is lost at a document, it is tried again without that document.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus.slices import Slice, SliceBatch
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.tally import Cell, CellKey, Tally, TokenizerFacts, merge
from tokbench.bench.count.token_bytes import CONTENTS, Contents, read_contents, write_contents
from tokbench.bench.environment import Stopwatch, no_garbage_collection
from tokbench.bench.errors import ResultsError, TokbenchError
from tokbench.bench.model import Tokenizer
from tokbench.bench.reasons import Reason
from tokbench.bench.results.vocabulary import keep_vocabulary
from tokbench.bench.run.cell_files import read_cell, write_cell
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.pool import Loss, Settle, TryAgain
from tokbench.bench.workers.sources import TokenizerSource, library_failures

PART_BATCHES = 8
"""Record batches (about 1 MiB each) in one part of a cell."""


@dataclass(frozen=True, kw_only=True)
class CellTask:
    """A part of a cell to count: which tokenizer, which batches, and where the counts go."""

    key: CellKey
    source: TokenizerSource
    slice: Slice
    path: Path
    keep_ids: bool
    limits: Limits = field(default_factory=Limits)
    first: int = 0
    stop: int | None = None
    """Record batches ``first:stop`` of the slice."""
    first_row: int = 0
    """Row that the first of these batches starts with."""
    careful: frozenset[int] = frozenset()
    """Batches to walk document by document."""
    lost_rows: Mapping[int, str] = field(default_factory=dict)
    """Rows that ended a worker, and how; they are not tried again."""
    tries: int = 0

    @property
    def group(self) -> str:
        """One worker process per tokenizer."""
        return self.source.key

    @property
    def memory(self) -> int:
        """Resident bytes above which the worker is ended."""
        return self.limits.memory

    def lost(self, loss: Loss) -> TryAgain[CellTask] | Settle:
        """Go on without the document that cost a worker; find it first if need be."""
        match loss.place:
            case ("batch", int(batch)):
                return TryAgain(task=replace(self, careful=self.careful | {batch}))
            case ("row", _, int(row)):
                return self._without(row, loss.reason)
        if loss.kind == "died" and not self.tries:  # perhaps ended from outside
            return TryAgain(task=replace(self, tries=1))
        doing = "while it was loaded" if loss.place == ("load",) else "before its first text"
        reason = f"tokenizer {self.source.key}: {loss.reason} {doing}"
        return Settle(outcome=self.hopeless(reason), hopeless=reason)

    def _without(self, row: int, reason: str) -> TryAgain[CellTask] | Settle:
        lost = {**self.lost_rows, row: reason}
        if len(lost) < self.limits.lost_documents:
            return TryAgain(task=replace(self, lost_rows=lost))
        names = ", ".join(_ids_of(self.slice, sorted(lost)))
        n = f"{len(lost)} documents" if len(lost) > 1 else "1 document"
        given_up = f"{n} ended its worker ({names}), the limit; last: {reason}"
        return Settle(outcome=replace(self.hopeless(given_up), code="documents_lost"))

    def hopeless(self, reason: str) -> CellOutcome:
        """Return the outcome without numbers."""
        return CellOutcome(key=self.key, path=self.path, reason=reason, code="worker_lost")


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """What became of a task; the counts are in the task's file when `facts` is there."""

    key: CellKey
    path: Path
    identity: Mapping[str, str] = field(default_factory=dict)
    facts: TokenizerFacts | None = None
    reason: str | None = None
    """Why there are no counts, in words."""
    code: Reason | None = None
    """The same as a code."""
    reused: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict)
    process: int = 0
    peak_bytes: int = 0
    """Highest resident memory of the process so far; told by the last cell of a portion."""


def parts_of(task: CellTask) -> list[CellTask]:
    """Cut a cell into parts that are counted apart and merged, each with a file of its own."""
    rows = task.slice.batch_rows()
    n = len(rows)
    if n <= PART_BATCHES:
        return [task]
    return [
        replace(
            task,
            first=first,
            stop=min(first + PART_BATCHES, n),
            first_row=sum(rows[:first]),
            path=task.path.with_suffix(f".{first:06}.cell"),
        )
        for first in range(0, n, PART_BATCHES)
    ]


_loaded: list[tuple[TokenizerSource, Tokenizer | TokbenchError]] = []
"""The tokenizers this process used last (one, unless a suite compares), or why it has none.

Kept by its whole source: in another run the same name may mean another tokenizer.
"""

_told_imports: list[int] = []
"""Not empty once this process has told what its imports cost."""


def count_cell(task: CellTask) -> CellOutcome:
    """Count a part of a cell into its file, or find it there already.

    Raises `ResultsError` when the file cannot be written: then no other could be either.
    """
    watch = stopwatch()
    facts: TokenizerFacts | None = None
    identity: dict[str, str] = {}
    reused, reason = False, None
    try:
        tokenizer = load(task.source, task.limits, watch)
        facts = facts_of(tokenizer)
        identity = identity_of(task, facts.fingerprint)
        _keep_contents(task, tokenizer, watch)
        stored = read_cell(task.path, task.key, identity)
        reused = stored is not None
        tally = _count(task, tokenizer, watch) if stored is None else stored.tally
        if task.keep_ids:
            keep_vocabulary(task.path, tokenizer, tally)
        if not reused:
            write_cell(task.path, Cell(key=task.key, status="ok", tally=tally), identity)
    except ResultsError:  # the disk is full, or the like: no cell could be kept
        raise
    except TokbenchError as exc:
        facts, reason = None, str(exc)
    return CellOutcome(
        key=task.key,
        path=task.path,
        identity=identity,
        facts=facts,
        reason=reason,
        code=None if reason is None else "tokenizer_failed",
        reused=reused,
        seconds=watch.stop(),
        process=os.getpid(),
    )


def identity_of(task: CellTask, fingerprint: str) -> dict[str, str]:
    """Return what the file of a task's counts must have been made from."""
    return {
        "fingerprint": fingerprint,
        "corpus_sha256": task.slice.meta.sha256,
        "keep_ids": str(task.keep_ids),
        "batches": f"{task.first}:{task.stop}",
    }


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


def stopwatch() -> Stopwatch:
    """Return a stopwatch; the first of a worker process counts what its imports cost."""
    watch = Stopwatch()
    if heartbeat.is_watched() and not _told_imports:
        _told_imports.append(1)
        watch.start_of_process()
    return watch


def _ids_of(slice_: Slice, rows: Sequence[int]) -> list[str]:
    ids = slice_.document_ids()
    return [ids[row] for row in rows]


def load(
    source: TokenizerSource,
    limits: Limits,
    watch: Stopwatch,
    *,
    beside: Sequence[TokenizerSource] = (),
) -> Tokenizer:
    """Return a tokenizer, kept from before where this process has it.

    All others are dropped first, so that two never lie in memory, except those of `beside`.
    Raises `TokbenchError` when it cannot be loaded.
    """
    _loaded[:] = [one for one in _loaded if one[0] == source or one[0] in beside]
    if all(kept != source for kept, _ in _loaded):
        heartbeat.at("load", seconds=limits.load_seconds)
        be_patient(limits.hub_seconds)
        _loaded.append((source, _loaded_now(source, watch)))
    found = next(one for kept, one in _loaded if kept == source)
    if isinstance(found, TokbenchError):
        raise found
    return found


def _loaded_now(source: TokenizerSource, watch: Stopwatch) -> Tokenizer | TokbenchError:
    try:
        with watch.section("load"), library_failures(source.key, "say what its ids are"):
            tokenizer = _warm(source.load())
            if heartbeat.is_watched():  # a process of its own: what it has loaded by now stays,
                gc.freeze()  # and the collector need not walk it again and again
            return tokenizer
    except TokbenchError as exc:
        return exc


def _warm(tokenizer: Tokenizer) -> Tokenizer:
    """Compute the look-up tables over the vocabulary, which are part of loading."""
    vocabulary = tokenizer.vocabulary
    _ = vocabulary.sizes, vocabulary.is_unknown, vocabulary.is_byte_fallback
    _ = facts_of(tokenizer)
    _ = tokenizer.prefix_space and vocabulary.starts_with_space
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


def _count(task: CellTask, tokenizer: Tokenizer, watch: Stopwatch) -> Tally:
    counter = Counter(tokenizer=tokenizer, watch=watch, keep_ids=task.keep_ids)
    parts: list[Tally] = []
    seconds = task.limits.seconds
    with watch.section("corpus"):
        batches = enumerate(task.slice.batches(task.first, task.stop, task.first_row), task.first)
    while True:
        with watch.section("corpus"):
            number, batch = next(batches, (0, None))
        if batch is None:
            break
        if number in task.careful:
            parts += _walk(counter, number, batch, task)
            continue
        heartbeat.at("batch", number, seconds=seconds)
        with no_garbage_collection():
            parts.append(counter.count(batch))
    heartbeat.at("write", seconds=seconds)
    tally = merge(parts)
    key = task.key
    named = (
        replace(f, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language)
        for f in tally.findings
    )
    return replace(tally, findings=tuple(named))


def _walk(counter: Counter, number: int, batch: SliceBatch, task: CellTask) -> Iterable[Tally]:
    """Count a batch document by document, and say before each which one it is."""
    for i in range(len(batch.ids)):
        row = batch.first_row + i
        if row in task.lost_rows:
            yield counter.failed(batch.part(i, i + 1), task.lost_rows[row])
        else:
            heartbeat.at("row", number, row, seconds=task.limits.seconds)
            yield counter.count(batch.part(i, i + 1))


def judged(key: CellKey, tally: Tally) -> Cell:
    """Return a cell with the status that its tally deserves."""
    n_failed = len(tally.failed_rows)
    if not n_failed and not tally.n:
        return Cell(
            key=key,
            status="skipped",
            tally=tally,
            reason="no_documents",
            detail="the corpus has no documents",
        )
    if not n_failed:
        return Cell(key=key, status="ok", tally=tally)
    failure = next(f for f in tally.findings if f.kind == "failure")
    detail = (
        f"{n_failed} of {n_failed + tally.n} documents failed, first {failure.document_id}: "
        f"{failure.message}"
    )
    return Cell(
        key=key,
        status="partial" if tally.n else "failed",
        tally=tally,
        reason="documents_failed",
        detail=detail,
    )
