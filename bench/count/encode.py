"""Encode once, count once: from a batch of documents to its tally.

Each document goes through `encode_batch` and `decode_batch` once. Everything else is array
arithmetic over the batch: token boundaries are positions in the documents' concatenated UTF-8,
from the bytes of each id where a tokenizer is byte-exact, from offsets where it normalizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import xxhash

from tokbench.bench.corpus.slice_file import SliceBatch
from tokbench.bench.count.cuts import count_cuts
from tokbench.bench.count.encoded import Encoded, flatten
from tokbench.bench.count.roundtrip import judge
from tokbench.bench.count.tally import (
    COLUMNS,
    CUT_COLUMNS,
    LOSS_CAUSES,
    WORD_COLUMNS,
    ArrayTally,
    Need,
    merge,
)
from tokbench.bench.count.words import Boundaries, count_words
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import TokenizerError, is_library_failure, named
from tokbench.bench.model import (
    Finding,
    HasOffsets,
    HasSpecialTokens,
    Ids,
    IntArray,
    Span,
    Tokenizer,
)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Counts batches for one tokenizer on one slice.

    `keep_ids` also keeps every id. `needs` is counted beside what always is. `kept` collects the
    ids of each batch. `watch` separates the tokenizer's own time from ours.
    """

    tokenizer: Tokenizer
    watch: Stopwatch
    keep_ids: bool = False
    needs: frozenset[Need] = frozenset()
    kept: list[Encoded] | None = None
    suite: str = "fidelity"

    def count(self, batch: SliceBatch) -> ArrayTally:
        """Return the tally of a batch; documents that make the tokenizer fail are left out.

        A malformed answer is a failure too: documents are tried in ever smaller batches, so
        that only those that cannot be counted on their own are lost.
        """
        try:
            return self._count(batch)
        except BaseException as exc:
            if not is_library_failure(exc):
                raise
            if len(batch.ids) == 1:
                return self.failed(batch, named(exc))
        half = len(batch.ids) // 2
        parts = (batch.part(0, half), batch.part(half, len(batch.ids)))
        return merge([self.count(part) for part in parts])

    def failed(self, batch: SliceBatch, reason: str) -> ArrayTally:
        """Return the tally of a batch of one document that could not be counted."""
        finding = Finding(
            kind="failure",
            suite="run",
            reason="tokenizer_failed",
            document_id=batch.ids[0],
            message=reason[:500],
        )
        empty = merge([])
        return ArrayTally(
            rows=empty.rows,
            documents=empty.documents,
            ids_hash=empty.ids_hash,
            histogram_ids=empty.histogram_ids,
            histogram_counts=empty.histogram_counts,
            ids=() if self.keep_ids else None,
            findings=(finding,),
            failed_rows=(batch.first_row,),
        )

    def _count(self, batch: SliceBatch) -> ArrayTally:
        by_offsets = not self.tokenizer.byte_exact and isinstance(self.tokenizer, HasOffsets)
        returned, spans = self._encode(batch.texts, with_offsets=by_offsets)
        encoded = flatten(returned)
        self._check_ids(batch, encoded)
        decoded = self._decode(batch, returned)
        sizes = self.tokenizer.vocabulary.sizes.take(encoded.ids)
        columns = self._token_columns(batch, encoded)
        columns["partial_character"] = encoded.per_document(sizes < 0)
        boundaries, breached = self._boundaries(batch, encoded, spans, np.abs(sizes))
        columns["byte_sum_breach"] = breached
        columns |= self._words(batch, boundaries)
        columns |= self._cuts(batch, boundaries, encoded)
        verdict = judge(self.tokenizer, batch, encoded, decoded, boundaries, watch=self.watch)
        columns["round_trip"] = verdict.kinds
        for cause in LOSS_CAUSES:
            columns[f"lost_{cause}"] = verdict.lost[cause]
        if self.kept is not None:
            self.kept.append(encoded)
        return ArrayTally(
            rows=np.arange(batch.first_row, batch.first_row + len(batch.ids), dtype=np.int64),
            documents={name: columns[name] for name in COLUMNS},
            ids_hash=hash_documents(encoded),
            histogram_ids=encoded.distinct,
            histogram_counts=encoded.histogram[encoded.distinct].astype(np.int64),
            ids=tuple(np.split(encoded.ids, encoded.offsets[1:-1])) if self.keep_ids else None,
            findings=verdict.findings + self._breach_findings(batch, encoded, breached),
        )

    def _encode(
        self, texts: Sequence[str], *, with_offsets: bool
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]] | None]:
        with self.watch.section("encode"):
            if with_offsets and isinstance(self.tokenizer, HasOffsets):
                return self.tokenizer.encode_batch_with_offsets(texts)
            return self.tokenizer.encode_batch(texts), None

    def _check_ids(self, batch: SliceBatch, encoded: Encoded) -> None:
        """Check the ids before anything, including the decoder, relies on them."""
        n, n_ids = len(encoded.offsets) - 1, self.tokenizer.vocabulary.n_ids
        if n != len(batch.ids):
            raise TokenizerError(f"it returned {n} lists of ids for {len(batch.ids)} documents")
        if len(encoded.ids) and int(encoded.ids.max()) >= n_ids:
            raise TokenizerError(
                f"it returned id {int(encoded.ids.max())}, but its vocabulary ends at {n_ids - 1}"
            )

    def _decode(self, batch: SliceBatch, ids: Sequence[Ids]) -> list[str]:
        with self.watch.section("decode"):
            decoded = list(self.tokenizer.decode_batch(ids))
        if len(decoded) != len(batch.ids):
            raise TokenizerError(f"it returned {len(decoded)} texts for {len(batch.ids)} documents")
        return decoded

    def _token_columns(self, batch: SliceBatch, encoded: Encoded) -> dict[str, IntArray]:
        vocabulary = self.tokenizer.vocabulary
        special = (
            self.tokenizer.special_tokens if isinstance(self.tokenizer, HasSpecialTokens) else {}
        )

        return {
            "bytes": np.diff(batch.offsets),
            "characters": batch.characters,
            "graphemes": batch.graphemes,
            "tokens": encoded.lengths,
            "unknown": encoded.count(vocabulary.is_unknown),
            "byte_fallback": encoded.count(vocabulary.is_byte_fallback),
            "spells_special": spells_special(batch, special),
        }

    def _boundaries(
        self,
        batch: SliceBatch,
        encoded: Encoded,
        spans: Sequence[Sequence[Span]] | None,
        lengths: npt.NDArray[Any],
    ) -> tuple[Boundaries | None, IntArray]:
        """Return where tokens start and end, and which documents break the sum of bytes."""
        none = np.zeros(len(batch.ids), np.int64)
        if spans is not None:
            return Boundaries.from_spans(batch, spans, encoded), none
        if not self.tokenizer.byte_exact:
            return None, none
        boundaries, breached = Boundaries.from_bytes(batch, encoded, self.tokenizer, lengths)
        if breached.any() and isinstance(self.tokenizer, HasOffsets):
            again = np.flatnonzero(breached)
            _, spans = self._encode([batch.texts[i] for i in again.tolist()], with_offsets=True)
            boundaries = boundaries.with_spans(batch, again, spans or (), encoded)
        return boundaries, breached.astype(np.int64)

    def _words(self, batch: SliceBatch, boundaries: Boundaries | None) -> dict[str, IntArray]:
        if boundaries is None or batch.word_starts is None:
            return dict.fromkeys(WORD_COLUMNS, np.zeros(len(batch.ids), np.int64))
        return count_words(batch, boundaries)

    def _cuts(
        self, batch: SliceBatch, boundaries: Boundaries | None, encoded: Encoded
    ) -> dict[str, IntArray]:
        if boundaries is None or "cuts" not in self.needs:
            return dict.fromkeys(CUT_COLUMNS, np.zeros(len(batch.ids), np.int64))
        return count_cuts(batch, boundaries, encoded)

    def _breach_findings(
        self, batch: SliceBatch, encoded: Encoded, breached: IntArray
    ) -> tuple[Finding, ...]:
        if not breached.any():
            return ()
        first = int(np.flatnonzero(breached)[0])
        ids = encoded.ids[encoded.offsets[first] : encoded.offsets[first + 1]]
        n_token_bytes = int(np.maximum(self.tokenizer.vocabulary.byte_lengths[ids], 0).sum())
        n_bytes = int(batch.offsets[first + 1] - batch.offsets[first])
        return (
            Finding(
                kind="witness",
                suite=self.suite,
                reason="byte_sum_breached",
                document_id=batch.ids[first],
                message=f"token bytes add up to {n_token_bytes}, the text has {n_bytes} bytes",
                data={"class": "byte_sum", "token_bytes": n_token_bytes, "bytes": n_bytes},
            ),
        )


def hash_documents(encoded: Encoded) -> npt.NDArray[np.uint64]:
    """Return XXH3-64 of each document's ids as little-endian uint32, shape (n,)."""
    data = memoryview(encoded.ids.astype("<u4", copy=False).tobytes())
    ends = (encoded.offsets * 4).tolist()
    hash_of = xxhash.xxh3_64_intdigest
    hashes = [hash_of(data[start:end]) for start, end in itertools.pairwise(ends)]
    return np.array(hashes, np.uint64)


def spells_special(batch: SliceBatch, spellings: Collection[str]) -> IntArray:
    """Return 1 for each document that contains the spelling of a special token, shape (n,).

    A vocabulary may have thousands of special tokens: only places with the first character of one
    are examined, and then its second.
    """
    found = np.zeros(len(batch.ids), np.int64)
    text = batch.buffer.tobytes()
    for first in sorted({spelling[0] for spelling in spellings if spelling}):
        at = text.find(_utf8(first))
        if at < 0:
            continue
        group = [spelling for spelling in spellings if spelling.startswith(first)]
        heads = tuple({_utf8(spelling[:2]) for spelling in group})
        wanted = tuple(map(_utf8, group))
        while at >= 0:
            if text.startswith(heads, at) and text.startswith(wanted, at):
                document = int(np.searchsorted(batch.offsets, at, "right")) - 1
                end = int(batch.offsets[document + 1])
                found[document] |= text.startswith(wanted, at, end)
            at = text.find(_utf8(first), at + 1)
    return found


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
