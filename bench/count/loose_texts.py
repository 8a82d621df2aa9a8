"""Texts outside a slice, as a batch that can be counted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokbench.bench.corpus import segment
from tokbench.bench.corpus.slice_file import SliceBatch
from tokbench.bench.model import IntArray


def batch_of(texts: Sequence[str], *, words: bool = False) -> SliceBatch:
    """Return texts as a batch, with their words and graphemes if requested.

    Otherwise graphemes are 0: their tables take longer to make than short texts to encode. Words
    are left out where those of the first text are undefined.

    >>> batch_of(["é", "ab"]).offsets.tolist()
    [0, 2, 4]
    """
    encoded = [text.encode() for text in texts]
    offsets = np.concatenate(([0], np.cumsum([len(data) for data in encoded], dtype=np.int64)))
    spans = _words(texts, offsets) if words else {}
    return SliceBatch(
        first_row=0,
        ids=[str(i) for i in range(len(texts))],
        texts=list(texts),
        buffer=np.frombuffer(b"".join(encoded), np.uint8),
        offsets=offsets,
        characters=np.array([len(text) for text in texts], np.int64),
        graphemes=segment.grapheme_counts(texts) if words else np.zeros(len(texts), np.int64),
        word_starts=spans.get("starts"),
        word_ends=spans.get("ends"),
        word_leads=spans.get("leads"),
        word_offsets=spans.get("offsets"),
    )


def _words(texts: Sequence[str], offsets: IntArray) -> dict[str, IntArray]:
    letters = segment.LetterCounts()
    letters.add(texts[:1])
    if letters.why_no_words() is not None:
        return {}
    spans = segment.word_spans(texts)
    first = np.repeat(offsets[:-1], np.diff(spans.offsets))
    return {
        "starts": spans.starts + first,
        "ends": spans.ends + first,
        "leads": spans.leads + first,
        "offsets": spans.offsets,
    }
