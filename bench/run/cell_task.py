"""Count a part of a cell: the work that can run in any process, and be lost with it.

A task and its outcome are small; the counts themselves go through a file, so that an interrupted
run keeps every finished part. Small cells have one part; large ones are cut after every few
record batches of their slice, the same for any number of workers.

When a worker is lost at a batch, the task is tried again with that batch walked document by
document; when it is lost at a document, it is tried again without that document.

A small cell takes less time than sending it off, so that as many travel together as hold about
1 MiB of text. Each still has a file of its own, and is lost on its own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus.slice_file import Slice, SliceBatch
from tokbench.bench.count.encode import Counter
from tokbench.bench.count.encoded import Encoded
from tokbench.bench.count.neighbours import neighbours_of
from tokbench.bench.count.tally import ArrayTally, Cell, CellKey, Need, Tally, TokenizerFacts, merge
from tokbench.bench.count.token_bytes import CONTENTS, Contents, read_contents, write_contents
from tokbench.bench.environment import Stopwatch, no_garbage_collection
from tokbench.bench.errors import ResultsError, TokbenchError
from tokbench.bench.guard import contained
from tokbench.bench.markup import plural
from tokbench.bench.model import Tokenizer
from tokbench.bench.reasons import Reason
from tokbench.bench.run.cell_files import read_cell, write_cell
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import be_patient
from tokbench.bench.workers.job import Answer, Died, GiveUp, Job
from tokbench.bench.workers.sources import TokenizerSource, library_failures
from tokbench.bench.workers.state import THIS, Step

PART_BATCHES = 8
"""Record batches (about 1 MiB each) in one part of a cell."""

SENT_BYTES = 1 << 20
"""Text of the cells that are sent off together, unless it is one cell or one part of a cell."""


@dataclass(frozen=True, kw_only=True)
class CellTask:
    """A part of a cell to count: which tokenizer, which batches, and where the counts go."""

    key: CellKey
    source: TokenizerSource
    slice: Slice
    path: Path
    keep_ids: bool
    needs: frozenset[Need] = frozenset()
    limits: Limits = field(default_factory=Limits)
    first: int = 0
    stop: int | None = None
    """Record batches ``first:stop`` of the slice."""
    first_row: int = 0
    """Row that the first of these batches starts with."""
    careful: frozenset[int] = frozenset()
    """Batches to walk document by document."""
    lost_rows: Mapping[int, str] = field(default_factory=dict)
    """Rows that crashed a worker, with reasons; they are not tried again."""

    def without(self, died: Died) -> CellTask | str | None:
        """Return the task that continues without the document that crashed a worker.

        The document is located first if need be. Returns a reason if too many were lost, None if no
        document was the cause.
        """
        match died.step:
            case ("batch", int(batch)):
                return replace(self, careful=self.careful | {batch})
            case ("row", _, int(row)):
                lost = {**self.lost_rows, row: died.reason}
                if len(lost) < self.limits.lost_documents:
                    return replace(self, lost_rows=lost)
                names = ", ".join(_ids_of(self.slice, sorted(lost)))
                documents = plural(len(lost), "document")
                return (
                    f"{documents} crashed its worker ({names}), the limit (limits.lost_documents); "
                    f"last: {died.reason}"
                )
        return None

    def given_up(self, reason: str, code: Reason = "worker_lost") -> CellOutcome:
        """Return the outcome without numbers."""
        return CellOutcome(key=self.key, path=self.path, reason=reason, code=code)


@dataclass(frozen=True, kw_only=True)
class CellOutcome:
    """The outcome of a task; the counts are in the task's file if `facts` is set."""

    key: CellKey
    path: Path
    identity: Mapping[str, str] = field(default_factory=dict)
    facts: TokenizerFacts | None = None
    reason: str | None = None
    """Reason for missing counts, in words."""
    code: Reason | None = None
    """Reason for missing counts, as a code."""
    reused: bool = False


@dataclass(frozen=True, kw_only=True)
class CellBatch(Job[list[CellOutcome]]):
    """Cells, or parts of cells, of one tokenizer to count one after the other."""

    tasks: tuple[CellTask, ...]
    settled: Mapping[int, CellOutcome] = field(default_factory=dict)
    """Those of `tasks` that are given up, by their place, and their outcomes."""
    counted: int = 0
    """How many of `tasks` were done when a worker was lost: their files are of this run."""

    @property
    def group(self) -> str:
        """The worker process of their tokenizer."""
        return self.tasks[0].source.key

    def run(self, watch: Stopwatch) -> list[CellOutcome]:
        """Count each cell into its file.

        Raises `ResultsError` when a file cannot be written: then no other could be either.
        """
        outcomes = []
        for at, task in enumerate(self.tasks):
            if at in self.settled:
                outcomes.append(self.settled[at])
                continue
            with heartbeat.within("cell", at):
                outcome = count_cell(task, watch)
            outcomes.append(replace(outcome, reused=False) if at < self.counted else outcome)
        return outcomes

    def lost(self, died: Died) -> CellBatch | GiveUp:
        """Continue without the document that crashed a worker, or without its cell."""
        match died.step:
            case ("cell", int(at), *inner):
                step: Step = tuple(inner)
            case _:
                at, step = 0, died.step
        inside = replace(died, step=step)
        counted = max(self.counted, at)
        match self.tasks[at].without(inside):
            case CellTask() as task:
                tasks = (*self.tasks[:at], task, *self.tasks[at + 1 :])
                return replace(self, tasks=tasks, counted=counted)
            case str(reason):
                outcome = self.tasks[at].given_up(reason, "documents_lost")
                settled = {**self.settled, at: outcome}
                return replace(self, settled=settled, counted=counted)
        after = super().lost(inside)
        if isinstance(after, CellBatch):
            return replace(after, counted=counted)
        reason = f"tokenizer {self.group}: {died.reason} {self.doing(inside)}"
        return GiveUp(answer=self.give_up(reason), group=reason)

    def doing(self, died: Died) -> str:
        """Return what it was doing, as the end of a sentence."""
        return "while loading" if died.step == ("load",) else "before its first text"

    def give_up(self, reason: str) -> Answer[list[CellOutcome]]:
        """Return the outcomes without numbers."""
        return Answer(value=[task.given_up(reason) for task in self.tasks])


def batches_of(tasks: Iterable[CellTask]) -> Iterator[CellBatch]:
    """Group the cells of one tokenizer, or the parts of its large ones, in order."""
    waiting: list[CellTask] = []
    n_bytes = 0
    for task in tasks:
        size = task.slice.meta.bytes if task.stop is None else SENT_BYTES
        if waiting and n_bytes + size > SENT_BYTES:
            yield CellBatch(tasks=tuple(waiting), limits=waiting[0].limits)
            waiting, n_bytes = [], 0
        waiting.append(task)
        n_bytes += size
    if waiting:
        yield CellBatch(tasks=tuple(waiting), limits=waiting[0].limits)


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


def count_cell(task: CellTask, watch: Stopwatch) -> CellOutcome:
    """Count a part of a cell into its file, unless it is already there; errors as in `CellBatch`."""
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
            from tokbench.bench.results.vocabulary import keep_vocabulary

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
    )


def identity_of(task: CellTask, fingerprint: str) -> dict[str, str]:
    """Return what the file of a task's counts must have been made from."""
    return {
        "fingerprint": fingerprint,
        "corpus_sha256": task.slice.meta.sha256,
        "keep_ids": str(task.keep_ids),
        "needs": ",".join(sorted(task.needs)),
        "batches": f"{task.first}:{task.stop}",
    }


def contents_path(task_path: Path) -> Path:
    """Return where the contents of a cell's tokenizer are, beside its cells."""
    return task_path.parent.parent / CONTENTS


def _keep_contents(task: CellTask, tokenizer: Tokenizer, watch: Stopwatch) -> None:
    """Write the contents of all ids, once per tokenizer and run folder."""
    path, fingerprint = contents_path(task.path), tokenizer.fingerprint.sha256
    if THIS.contents == (path, fingerprint) and path.exists():
        return
    with watch.section("load"):
        if read_contents(path, fingerprint) is None:
            write_contents(path, Contents.of(tokenizer.vocabulary), fingerprint)
        THIS.contents = path, fingerprint


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
    THIS.tokenizers = [one for one in THIS.tokenizers if one[0] == source or one[0] in beside]
    if all(kept != source for kept, _ in THIS.tokenizers):
        heartbeat.at("load", seconds=limits.load_seconds, limit="limits.load_seconds")
        be_patient(limits.hub_seconds)
        THIS.tokenizers.append((source, _loaded_now(source, watch)))
    found = next(one for kept, one in THIS.tokenizers if kept == source)
    if isinstance(found, TokbenchError):
        raise found
    return found


def _loaded_now(source: TokenizerSource, watch: Stopwatch) -> Tokenizer | TokbenchError:
    try:
        with watch.section("load"), library_failures(source.key, "list its vocabulary"):
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
    """Unload the tokenizer of this process."""
    THIS.tokenizers.clear()


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
        matched_special=len(getattr(tokenizer, "matched_special", ())),
        added_special_tokens=int(getattr(tokenizer, "added_special_tokens", 0)),
        encode_call=getattr(tokenizer, "encode_call", f"{type(tokenizer).__name__}.encode_batch"),
    )


def _count(task: CellTask, tokenizer: Tokenizer, watch: Stopwatch) -> ArrayTally:
    kept: list[Encoded] | None = [] if "neighbours" in task.needs and task.first == 0 else None
    counter = Counter(
        tokenizer=tokenizer, watch=watch, keep_ids=task.keep_ids, needs=task.needs, kept=kept
    )
    parts: list[ArrayTally] = []
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
        heartbeat.at("batch", number, seconds=task.limits.seconds, limit="limits.seconds")
        with contained(), no_garbage_collection():
            parts.append(counter.count(batch))
    heartbeat.at("write", seconds=task.limits.seconds, limit="limits.seconds")
    tally = merge(parts)
    key = task.key
    named = (
        replace(f, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language)
        for f in tally.findings
    )
    neighbours = None if kept is None else neighbours_of(kept)
    return replace(tally, findings=tuple(named), neighbours=neighbours)


def _walk(counter: Counter, number: int, batch: SliceBatch, task: CellTask) -> Iterable[ArrayTally]:
    """Count a batch document by document, and report each one beforehand."""
    for i in range(len(batch.ids)):
        row = batch.first_row + i
        if row in task.lost_rows:
            yield counter.failed(batch.part(i, i + 1), task.lost_rows[row])
        else:
            heartbeat.at("row", number, row, seconds=task.limits.seconds, limit="limits.seconds")
            with contained():
                tally = counter.count(batch.part(i, i + 1))
            yield tally


def judged(key: CellKey, tally: Tally) -> Cell:
    """Return a cell with the status that follows from its tally."""
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
