"""Documents with their text and their tokens, as tables: what `segments/` of a run holds.

`segments/CORPUS.parquet` has one row with the text of each document, and one for each tokenizer
with its ids and where they begin and end, in bytes of the text's UTF-8. `segments/tokens/` has the
bytes and the spelling of each id that occurs there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SEGMENTS = pa.schema(
    [
        ("language", pa.string()),
        ("document_id", pa.string()),
        ("why", pa.string()),
        ("tokenizer", pa.string()),
        ("text", pa.string()),
        ("ids", pa.list_(pa.uint32())),
        ("starts", pa.list_(pa.uint32())),
        ("ends", pa.list_(pa.uint32())),
        ("detail", pa.string()),
    ]
)
"""`why` is `sample` or `witness`. The row with the text has no tokenizer. `starts` is null where each
token begins where the one before it ends, from the start of the text to its end; `ends` is null,
too, if it is not known which part of the text a token covers."""

SEGMENT_TOKENS = pa.schema(
    [("id", pa.uint32()), ("bytes", pa.binary()), ("spelling", pa.string()), ("kind", pa.string())]
)
"""`spelling` is null where a vocabulary holds nothing but bytes."""

UintArray = npt.NDArray[np.uint32]


class SegmentCut(NamedTuple):
    """One text under one tokenizer: ids and their byte positions, or why there are none."""

    ids: UintArray | None = None
    starts: UintArray | None = None
    ends: UintArray | None = None
    detail: str | None = None


class StoredDocument(NamedTuple):
    """A document stored with its text, and its tokens by tokenizer."""

    language: str
    document_id: str
    why: str
    text: str
    cuts: dict[str, SegmentCut]


def segments_table(documents: Iterable[StoredDocument]) -> pa.Table:
    """Return the rows of some documents of a corpus, in the schema `SEGMENTS`."""
    rows = [row for document in documents for row in _rows(document)]
    return pa.Table.from_pylist(rows, schema=SEGMENTS)


def _rows(document: StoredDocument) -> Iterable[dict[str, object]]:
    place = {
        "language": document.language,
        "document_id": document.document_id,
        "why": document.why,
    }
    yield {**place, "text": document.text}
    for tokenizer, cut in document.cuts.items():
        yield {**place, "tokenizer": tokenizer, **cut._asdict()}
