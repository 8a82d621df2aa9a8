"""Building slices: from the rows of a source to an Arrow file that all workers map.

Rows that may become documents are staged on disk first, because what a slice's metadata says
(its hash, its totals, whether its letters have words) is known only when all are read. Text is
held in memory a batch at a time; joined rows are one document, which is held whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench import read_files, read_hub, sampling, segment
from bench.cache import cache_folder
from bench.corpora import Corpus, FilesCorpus, HuggingFaceCorpus, BuiltinCorpus, canonical
from bench.errors import CorpusError
from bench.rows import Document, Reading, Tally, documents
from bench.slices import FORMAT, METADATA_KEY, ContentHash, Slice, SliceMeta, is_intact, open_slice

BATCH_BYTES = 2**20
BATCH_ROWS = 4096


def materialise(
    name: str, entry: HuggingFaceCorpus | FilesCorpus | BuiltinCorpus, language_key: str, folder: Path
) -> Slice:
    """Return the slice of one language of a corpus entry, built where it is missing or damaged.

    Relative paths start from `folder`. Raises `CorpusError` that names corpus and language.
    """
    with _named(name, language_key):
        target = cache_folder("slices") / f"{_file_name(name, entry, language_key, folder)}.arrow"
        found = _find(target)
        return found if found is not None else _build(name, entry, language_key, folder, target)


@contextmanager
def _named(name: str, key: str) -> Iterator[None]:
    try:
        yield
    except CorpusError as exc:
        raise CorpusError(f"corpus {name!r}, language {key!r}: {exc}") from exc.__cause__
    except OSError as exc:
        raise CorpusError(
            f"corpus {name!r}, language {key!r}: cannot write its slice: {exc.strerror or exc}; "
            "set TOKBENCH_CACHE to a folder with room"
        ) from exc


def _find(path: Path) -> Slice | None:
    import pyarrow as pa

    try:
        found = open_slice(path)
        return found if is_intact(found) else None
    except (OSError, pa.ArrowException, ValueError, TypeError, KeyError, CorpusError):
        return None  # missing, cut short or overwritten: built again all the same


def _file_name(name: str, entry: Any, key: str, folder: Path) -> str:
    """Return a name that differs whenever the content may: readable first, then the hash."""
    asked = {
        "format": FORMAT,
        "corpus": name,
        "entry": canonical(entry, key),
        "language": [entry.resolved()[key].tag, entry.resolved()[key].script],
        "files": _local_files(entry, key, folder),
        "versions": _versions(entry),
    }
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False)
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{name}-{key}")[:60]
    return f"{readable}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _local_files(entry: Any, key: str, folder: Path) -> list[tuple[str, str]]:
    if isinstance(entry, HuggingFaceCorpus):
        return read_hub.local_sha256(entry, key, folder)
    files = read_files.source_files(entry, key, folder)
    return [(file.part, read_files.file_sha256(file.path)) for file in files]


def _versions(entry: Corpus) -> dict[str, str]:
    versions = segment.versions() if entry.kind == "natural" else {}
    if isinstance(entry, HuggingFaceCorpus):
        versions = {**versions, "datasets": metadata.version("datasets")}
    return versions


def _read(entry: Any, key: str, folder: Path) -> Reading:
    if isinstance(entry, HuggingFaceCorpus):
        return read_hub.read(entry, key, folder)
    return read_files.read(entry, key, folder)


def _build(name: str, entry: Any, key: str, folder: Path, target: Path) -> Slice:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".building-", dir=target.parent) as place:
        reading, tally = _read(entry, key, folder), Tally()
        staged = _stage(reading, entry, tally, Path(place) / "rows.arrow")
        content = _write_content(staged, entry, Path(place) / "content.arrow")
        meta = _meta(name, entry, key, reading, tally, content)
        finished = Path(place) / "slice.arrow"
        _write(finished, _schema(meta), _record_batches(content.path))
        finished.replace(target)
    return Slice(path=target, meta=meta)


@dataclass(frozen=True, kw_only=True)
class _Staged:
    """Rows on disk, of which `kept` become documents."""

    path: Path
    kept: Any
    parts: tuple[str, ...]


def _stage(reading: Reading, entry: Corpus, tally: Tally, path: Path) -> _Staged:
    sampler = sampling.sampler_for(entry)
    rows = _admitted(documents(reading, entry, tally), sampler)
    _write(path, _staging_schema(), (_staging_batch(chunk) for chunk in _chunks(rows)))
    kept = sampler.kept()
    if not len(kept):
        skipped = ", ".join(f"{n:,} {why}" for why, n in sorted(tally.skipped.items()))
        raise CorpusError(
            f"no documents: {tally.seen:,} rows read" + (f" ({skipped} skipped)" if skipped else "")
            + f", rule: {sampling.describe(entry)}; check the text column, the files and the limit"
        )
    return _Staged(path=path, kept=kept, parts=reading.parts)


def _admitted(rows: Iterable[Document], sampler: sampling.Sampler) -> Iterator[Document]:
    for row in rows:
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
        ]
    )


def _staging_batch(rows: list[Document]) -> Any:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, _staging_schema(), strict=True)],
        schema=_staging_schema(),
    )


def _write(path: Path, schema: Any, batches: Iterable[Any]) -> None:
    import pyarrow as pa

    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch.replace_schema_metadata(schema.metadata))


def _record_batches(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)


def _kept_rows(staged: _Staged) -> Iterator[Document]:
    first = 0
    for batch in _record_batches(staged.path):
        inside = staged.kept[(staged.kept >= first) & (staged.kept < first + batch.num_rows)]
        columns = (column.to_pylist() for column in batch.take(inside - first).columns)
        yield from map(Document._make, zip(*columns, strict=True))
        first += batch.num_rows


def _final(staged: _Staged, entry: Corpus) -> Iterator[Document]:
    if entry.join is None:
        return _kept_rows(staged)
    return iter([_joined(staged, entry)])


def _joined(staged: _Staged, entry: Corpus) -> Document:
    """Join rows by `rows`, end each split with `end_of_split`, and put `splits` between splits."""
    join = entry.join
    assert join is not None
    pieces = [
        join.rows.join(row.text for row in rows) + join.end_of_split
        for _, rows in groupby(_kept_rows(staged), key=lambda row: row.part)
    ]
    text = join.splits.join(pieces)
    return Document(part="", id="joined", text=text, cluster=None, bytes=len(text.encode()))


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


def _write_content(staged: _Staged, entry: Corpus, path: Path) -> _Content:
    reason = _why_no_words(staged, entry)
    digest, totals = ContentHash(), np.zeros(4, np.int64)

    def batches() -> Iterator[Any]:
        seen: set[str] = set()
        for chunk in _chunks(_final(staged, entry)):
            _refuse_doubles(chunk, seen, entry)
            batch = _batch(chunk, with_words=reason is None)
            digest.add_batch(batch)
            totals[:] += _totals(batch)
            yield batch

    _write(path, _schema(None), batches())
    documents_, bytes_, characters, words = totals.tolist()
    return _Content(
        path, *digest.values(), documents_, bytes_, characters, None if reason else words, reason
    )


def _why_no_words(staged: _Staged, entry: Corpus) -> str | None:
    if entry.kind == "code":
        return segment.CODE_HAS_NO_WORDS
    letters = segment.LetterCounts()
    for chunk in _chunks(_kept_rows(staged)):
        letters.add([row.text for row in chunk])
    return letters.why_no_words()


def _refuse_doubles(rows: list[Document], seen: set[str], entry: Corpus) -> None:
    for row in rows:
        if row.id in seen:
            raise CorpusError(
                f"id {row.id!r} occurs twice (again in {row.part}, column {entry.id!r}); ids must be "
                "unique within a language: name another column in `id`, or leave it out for row numbers"
            )
        seen.add(row.id)


def _totals(batch: Any) -> tuple[int, int, int, int]:
    return (
        batch.num_rows,
        int(batch.column("bytes").to_numpy().sum()),
        int(batch.column("characters").to_numpy().sum()),
        len(batch.column("word_start").flatten()),
    )


def _schema(meta: SliceMeta | None) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("text", pa.large_string(), nullable=False),
            pa.field("bytes", pa.int64(), nullable=False),
            pa.field("characters", pa.int64(), nullable=False),
            pa.field("word_start", pa.list_(pa.int32())),
            pa.field("word_end", pa.list_(pa.int32())),
            pa.field("word_lead", pa.list_(pa.int32())),
            pa.field("cluster", pa.string()),
        ],
        metadata=None if meta is None else {METADATA_KEY: meta.to_json().encode()},
    )


def _batch(rows: list[Document], *, with_words: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [row.text for row in rows]
    text = pa.array(texts, pa.large_string())
    columns = [
        pa.array([row.id for row in rows], pa.string()),
        text,
        pa.array([row.bytes for row in rows], pa.int64()),
        pc.utf8_length(text).cast(pa.int64()),
        *(_word_columns(texts) if with_words else [pa.nulls(len(rows), pa.list_(pa.int32()))] * 3),
        pa.array([row.cluster for row in rows], pa.string()),
    ]
    return pa.record_batch(columns, schema=_schema(None))


def _word_columns(texts: list[str]) -> list[Any]:
    import pyarrow as pa

    spans = segment.word_spans(texts)
    if len(spans.ends) and int(spans.ends.max()) > np.iinfo(np.int32).max:
        raise CorpusError(
            "a document is longer than 2 GiB; read it by lines or paragraphs, or join fewer rows"
        )
    offsets = pa.array(spans.offsets, pa.int32())
    return [
        pa.ListArray.from_arrays(offsets, pa.array(values.astype(np.int32)))
        for values in (spans.starts, spans.ends, spans.leads)
    ]


def _meta(
    name: str, entry: Any, key: str, reading: Reading, tally: Tally, content: _Content
) -> SliceMeta:
    language = entry.resolved()[key]
    return SliceMeta(
        corpus=name,
        language=key,
        tag=language.tag,
        script=language.script,
        kind=entry.kind,
        parallel=entry.parallel,
        pivot=entry.pivot,
        missing_ids=entry.missing_ids,
        rows_seen=tally.seen,
        rows_skipped=dict(sorted(tally.skipped.items())),
        rows_asked=sampling.describe(entry),
        unit=reading.unit,
        line_ends=reading.line_ends,
        join=None if entry.join is None else entry.join.model_dump(),
        bytes_in_files=reading.bytes_in_files,
        sources=reading.sources,
        segmenter=segment.segmenter() if content.words is not None else None,
        notes=(*reading.notes, *_notes(reading, content)),
        **{field: value for field, value in content._asdict().items() if field != "path"},
    )


def _notes(reading: Reading, content: _Content) -> Iterator[str]:
    if reading.line_ends is not None and reading.bytes_in_files is not None:
        yield (
            f"read by {reading.unit}, line ends {_PAST[reading.line_ends]}: tokenizers get "
            f"{content.bytes:,} of the {reading.bytes_in_files:,} bytes in the files"
        )


_PAST = {"keep": "kept", "strip": "stripped"}
