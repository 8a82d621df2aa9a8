"""The trainer of parity-aware BPE: text by language in, plain byte-level BPE out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from tokbench.bench.errors import TrainingError
from tokbench.bench.markup import plural
from tokbench.bench.plugins import MergeTrainer, Trace, TrainedModel
from tokbench.tokenizers_impl.bpe_kin.begin import saved
from tokbench.tokenizers_impl.bpe_kin.parity import LanguageText, Turns, parity_merges
from tokbench.tokenizers_impl.byte_bpe.learning import Ties
from tokbench.tokenizers_impl.byte_bpe.trainer import PieceCounts, build_model
from tokbench.tokenizers_impl.pretokenize import PreTokenization, pre_tokenization
from tokbench.tokenizers_impl.training_input import SpecialTokens, TrainingTexts, add_weighted

Per = Literal["text", "bytes", "characters"]


@dataclass
class _CountedLanguage:
    """What was counted of one language."""

    pieces: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    characters: int = 0
    bytes: int = 0

    def add(self, text: str, weight: int, rule: PreTokenization, held_out: int | None) -> None:
        """Count a document, to learn from or, every so often, to measure."""
        self.documents += 1
        measure = held_out is not None and self.documents % held_out == 0
        add_weighted(self.measured if measure else self.pieces, rule.split(text), weight)
        if measure or held_out is None:
            self.characters += weight * len(text)
            self.bytes += weight * len(text.encode())

    def text(self, per: Per, held_out: int | None) -> LanguageText:
        """Return it as learning needs it."""
        pieces = {piece.encode(): n for piece, n in self.pieces.items()}
        measured = {piece.encode(): n for piece, n in self.measured.items()}
        units = {"text": 1, "bytes": self.bytes, "characters": self.characters}[per]
        return LanguageText(
            pieces=pieces, measured=pieces if held_out is None else measured, units=max(1, units)
        )


class ParityBPETrainer(MergeTrainer):
    """Parity-aware BPE: each merge for the language that pays most tokens for its text."""

    vocab_size: int = Field(gt=0, description="Bytes, merges and special tokens together.")
    pre_tokenization: str = Field("gpt2", description="Pattern that cuts text, by name.")
    special_tokens: SpecialTokens = Field((), description="In the order of their ids.")
    min_frequency: int = Field(
        2, ge=1, description="Pairs that are rarer in the chosen language are not merged."
    )
    ties: Ties = Field("smallest", description="As in `byte_bpe`.")
    global_merges: int = Field(
        0, ge=0, description="So many merges of plain BPE first: the paper's hybrid."
    )
    window: int = Field(
        0,
        ge=0,
        description="Steps that are looked back on, so that no language is chosen too often; 0 is "
        "off, the paper takes 100.",
    )
    share: float = Field(
        2.0,
        gt=0,
        description="A language is passed over once it has more than this many times its even "
        "share of the window (the paper's alpha).",
    )
    per: Per = Field(
        "text",
        description="Tokens are compared per `text` (which requires parallel text), or per "
        "`bytes` or `characters` where it is not parallel.",
    )
    held_out: int | None = Field(
        None,
        ge=2,
        description="Of this many documents, one measures parity and is not learned from; by "
        "default parity is measured on the training text itself.",
    )

    @model_validator(mode="after")
    def _check(self) -> ParityBPETrainer:
        pre_tokenization(self.pre_tokenization)
        return self

    def symbols(self, word: str) -> list[bytes]:
        """Return the bytes of a word."""
        return [bytes([byte]) for byte in word.encode()]

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``model.json`` and ``tokenizer.json``.

        Raises `TrainingError` for text without languages, and for languages with unlike numbers
        of documents where tokens are compared per text.
        """
        rule = pre_tokenization(self.pre_tokenization)
        checked = TrainingTexts(texts)
        found = self._counted(checked, rule)
        languages = {name: one.text(self.per, self.held_out) for name, one in found.items()}
        merges, chosen_for = parity_merges(
            languages,
            max(0, self.vocab_size - 256 - len(self.special_tokens)),
            Turns(
                units=[one.units for one in languages.values()],
                window=self.window,
                share=self.share,
            ),
            global_merges=self.global_merges,
            min_frequency=self.min_frequency,
            ties=self.ties,
            trace=trace,
        )
        special = {name: i for i, name in enumerate(self.special_tokens)}
        model = build_model(merges, rule, special)
        facts = {
            "n_merges": len(merges),
            "merges_by_language": chosen_for,
            "how": f"most frequent pair of bytes of the language with the most tokens, after "
            f"{self.global_merges:,} of all text; pre-tokenization {self.pre_tokenization}; all "
            "256 bytes",
        }
        counted = PieceCounts(pieces={}, documents=checked.documents, bytes=checked.bytes)
        return saved(model, folder, counted, self.vocab_size, facts)

    def _counted(self, texts: TrainingTexts, rule: PreTokenization) -> dict[str, _CountedLanguage]:
        found: dict[str, _CountedLanguage] = {}
        for text, weight, language in texts.labelled():
            found.setdefault(language, _CountedLanguage()).add(text, weight, rule, self.held_out)
        self._compare(found)
        return found

    def _compare(self, found: dict[str, _CountedLanguage]) -> None:
        if len(found) < 2:
            raise TrainingError(
                f"parity_bpe requires two languages or more; the text has {', '.join(found)}"
            )
        numbers = {one.documents for one in found.values()}
        if self.per == "text" and len(numbers) > 1:
            few, many = (f(found, key=lambda n: found[n].documents) for f in (min, max))
            raise TrainingError(
                f"`per: text` compares parallel text, but {few} has "
                f"{plural(found[few].documents, 'document')} and {many} "
                f"{found[many].documents:,}; set per: bytes or characters"
            )
        if short := [n for n, one in found.items() if self.held_out and not one.measured]:
            raise TrainingError(
                f"held_out: {self.held_out} leaves nothing to measure {short[0]} on, which has "
                f"{plural(found[short[0]].documents, 'document')}"
            )
