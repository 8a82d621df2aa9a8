"""Words found by a segmenter that the config names, for languages that write them without spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tokbench.bench import plugins
from tokbench.bench.config.corpora import Corpus
from tokbench.bench.corpus import segment
from tokbench.bench.corpus.segment import WordSpans
from tokbench.bench.errors import CorpusError


@dataclass(frozen=True, kw_only=True)
class WordFinder:
    """The way in which the words of one language are found."""

    name: str | None = None
    """A plug-in of `tokbench.segmenters`; None for UAX #29."""

    @classmethod
    def of(cls, entry: Corpus, key: str) -> WordFinder:
        """Return the one that a corpus entry names for a language."""
        return cls(name=(entry.segmenters or {}).get(key))

    def version(self) -> str:
        """Return the name that results give to it; `InputError` where its library is missing."""
        return self._plugin().version() if self.name else segment.segmenter()

    def load(self) -> Callable[[Sequence[str]], WordSpans]:
        """Return a function that finds the words of texts."""
        if self.name is None:
            return segment.word_spans
        cut, name = self._plugin().load(), self.name
        return lambda texts: spans_of(texts, map(cut, texts), name)

    def _plugin(self) -> plugins.SegmenterPlugin:
        return plugins.without_options(plugins.SegmenterPlugin, self.name or "")


def spans_of(texts: Sequence[str], pieces: Iterable[Iterable[str]], name: str) -> WordSpans:
    """Place the pieces of each text, and keep those with a letter or a digit: the words.

    >>> spans = spans_of(["no way"], [["no", " ", "way"]], "toy")
    >>> spans.leads.tolist(), spans.starts.tolist(), spans.ends.tolist()
    ([0, 2], [0, 3], [2, 6])
    """
    found = [list(_words(*pair, name)) for pair in zip(texts, pieces, strict=True)]
    flat = np.array([word for words in found for word in words], np.int64).reshape(-1, 3)
    counts = [len(words) for words in found]
    return WordSpans(
        leads=flat[:, 0],
        starts=flat[:, 1],
        ends=flat[:, 2],
        offsets=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
    )


def _words(text: str, pieces: Iterable[str], name: str) -> Iterator[tuple[int, int, int]]:
    """Yield where the white space before each word begins, the word begins, and it ends; in bytes."""
    at, n_bytes = 0, 0
    for piece in pieces:
        begin = text.find(piece, at)
        if begin < 0:
            raise CorpusError(
                f"segmenter {name} returned {piece[:40]!r}, which does not follow in the text"
            )
        gap = text[at:begin]
        start = n_bytes + len(gap.encode())
        end = start + len(piece.encode())
        if any(map(str.isalnum, piece)):
            space = len(text[:begin]) - len(text[:begin].rstrip())
            yield start - len(text[begin - space : begin].encode()), start, end
        at, n_bytes = begin + len(piece), end
