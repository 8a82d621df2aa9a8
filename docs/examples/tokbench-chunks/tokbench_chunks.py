"""An example of everything a package can add to tokbench: a tokenizer, a suite and a report.

Each is one class and two lines of `pyproject.toml`. The fields of a class are its options: they
appear in `tokbench schema`, in `tokbench list` and in the messages about a config.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from tokbench.plugins import (
    CountsSuite,
    Finding,
    Fingerprint,
    Ids,
    LoadContext,
    Measurement,
    MetricSpec,
    ReportPlugin,
    Results,
    Tallies,
    TokenizerPlugin,
    Vocabulary,
)


class Chunks(TokenizerPlugin):
    """Cuts UTF-8 into chunks of one or two bytes: 256 ids for one byte, 65,536 for two."""

    size: int = Field(default=2, ge=1, le=2, description="bytes in a chunk")

    def load(self, context: LoadContext) -> ChunkTokenizer:
        """Build the tokenizer."""
        return ChunkTokenizer(self.size)


class ChunkTokenizer:
    """What `tokbench.plugins.Tokenizer` asks for, and nothing more."""

    byte_exact = True
    prefix_space = False
    notes: Sequence[str] = ()

    def __init__(self, size: int) -> None:
        self._size = size
        pairs = [bytes([a, b]) for a in range(256) for b in range(256)] if size == 2 else []
        self.vocabulary = Vocabulary(token_bytes=[bytes([a]) for a in range(256)] + pairs)
        self.fingerprint = Fingerprint.of(options={"chunks": size})

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return the ids of each text."""
        return [self._encode(text.encode()) for text in texts]

    def _encode(self, data: bytes) -> list[int]:
        if self._size == 1:
            return list(data)
        pairs = [256 + 256 * a + b for a, b in zip(data[::2], data[1::2], strict=False)]
        return pairs + list(data[-1:] if len(data) % 2 else b"")

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the text of each list of ids."""
        pieces = self.vocabulary.token_bytes
        return [b"".join(pieces[i] or b"" for i in one).decode("utf-8", "replace") for one in ids]


LONGEST = MetricSpec(
    name="longest_document",
    unit="tokens",
    direction="lower",
    definition="Tokens of the document that has most of them.",
)


class Longest(CountsSuite):
    """How long the longest document becomes, which is what a context window must hold."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (LONGEST,)

    at_least: int = Field(default=1, ge=1, description="tokens below which nothing is told")

    def measure(self, tallies: Tallies) -> Iterable[Measurement | Finding]:
        """Return one value for each cell."""
        for cell in tallies.counted():
            longest = int(cell.tally.documents["tokens"].max())
            if longest >= self.at_least:
                yield Measurement(
                    metric=LONGEST,
                    tokenizer=cell.key.tokenizer,
                    corpus=cell.key.corpus,
                    language=cell.key.language,
                    value=float(longest),
                    n=cell.tally.n,
                )


class OneLine(ReportPlugin):
    """A file with one line: how many values a run has."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return the file."""
        return {"one_line.txt": f"{results.measurements.num_rows} values\n"}
