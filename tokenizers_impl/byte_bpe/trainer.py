"""Train byte-level BPE: cut texts into pieces, count them, learn merges, give out ids, write files.

`merges` says which pair is joined next. Texts are cut into pieces by the pre-tokenization, and no
pair reaches over a cut or from one text to the next. The 256 bytes are always there, so any text
can be encoded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator, model_validator

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import NestedTrainer, TextSizes, Trace, TrainedModel, weighted
from tokbench.tokenizers_impl.byte_bpe.merges import Learned, Ties, fast_merges
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, Merge
from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPETokenizer
from tokbench.tokenizers_impl.pretokenize import PreTokenization, from_pattern, pre_tokenization
from tokbench.tokenizers_impl.training_input import add_weighted, checked_special_tokens, uncut
from tokbench.tokenizers_impl.utf8 import utf8


@dataclass(frozen=True, kw_only=True)
class PieceCounts:
    """What was counted before training: distinct pieces, and how much text they came from."""

    pieces: dict[bytes, int]
    documents: int
    bytes: int


def count_pieces(texts: Iterable[str], rule: PreTokenization) -> PieceCounts:
    """Cut texts into pieces and count each distinct one.

    Raises `TrainingError` for a single string in place of texts, for a document that is not text,
    and when there is no text at all.

    >>> counted = count_pieces(["a a", "a"], pre_tokenization("gpt2"))
    >>> counted.pieces, counted.documents, counted.bytes
    ({b'a': 2, b' a': 1}, 2, 4)
    """
    if isinstance(texts, str | bytes):
        raise TrainingError(
            "the training text is one string, which would be read character by character; "
            "give a list of documents, [text]"
        )
    counts: Counter[str] = Counter()
    documents = 0
    for document, weight in weighted(texts):
        if not isinstance(document, str):
            raise TrainingError(
                f"document {documents} (counted from 0) is {type(document).__name__}, not text; "
                "leave missing values out before training"
            )
        add_weighted(counts, rule.split(document), weight)
        documents += weight
    if not counts:
        raise TrainingError(
            f"nothing to train on: {documents} documents without text; a generator that has "
            "been read once is empty the second time"
        )
    try:
        pieces = {piece.encode(): count for piece, count in counts.items()}
    except UnicodeEncodeError as exc:
        raise TrainingError(
            f"the training text holds a lone surrogate (in {exc.object!r}), which has no UTF-8 "
            "form; repair the text where it is read"
        ) from exc
    n_bytes = sum(len(piece) * count for piece, count in pieces.items())
    return PieceCounts(pieces=pieces, documents=documents, bytes=n_bytes)


def build_model(
    merges: Sequence[Learned],
    rule: PreTokenization,
    special_tokens: Mapping[str, int] | None = None,
) -> BytePairModel:
    """Give out ids: special tokens have theirs, bytes and then merges take the free ones in order.

    >>> build_model([], pre_tokenization("none"), {"<pad>": 0, "<eos>": 1}).byte_ids[:3]
    (2, 3, 4)
    """
    special = dict(special_tokens or {})
    taken = set(special.values())
    n_entries = 256 + len(merges)
    free = [i for i in range(n_entries + len(taken)) if i not in taken][:n_entries]
    numbered: list[Merge] = [
        (free[left], free[right], free[256 + rank]) for rank, (left, right, _) in enumerate(merges)
    ]
    return BytePairModel(
        byte_ids=tuple(free[:256]),
        merges=tuple(numbered),
        pre_tokenization=rule,
        special_tokens=special,
    )


def first_merges(model: BytePairModel, n_merges: int) -> BytePairModel:
    """Return the model with only its first merges: what training for fewer would have given.

    Merges nest, so one training serves a whole curve of vocabulary sizes.
    """
    return BytePairModel(
        byte_ids=model.byte_ids,
        merges=model.merges[:n_merges],
        pre_tokenization=model.pre_tokenization,
        special_tokens=model.special_tokens,
    )


class ByteBPETrainer(NestedTrainer):
    """Byte-level BPE, trained by tokbench.

    `vocab_size` counts bytes, merges and special tokens; it is neither a floor nor a ceiling: the
    256 bytes are always there, and training ends early when no pair occurs `min_frequency` times.
    What was reached is recorded. `special_tokens` is a list (ids 0, 1, 2, ...) or a mapping of
    names to chosen ids. `pattern` stands for a `pre_tokenization` of your own.
    """

    vocab_size: int = Field(
        gt=0,
        description="Bytes, merges and special tokens together; the 256 bytes are always there.",
    )
    pre_tokenization: str = Field(
        "gpt2",
        description="Pattern that cuts text before merging: `none`, `whitespace`, `gpt2`, `cl100k`, "
        "`o200k`, `digits_3`, `digits_3_right` or `digits_1`.",
    )
    pattern: str | None = Field(
        None, description="Pattern of your own, in place of `pre_tokenization`."
    )
    special_tokens: dict[str, int] = Field(
        default_factory=dict,
        description="A list (ids 0, 1, 2 and so on), or a map from name to id.",
    )
    min_frequency: int = Field(2, ge=1, description="Rarer pairs are not merged.")
    ties: Ties = Field(
        "smallest",
        description="Of pairs with equal counts, join the `smallest` in byte order, or the one that "
        "is `first_seen` in the text, as textbooks do.",
    )

    @field_validator("special_tokens", mode="before")
    @classmethod
    def _number(cls, value: object) -> object:
        if isinstance(value, list | tuple):
            checked_special_tokens(map(str, value))
            return {name: i for i, name in enumerate(value)}
        return value

    @model_validator(mode="after")
    def _check(self) -> ByteBPETrainer:
        ids = list(self.special_tokens.values())
        if len(set(ids)) < len(ids) or min(ids, default=0) < 0:
            raise ValueError("ids of special tokens must differ and be 0 or more")
        checked_special_tokens(self.special_tokens)
        self._rule()
        return self

    def warning(self, sizes: TextSizes) -> str | None:
        """Estimate time and memory where documents are not cut and there is much text."""
        if self._rule().name != "none":
            return None
        seconds = 0.6e-6 * sizes.bytes + 0.2e-3 * self.vocab_size  # as measured, 0.7 to 10 MB
        memory = 40.0 * sizes.bytes
        if seconds < 30 and memory < 1e9:
            return None
        return uncut(sizes, seconds=seconds, memory=memory, why="has to be held in memory whole")

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Train and write ``model.json``, ``tokenizer.json``, ``ranks.tiktoken`` with its JSON.

        `trace` is called for each merge as it happens. Raises `TrainingError` as `count_pieces`.
        """
        return self.train_curve(texts, {self.vocab_size: folder}, trace=trace)[self.vocab_size]

    def train_curve(
        self, texts: Iterable[str], folders: Mapping[int, Path], *, trace: Trace | None = None
    ) -> Mapping[int, TrainedModel]:
        """Learn the merges of the largest size; each model has the first of them."""
        counted = count_pieces(texts, self._rule())
        wanted = self._n_merges(max(folders))
        merges = fast_merges(
            counted.pieces,
            wanted,
            min_frequency=self.min_frequency,
            ties=self.ties,
            trace=trace,
        )
        return {
            size: self._with_size(size)._written(merges, counted, folder)
            for size, folder in folders.items()
        }

    def beginning(self, folder: Path, vocab_size: int) -> ByteBPETokenizer:
        """Return the tokenizer with the first merges of the one in a folder."""
        from tokbench.tokenizers_impl.byte_bpe.formats import load_model

        model = load_model(folder / "model.json")
        return ByteBPETokenizer(first_merges(model, self._n_merges(vocab_size)))

    def symbols(self, word: str) -> list[bytes]:
        """Return the bytes of a word."""
        return [bytes([byte]) for byte in utf8(word)]

    def least(self) -> int:
        """Return the bytes and the special tokens."""
        return 256 + len(self.special_tokens)

    def _n_merges(self, vocab_size: int) -> int:
        return max(vocab_size - self.least(), 0)

    def _with_size(self, vocab_size: int) -> ByteBPETrainer:
        return self.model_copy(update={"vocab_size": vocab_size})

    def _written(
        self, learned: Sequence[Learned], counted: PieceCounts, folder: Path
    ) -> TrainedModel:
        merges = learned[: self._n_merges(self.vocab_size)]
        model = build_model(merges, self._rule(), self.special_tokens)
        _write_all(model, folder)
        reached = len(model.entries) + len(model.special_tokens)
        return TrainedModel(
            tokenizer={"type": "byte_bpe", "file": "model.json"},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=reached,
            documents=counted.documents,
            bytes=counted.bytes,
            notes=self._notes(reached),
            facts=_facts(model, merges, counted, self.ties),
        )

    def _rule(self) -> PreTokenization:
        if self.pattern is not None:
            return from_pattern(self.pattern)
        return pre_tokenization(self.pre_tokenization)

    def _notes(self, reached: int) -> tuple[str, ...]:
        if reached > self.vocab_size:
            return (
                f"vocab_size {self.vocab_size} was requested; the 256 bytes and "
                f"{len(self.special_tokens)} special tokens are always there, so it is {reached}",
            )
        if reached < self.vocab_size:
            return (
                f"vocab_size {self.vocab_size} was requested; training ended at {reached}, since "
                f"no further pair occurs {self.min_frequency} times (min_frequency)",
            )
        return ()


def _write_all(model: BytePairModel, folder: Path) -> None:
    from tokbench.tokenizers_impl.byte_bpe.formats import write_own_json, write_tokenizer_json
    from tokbench.tokenizers_impl.byte_bpe.rank_files import write_rank_file

    folder.mkdir(parents=True, exist_ok=True)
    write_own_json(model, folder / "model.json")
    write_tokenizer_json(model, folder / "tokenizer.json")
    write_rank_file(model, folder / "ranks.tiktoken")


TIE_RULES: Mapping[Ties, str] = {
    "smallest": "smallest pair of byte strings",
    "first_seen": "first pair in the order of the text",
}


def _facts(
    model: BytePairModel, merges: Sequence[Learned], counted: PieceCounts, ties: Ties
) -> dict[str, Any]:
    return {
        "n_merges": len(merges),
        "n_special": len(model.special_tokens),
        "distinct_pieces": len(counted.pieces),
        "last_merge_count": merges[-1][2] if merges else None,
        "tie_rule": TIE_RULES[ties],
        "pre_tokenization": model.pre_tokenization.name,
        "pattern": model.pre_tokenization.pattern,
        "how": f"most frequent pair of bytes; pre-tokenization {model.pre_tokenization.name}; "
        "no normalization; all 256 bytes",
    }
