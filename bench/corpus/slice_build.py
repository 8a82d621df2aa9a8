"""Building slices: from the rows of a source to an Arrow file that all workers map.

Rows that may become documents are staged on disk first, because what a slice's metadata says
(its hash, its totals, whether its letters have words) is known only when all are read. Text is
held in memory a batch at a time; joined rows are one document, which is held whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tokbench.bench.cache import private_folder
from tokbench.bench.config.corpora import AnyCorpus, Corpus, HuggingFaceCorpus
from tokbench.bench.corpus import read_files, sampling, segment, word_columns
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.hub import reader as read_hub
from tokbench.bench.corpus.rows import Document, Reading, RowCounts, documents
from tokbench.bench.corpus.segmenters import WordFinder
from tokbench.bench.corpus.slice_file import (
    METADATA_KEY,
    WEIGHT,
    ContentHash,
    Slice,
    SliceMeta,
    numbers,
    record_batches,
)
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import CorpusError
from tokbench.bench.markup import plural
from tokbench.bench.model import IntArray
from tokbench.bench.workers import heartbeat

BATCH_BYTES = 2**20
BATCH_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be built: one language of a corpus, within limits, as a file."""

    name: str
    entry: AnyCorpus
    """As the config says it."""
    key: str
    folder: Path
    budget: Budget
    """Limits of the whole reading, including the hashing of its files."""
    target: Path


def build(order: Order, check: Callable[[], None], watch: Stopwatch) -> Slice:
    """Read one language of a corpus and write its slice; `CorpusError` where it cannot be read.

    `check` is called when all is read and raises where the files are not what they were.
    """
    entry = order.entry.for_language(order.key)
    with _building(order.target) as place:
        tally = RowCounts()
        reading = _read(order, entry, place)
        staged = _stage(reading, entry, tally, place / "rows.arrow")
        check()
        words = WordFinder.of(entry, order.key)
        reason = _why_no_words(staged, entry, words)
        taken = _Taken()
        finder = words.load() if reason is None else None
        batches = _batches(staged, entry, watch, taken, finder)
        content = _write_content(batches, place / "content.arrow", reason)
        meta = _meta(order, entry, reading, tally, content)
        meta = replace(meta, notes=(*meta.notes, *_notes(reading, tally, taken)))
        return _finish(content, meta, order.target)


def restrict(whole: Slice, rows: IntArray, target: Path) -> Slice:
    """Write a slice of some rows of another, in the order given."""
    with _building(target) as place:
        batches = _taken(whole.path, rows)
        content = _write_content(batches, place / "content.arrow", whole.meta.words_reason)
        note = f"cut to the {len(rows):,} of {whole.meta.documents:,} ids that all languages have"
        meta = replace(whole.meta, notes=(*whole.meta.notes, note), **content.facts())
        return _finish(content, meta, target)


@contextmanager
def _building(target: Path) -> Iterator[Path]:
    with private_folder(target.parent, "building") as place:
        yield place


def _finish(content: _Content, meta: SliceMeta, target: Path) -> Slice:
    """Write the final file: an Arrow file has its metadata at the start, so content is written twice."""
    finished = content.path.with_name("slice.arrow")
    _write(finished, _schema(meta), record_batches(content.path))
    finished.replace(target)
    return Slice(path=target, meta=meta)


def _read(order: Order, entry: AnyCorpus, place: Path) -> Reading:
    if isinstance(entry, HuggingFaceCorpus):
        return read_hub.read(entry, order.key, order.folder, order.budget, place)
    return read_files.read(entry, order.key, order.folder, order.budget)


@dataclass(frozen=True, kw_only=True)
class _Staged:
    """Rows staged on disk; those in `kept` become documents."""

    path: Path
    kept: Any
    parts: tuple[str, ...]


def _stage(reading: Reading, entry: Corpus, tally: RowCounts, path: Path) -> _Staged:
    sampler = sampling.sampler_for(entry)
    rows = _admitted(documents(reading, entry, tally), sampler)
    _write(path, _staging_schema(), (_staging_batch(chunk) for chunk in _chunks(rows)))
    kept = sampler.kept()
    if not len(kept):
        raise _nothing(reading, entry, tally)
    return _Staged(path=path, kept=kept, parts=reading.parts)


def _nothing(reading: Reading, entry: Corpus, tally: RowCounts) -> CorpusError:
    wanted = [f"{column} is {value!r}" for column, value in (entry.where or {}).items()]
    skipped = ", ".join(f"{n:,} {why}" for why, n in sorted(tally.skipped.items()))
    offered = [
        f"{column} holds {', '.join(sorted(map(repr, values)))}"
        for column, values in reading.offered.items()
        if values and not tally.seen
    ]
    return CorpusError(
        f"no documents: {tally.seen:,} rows read"
        + (f" ({skipped} skipped)" if skipped else "")
        + (" where " + " and ".join(wanted) if wanted else "")
        + (f" ({'; '.join(offered)})" if offered else "")
        + f", rule: {sampling.describe(entry)}; check the text column, the files and the limit"
    )


def _admitted(rows: Iterable[Document], sampler: sampling.Sampler) -> Iterator[Document]:
    for number, row in enumerate(rows):
        if number % BATCH_ROWS == 0:
            heartbeat.at("rows")
        if sampler.admit(row.id, row.bytes):
            yield row
        if sampler.done:
            return


def _chunks(rows: Iterable[Document]) -> Iterator[list[Document]]:
    """Group rows by `BATCH_BYTES` and `BATCH_ROWS`; a row that is larger stands alone."""
    chunk: list[Document] = []
    size = 0
    for row in rows:
        if chunk and (size + row.bytes > BATCH_BYTES or len(chunk) == BATCH_ROWS):
            heartbeat.at("rows")
            yield chunk
            chunk, size = [], 0
        chunk.append(row)
        size += row.bytes
    if chunk:
        yield chunk


def _staging_schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("part", pa.string()),
            ("id", pa.string()),
            ("text", pa.large_string()),
            ("cluster", pa.string()),
            ("bytes", pa.int64()),
            ("stripped", pa.int64()),
            ("weight", pa.int64()),
        ]
    )


def _staging_batch(rows: list[Document]) -> Any:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [
            pa.array(column, field.type)
            for column, field in zip(columns, _staging_schema(), strict=True)
        ],
        schema=_staging_schema(),
    )


def _write(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    import pyarrow as pa

    batches = iter(batches)
    first = next(batches, None)
    if first is not None:
        if WEIGHT in first.schema.names and WEIGHT not in schema.names:
            schema = schema.append(pa.field(WEIGHT, pa.int64(), nullable=False))
        batches = chain([first], batches)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))


def _kept_rows(staged: _Staged) -> Iterator[Document]:
    first = 0
    for batch in record_batches(staged.path):
        inside = staged.kept[(staged.kept >= first) & (staged.kept < first + batch.num_rows)]
        columns = (column.to_pylist() for column in batch.take(inside - first).columns)
        yield from map(Document._make, zip(*columns, strict=True))
        first += batch.num_rows


def _final(staged: _Staged, entry: Corpus) -> Iterator[Document]:
    if entry.join is None:
        return _kept_rows(staged)
    if entry.weight is not None:
        raise CorpusError("`join` and `weight` cannot be combined; remove one")
    return iter([_joined(staged, entry)])


def _joined(staged: _Staged, entry: Corpus) -> Document:
    """Join rows by `rows`, end each split with `end_of_split`, and put `splits` between splits."""
    join = entry.join
    assert join is not None
    pieces = [
        join.rows.join(row.text for row in rows) + join.end_of_split
        for _, rows in groupby(_kept_rows(staged), key=lambda row: row.part)
    ]
    text, stripped = join.splits.join(pieces), sum(row.stripped for row in _kept_rows(staged))
    size = len(text.encode())
    return Document("", "joined", text, cluster=None, bytes=size, stripped=stripped)


class _Content(NamedTuple):
    """A slice without its metadata, and what the metadata needs."""

    path: Path
    sha256: str
    columns_sha256: str
    documents: int
    bytes: int
    characters: int
    words: int | None
    words_reason: str | None

    def facts(self) -> dict[str, Any]:
        """Return the fields that the metadata has too."""
        return {name: value for name, value in self._asdict().items() if name != "path"}


def _write_content(batches: Iterable[Any], path: Path, reason: str | None) -> _Content:
    digest, totals = ContentHash(), np.zeros(4, np.int64)

    def counted() -> Iterator[Any]:
        for batch in batches:
            digest.add_batch(batch)
            totals[:] += _totals(batch)
            yield batch

    _write(path, _schema(None), counted())
    documents_, bytes_, characters, words = totals.tolist()
    return _Content(
        path, *digest.values(), documents_, bytes_, characters, None if reason else words, reason
    )


@dataclass(kw_only=True)
class _Taken:
    """Totals of the documents, summed as they are written."""

    bytes: int = 0
    stripped: int = 0
    nul_documents: int = 0
    nul_characters: int = 0

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents."""
        for one in documents:
            self.bytes += one.bytes
            self.stripped += one.stripped
            if nul := one.text.count("\0"):
                self.nul_documents += 1
                self.nul_characters += nul


def _batches(
    staged: _Staged,
    entry: Corpus,
    watch: Stopwatch,
    taken: _Taken,
    finder: Callable[[Sequence[str]], segment.WordSpans] | None,
) -> Iterator[Any]:
    hashes: list[npt.NDArray[np.uint64]] = []
    for chunk in _chunks(_final(staged, entry)):
        if entry.id is not None:  # row numbers cannot occur twice
            hashes.append(_hashes(chunk))
        taken.add(chunk)
        texts = [row.text for row in chunk]
        with watch.section("words"):
            words = _word_columns(finder(texts)) if finder else word_columns.no_words(len(texts))
            graphemes = segment.grapheme_counts(texts)
        batch = _batch(chunk, graphemes, words)
        yield batch if entry.weight is None else _with_weights(batch, chunk)
    _refuse_doubles(staged, hashes, entry)


def _taken(path: Path, rows: IntArray) -> Iterator[Any]:
    import pyarrow as pa

    table = pa.Table.from_batches(list(record_batches(path)))
    for start in range(0, len(rows), BATCH_ROWS):
        some = table.take(rows[start : start + BATCH_ROWS]).combine_chunks()
        yield from some.to_batches()


def _why_no_words(staged: _Staged, entry: Corpus, words: WordFinder) -> str | None:
    if entry.kind == "code":
        return segment.CODE_HAS_NO_WORDS
    if words.name:
        return None
    letters = segment.LetterCounts()
    for chunk in _chunks(_kept_rows(staged)):
        letters.add([row.text for row in chunk])
    return letters.why_no_words()


def _hashes(rows: list[Document]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of each id: ids of a corpus of any size are not held in memory."""
    digests = (hashlib.blake2b(row.id.encode(), digest_size=8).digest() for row in rows)
    return np.frombuffer(b"".join(digests), np.uint64)


def _refuse_doubles(staged: _Staged, hashes: list[npt.NDArray[np.uint64]], entry: Corpus) -> None:
    ordered = np.sort(np.concatenate(hashes)) if hashes else np.zeros(0, np.uint64)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    seen: set[str] = set()
    for row in _kept_rows(staged):
        if row.id in seen:
            raise CorpusError(
                f"id {row.id!r} occurs twice (again in {row.part}, column {entry.id!r}); ids must "
                "be "
                "unique within a language: name another column in `id`, or leave it out for row "
                "numbers"
            )
        seen.add(row.id)


def _totals(batch: Any) -> tuple[int, int, int, int]:
    return (
        batch.num_rows,
        int(numbers(batch, "bytes").sum()),
        int(numbers(batch, "characters").sum()),
        int(word_columns.word_counts(batch).sum()),
    )


def _schema(meta: SliceMeta | None) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("text", pa.large_string(), nullable=False),
            pa.field("characters", pa.uint32(), nullable=False),
            pa.field("graphemes", pa.uint32(), nullable=False),
            *word_columns.fields(),
            pa.field("cluster", pa.string()),
        ],
        metadata=None if meta is None else {METADATA_KEY: meta.to_json().encode()},
    )


def _batch(rows: list[Document], graphemes: IntArray, words: list[Any]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.array([row.text for row in rows], pa.large_string())
    columns = [
        pa.array([row.id for row in rows], pa.string()),
        text,
        pc.utf8_length(text).cast(pa.uint32()),
        pa.array(graphemes).cast(pa.uint32()),
        *words,
        pa.array([row.cluster for row in rows], pa.string()),
    ]
    return pa.record_batch(columns, schema=_schema(None))


def _with_weights(batch: Any, rows: list[Document]) -> Any:
    import pyarrow as pa

    field = pa.field(WEIGHT, pa.int64(), nullable=False)
    return batch.append_column(field, pa.array([row.weight for row in rows], pa.int64()))


def _word_columns(spans: segment.WordSpans) -> list[Any]:
    if len(spans.ends) and int(spans.ends.max()) > np.iinfo(np.int32).max:
        raise CorpusError(
            "a document is longer than 2 GiB; read it by lines or paragraphs, or join fewer rows"
        )
    return word_columns.pack(spans)


def _meta(
    order: Order, entry: AnyCorpus, reading: Reading, tally: RowCounts, content: _Content
) -> SliceMeta:
    language = entry.resolved_key(order.key)
    return SliceMeta(
        corpus=order.name,
        language=order.key,
        tag=language.tag,
        script=language.script,
        kind=entry.kind,
        parallel=entry.parallel,
        pivot=entry.pivot,
        missing_ids=entry.missing_ids,
        matched_by=reading.matched_by,
        rows_seen=tally.seen,
        rows_skipped=dict(sorted(tally.skipped.items())),
        rows_asked=sampling.describe(entry),
        unit=reading.unit,
        line_ends=reading.line_ends,
        join=None if entry.join is None else entry.join.model_dump(),
        bytes_in_files=reading.bytes_in_files,
        sources=reading.sources,
        segmenter=WordFinder.of(entry, order.key).version() if content.words is not None else None,
        notes=reading.notes,
        **content.facts(),
    )


def _notes(reading: Reading, tally: RowCounts, taken: _Taken) -> Iterator[str]:
    if taken.stripped:
        yield (
            f"read by {reading.unit}, line ends stripped: tokenizers get {taken.bytes:,} of the "
            f"{taken.bytes + taken.stripped:,} bytes of the rows taken"
        )
    for remark, n in sorted(tally.remarks.items()):
        yield f"{remark}: {n:,}"
    if taken.nul_documents:
        yield (
            f"{plural(taken.nul_documents, 'document')} with "
            f"{plural(taken.nul_characters, 'NUL character')} (U+0000); some tokenizers end text "
            "there"
        )
