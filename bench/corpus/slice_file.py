"""The file of a slice: its columns, its metadata, its hashes, and how it is read.

A slice is an Arrow IPC file of record batches, memory-mapped when read: id, text, characters,
graphemes, words (see `tokbench.bench.corpus.word_columns`), cluster.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from tokbench.bench.corpus import word_columns
from tokbench.bench.errors import CorpusError
from tokbench.bench.model import IntArray, Kind

FORMAT = 3
"""Version of the metadata, which runs keep too; slices of another version are rebuilt."""
LAYOUT = 4
"""Version of the columns; it is part of a slice's name."""

METADATA_KEY = b"tokbench"

MAPPED_BYTES = 64 * 2**20
"""Size of a file up to which it is mapped, and above which batches are read one by one."""

MAPPED_BATCHES = 64
"""Batches whose heads are read from one mapping of their file."""

WEIGHT = "weight"
"""Column of a slice whose corpus has weights, and of no other."""

LARGE = 65_536
"""Documents above which ids are not held in memory."""


@dataclass(frozen=True, kw_only=True)
class SliceMeta:
    """What a slice is and what it was made of, without clock, host or absolute path."""

    corpus: str
    language: str
    tag: str | None
    script: str | None
    kind: Kind
    parallel: bool
    pivot: str | None
    missing_ids: str
    """Rule of a parallel corpus for ids that some language lacks: refuse or intersect."""
    matched_by: str
    """The key that joins documents of two languages: id, row number, line number."""
    sha256: str
    """Over ids and texts in order, each behind its length in bytes."""
    columns_sha256: str
    """Over the other columns, to detect damage."""
    documents: int
    bytes: int
    """UTF-8 bytes of the texts as tokenizers get them."""
    characters: int
    """Code points."""
    words: int | None
    words_reason: str | None
    """Why words are undefined; None where they are defined."""
    segmenter: str | None
    rows_seen: int
    rows_skipped: Mapping[str, int]
    """Rows without a text, by reason."""
    rows_asked: str
    """The sampling rule."""
    unit: str
    """What one row was: row, line, paragraph or document."""
    line_ends: str | None
    """For text files: whether the line end that closes a unit was kept or stripped."""
    join: Mapping[str, str] | None
    """What was put between rows to make one document of them; None where rows are documents."""
    bytes_in_files: int | None
    """Size of the files read, where they are plain text."""
    sources: Sequence[Mapping[str, Any]]
    notes: Sequence[str]
    alignment: Mapping[str, Any] | None = None
    """How well lengths go with the pivot's, in a run; see `tokbench.bench.corpus.alignment`."""
    format: int = FORMAT

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as what JSON has: mappings, lists, text, numbers."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def to_json(self) -> str:
        """Return the metadata as JSON, the same text for the same values."""
        return json.dumps(self.to_dict(), ensure_ascii=False, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | builtins.bytes) -> Self:
        """Read what `to_json` wrote; `ValueError` or `TypeError` where it is something else."""
        values = json.loads(text)
        known = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or values.get("format") != FORMAT or set(values) != known:
            raise ValueError("not the metadata of a slice of this version")
        return cls(
            **{**values, "notes": tuple(values["notes"]), "sources": tuple(values["sources"])}
        )


@dataclass(frozen=True, kw_only=True)
class SliceBatch:
    """Some of a slice's documents, in order; n of them, in about 1 MiB or at most 4,096."""

    first_row: int
    """Row of the first document within the slice."""
    ids: list[str]
    texts: list[str]
    buffer: npt.NDArray[np.uint8]
    """The documents' UTF-8, one after the other, not copied from the mapped file."""
    offsets: IntArray
    """Document i is ``buffer[offsets[i]:offsets[i + 1]]``; shape (n + 1,)."""
    characters: IntArray
    """Code points of each document; shape (n,)."""
    graphemes: IntArray
    """Extended grapheme clusters of each document; shape (n,)."""
    word_starts: IntArray | None
    """Positions in `buffer`; shape (words,). All four are None where words are undefined."""
    word_ends: IntArray | None
    """One past the last byte of each word."""
    word_leads: IntArray | None
    """Where the white space directly before each word begins."""
    word_offsets: IntArray | None
    """Words of document i are ``word_offsets[i]:word_offsets[i + 1]``; shape (n + 1,)."""

    def part(self, start: int, stop: int | None) -> SliceBatch:
        """Return documents ``start:stop`` as a batch of their own."""
        stop = len(self.ids) if stop is None else stop
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        words = self._part_of_words(start, stop, first)
        return SliceBatch(
            first_row=self.first_row + start,
            ids=self.ids[start:stop],
            texts=self.texts[start:stop],
            buffer=self.buffer[first:last],
            offsets=self.offsets[start : stop + 1] - first,
            characters=self.characters[start:stop],
            graphemes=self.graphemes[start:stop],
            **words,
        )

    def _part_of_words(self, start: int, stop: int, first: int) -> dict[str, IntArray | None]:
        spans = {name: getattr(self, name) for name in ("word_starts", "word_ends", "word_leads")}
        if self.word_offsets is None:
            return {**spans, "word_offsets": None}
        offsets = self.word_offsets[start : stop + 1]
        inside = slice(int(offsets[0]), int(offsets[-1]))
        return {
            **{name: values[inside] - first for name, values in spans.items()},
            "word_offsets": offsets - offsets[0],
        }


@dataclass(frozen=True, kw_only=True)
class Slice:
    """One corpus in one language. It holds only a path, so it is cheap to send to workers."""

    path: Path
    meta: SliceMeta

    def batches(
        self, first: int = 0, stop: int | None = None, first_row: int = 0
    ) -> Iterator[SliceBatch]:
        """Yield documents in order, a batch at a time: all, or batches ``first:stop`` only.

        `first_row` is the row that batch `first` starts with.
        """
        for batch in record_batches(self.path, first, stop):
            yield _slice_batch(batch, first_row)
            first_row += batch.num_rows

    def batch_rows(self) -> list[int]:
        """Return how many documents each batch holds."""
        rows: list[int] = []
        while some := _rows_from(self.path, len(rows)):
            rows += some
        return rows

    @property
    def ids(self) -> Sequence[str]:
        """All ids in order; those of a large slice stay in its file."""
        if self.meta.documents <= LARGE:
            return self.document_ids()
        return StoredIds(self)

    def document_ids(self) -> list[str]:
        """Return all ids in order."""
        return [id for batch in record_batches(self.path) for id in batch.column("id").to_pylist()]

    def column(self, name: str) -> IntArray:
        """Return ``bytes`` or ``characters`` of every document; shape (documents,)."""
        parts = [numbers(batch, name) for batch in record_batches(self.path)]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def weights(self) -> Iterator[list[int] | None]:
        """Yield, for each of `batches`, how often training sees its documents; None: once each."""
        for batch in record_batches(self.path):
            known = WEIGHT in batch.schema.names
            yield batch.column(WEIGHT).to_pylist() if known else None

    @property
    def weighted(self) -> bool:
        """Whether documents have weights for training."""
        return WEIGHT in _open(self.path).schema.names

    def clusters(self) -> list[str] | None:
        """Return the cluster of every document, or None where no document has one.

        A document without a cluster is a cluster of its own, named after its id.
        """
        columns = (batch.column("cluster") for batch in record_batches(self.path))
        if all(column.null_count == len(column) for column in columns):
            return None
        found = [c for b in record_batches(self.path) for c in b.column("cluster").to_pylist()]
        named = zip(self.document_ids(), found, strict=True)
        return [f"document {id}" if cluster is None else cluster for id, cluster in named]

    def word_counts(self) -> IntArray | None:
        """Return the words of every document, or None where undefined; shape (documents,)."""
        if self.meta.words is None:
            return None
        parts = list(map(word_columns.word_counts, record_batches(self.path)))
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


class StoredIds(Sequence[str]):
    """The ids of a large slice, read from its file on access, a batch at a time."""

    def __init__(self, slice_: Slice) -> None:
        self._slice = slice_
        self._ends = np.cumsum(slice_.batch_rows())
        self._batch: tuple[int, list[str]] = (-1, [])

    def __len__(self) -> int:
        return int(self._ends[-1])

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: builtins.slice) -> list[str]: ...

    def __getitem__(self, index: int | builtins.slice) -> str | list[str]:
        if isinstance(index, builtins.slice):
            return [self._get(i) for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._get(index % len(self))

    def _get(self, index: int) -> str:
        number = int(np.searchsorted(self._ends, index, side="right"))
        if self._batch[0] != number:
            (batch,) = record_batches(self._slice.path, number, number + 1)
            self._batch = number, batch.column("id").to_pylist()
        held = self._batch[1]
        return held[index - int(self._ends[number]) + len(held)]


def open_slice(path: Path) -> Slice:
    """Open a slice by its path without checking its content."""
    reader = _open(path)
    return Slice(path=path, meta=SliceMeta.from_json(reader.schema.metadata[METADATA_KEY]))


def is_intact(slice_: Slice) -> bool:
    """Return whether the content of a slice matches its metadata; every byte is read."""
    digest = ContentHash()
    for batch in record_batches(slice_.path):
        batch.validate(full=True)
        digest.add_batch(batch)
    return digest.values() == (slice_.meta.sha256, slice_.meta.columns_sha256)


class ContentHash:
    """The two hashes of a slice's content, neither of which depends on how it is batched."""

    def __init__(self) -> None:
        self._texts = hashlib.sha256()
        self._weighted = self._begun = False
        self._columns = [hashlib.sha256() for _ in range(7)]

    def add_batch(self, batch: Any) -> None:
        """Add a record batch."""
        for id, text in zip(_as_bytes(batch, "id"), _as_bytes(batch, "text"), strict=True):
            self._texts.update(b"%d:%b%d:%b" % (len(id), id, len(text), text))
        values = [self._clusters_of(batch)]
        values += [numbers(batch, name).tobytes() for name in ("characters", "graphemes")]
        if (spans := word_columns.unpack(batch)) is not None:
            positions = (spans.starts, spans.ends, spans.leads)
            values += [column.astype(np.int32).tobytes() for column in positions]
        for digest, value in zip(self._columns, values, strict=False):
            digest.update(value)
        if WEIGHT in batch.schema.names:
            self._columns[6].update(batch.column(WEIGHT).to_numpy().tobytes())
            self._weighted = True

    def _clusters_of(self, batch: Any) -> bytes:
        """Return clusters as JSON, which goes on from batch to batch as if there were one."""
        if not batch.num_rows:
            return b""
        before, self._begun = b" " if self._begun else b"", True
        return before + json.dumps(batch.column("cluster").to_pylist())[1:-1].encode() + b","

    def values(self) -> tuple[str, str]:
        """Return the hash over ids and texts, and the hash over all other columns."""
        columns = self._columns if self._weighted else self._columns[:6]
        parts = b"".join(digest.digest() for digest in columns)
        return self._texts.hexdigest(), hashlib.sha256(parts).hexdigest()


def _as_bytes(batch: Any, name: str) -> list[bytes]:
    import pyarrow as pa

    return list(batch.column(name).cast(pa.large_binary()).to_pylist())


def _open(path: Path) -> Any:
    import pyarrow as pa

    # pages of a mapped file count as memory of each process until the system needs them
    small = path.stat().st_size <= MAPPED_BYTES
    return pa.ipc.open_file((pa.memory_map if small else pa.OSFile)(str(path)))


def _rows_from(path: Path, first: int) -> list[int]:
    """Return the documents of the next batches of a slice, a few of them; none at its end."""
    import pyarrow as pa

    # of each batch only the head is touched, but the system maps its neighbourhood too: the file
    # is mapped anew for every few batches, or a long one would come to lie in memory
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        stop = min(first + MAPPED_BATCHES, reader.num_record_batches)
        return [reader.get_batch(i).num_rows for i in range(first, stop)]


def record_batches(path: Path, first: int = 0, stop: int | None = None) -> Iterator[Any]:
    """Yield the Arrow record batches of a slice, those of a small one mapped and not copied."""
    import pyarrow as pa

    try:
        reader = _open(path)
    except (OSError, pa.ArrowInvalid) as exc:
        raise CorpusError(
            f"the slice {path.name} is missing or damaged; run the same command again to rebuild it"
        ) from exc
    n = reader.num_record_batches
    for i in range(first, n if stop is None else min(stop, n)):
        yield reader.get_batch(i)


def _slice_batch(batch: Any, first_row: int) -> SliceBatch:
    text = batch.column("text")
    buffer, offsets = _utf8(text)
    starts, ends, leads, word_offsets = _words(batch, offsets)
    return SliceBatch(
        first_row=first_row,
        ids=batch.column("id").to_pylist(),
        texts=text.to_pylist(),
        buffer=buffer,
        offsets=offsets,
        characters=numbers(batch, "characters"),
        graphemes=numbers(batch, "graphemes"),
        word_starts=starts,
        word_ends=ends,
        word_leads=leads,
        word_offsets=word_offsets,
    )


def numbers(batch: Any, name: str) -> IntArray:
    """Return ``bytes``, ``characters`` or ``graphemes`` of each document."""
    if name == "bytes":
        return np.diff(_utf8(batch.column("text"))[1])
    values: IntArray = batch.column(name).to_numpy().astype(np.int64)
    return values


def _utf8(text: Any) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Return the bytes of a text column without a copy, and where each value lies in them."""
    _, offsets_buffer, data = text.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[text.offset : text.offset + len(text) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return bytes_[first:last], offsets - first


def _words(
    batch: Any, offsets: IntArray
) -> tuple[IntArray | None, IntArray | None, IntArray | None, IntArray | None]:
    spans = word_columns.unpack(batch)
    if spans is None:
        return None, None, None, None
    document = np.repeat(offsets[:-1], np.diff(spans.offsets))
    return spans.starts + document, spans.ends + document, spans.leads + document, spans.offsets
