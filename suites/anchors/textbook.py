"""The merges that a textbook prints for a whole book, learned again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tokbench.bench.commands.anchors import AnchorPlugin, Check
from tokbench.bench.errors import InputError
from tokbench.bench.plugins import MergeEvent, MergeTrainer, TrainerPlugin, find
from tokbench.suites.anchors.measuring import results_of, values_of

BOOK = "anchors/textbook/alice_pg11.txt"


class TextbookMerges(AnchorPlugin):
    """The first twelve merges of Alice's Adventures in Wonderland, and tokens at four sizes."""

    citation: ClassVar[str] = (
        "first merges of byte-level BPE on Alice's Adventures in Wonderland (Project Gutenberg 11), "
        "as printed with their counts"
    )
    protocol: ClassVar[str] = (
        "the file as one document, no pre-tokenization, overlapping pairs count, ties to the pair "
        "met first"
    )
    divergences: ClassVar[str] = (
        "with ties to the smallest pair the first merges are the same and later ones are not"
    )

    ties: str = "first_seen"

    merges: ClassVar[tuple[tuple[bytes, int], ...]] = (
        (b"e ", 4433), (b" t", 3302), (b"\xe2\x80", 3247), (b" a", 2335), (b" th", 2253),
        (b"in", 2011), (b"t ", 1904), (b"er", 1813), (b"d ", 1703), (b"ou", 1554), (b" s", 1467),
        (b" the ", 1270),
    )  # fmt: skip
    tokens: ClassVar[dict[int, int]] = {512: 68_249, 1024: 50_369, 2048: 39_306, 4096: 30_757}

    def check(self, data: Path) -> Iterator[Check]:
        """Yield a figure for each merge and each size."""
        if not (data / BOOK).exists():
            raise InputError(f"{data} has no {BOOK}; point --data to a folder that has")
        learned = self._learned((data / BOOK).read_text(encoding="utf-8"))
        for rank, expected in enumerate(self.merges):
            yield Check(what=f"merge {rank}", expected=expected, measured=learned[rank])
        train = {
            "trainer": "byte_bpe",
            "corpus": "book",
            "vocab_size": list(self.tokens),
            "pre_tokenization": "none",
            "ties": self.ties,
        }
        book = {"source": "files", "path": BOOK, "language": "en", "unit": "document"}
        config = {
            "name": "textbook",
            "corpora": {"book": book},
            "tokenizers": {"bpe": {"train": train}},
            "suites": ["efficiency"],
        }
        with results_of(config, data) as results:
            measured = values_of(results, "tokens")
        for size, tokens in self.tokens.items():
            counted = int(measured[f"bpe-{size}", "en"])
            yield Check(what=f"tokens at {size:,} entries", expected=tokens, measured=counted)

    def _learned(self, text: str) -> list[tuple[bytes, int]]:
        heard: list[MergeEvent] = []
        trainer = find(TrainerPlugin, "byte_bpe").model_validate(
            {"vocab_size": 256 + len(self.merges), "pre_tokenization": "none", "ties": self.ties}
        )
        assert isinstance(trainer, MergeTrainer)
        with tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
            trainer.train([text], Path(folder), trace=heard.append)
        return [(event.token, event.count) for event in heard]
