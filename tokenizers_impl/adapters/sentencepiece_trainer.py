"""The `sentencepiece` library's own trainers behind tokbench's trainer shape.

Pinned: one thread, since Unigram models change with the number of threads, and the soft limit
on the vocabulary size, so that a corpus which cannot fill it gives a smaller model, not a crash.
Counted: lines that sentencepiece leaves out with no more than a log line (longer than
`max_sentence_length` bytes, or holding U+2585, which it keeps for itself).
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import TrainedModel, TrainerPlugin
from tokbench.tokenizers_impl.training_input import (
    SpecialTokens,
    TrainingTexts,
    require_special_token,
    size_note,
)

RESERVED = "\N{LOWER FIVE EIGHTHS BLOCK}"
"""U+2585, sentencepiece's own mark for unknown characters: it skips lines that hold one."""

_ROLES = {"<unk>": "unk_id", "<s>": "bos_id", "</s>": "eos_id", "<pad>": "pad_id"}


class SentencePieceTraining(TrainerPlugin):
    """Options that sentencepiece's two algorithms share."""

    former: ClassVar[Mapping[str, str]] = {
        "min_frequency": "is gone: sentencepiece has no such limit"
    }

    model_type: ClassVar[str]

    vocab_size: int = Field(gt=0, description="Entries to reach; less text gives fewer.")
    special_tokens: SpecialTokens = Field(
        ("<unk>", "<s>", "</s>"),
        description="In the order of their ids. `<unk>` is required; `<s>`, `</s>` and `<pad>` have "
        "roles.",
    )
    normalization: Literal["identity", "nfkc", "nmt_nfkc"] = Field(
        "nmt_nfkc", description="`identity`, `nfkc` or `nmt_nfkc`."
    )
    remove_extra_whitespaces: bool = Field(True, description="Trim and collapse spaces.")
    add_dummy_prefix: bool = Field(True, description="Put a space before each text.")
    byte_fallback: bool = Field(False, description="Write unknown characters as bytes.")
    split_digits: bool = Field(False, description="One piece for each digit.")
    character_coverage: float = Field(
        0.9995, gt=0, le=1, description="Share of the text's characters to keep."
    )
    max_sentence_length: int = Field(
        4192, gt=0, description="UTF-8 bytes; longer lines are left out, counted and reported."
    )
    split_lines: bool = Field(
        True,
        description="Each line of a document is a sentence of its own, as in a file given to "
        "`spm_train`.",
    )

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``tokenizer.model``; raise `TrainingError` for what cannot be trained."""
        require_special_token("<unk>", self.special_tokens, "the unknown token")
        lines = _Lines(TrainingTexts(texts), self)
        model = _train(lines, self)
        reached = _size_of(model)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.model").write_bytes(model)
        return TrainedModel(
            tokenizer={"type": "sentencepiece", "file": "tokenizer.model"},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=reached,
            documents=lines.texts.documents,
            bytes=lines.texts.bytes,
            lines_skipped=lines.skipped,
            bytes_skipped=lines.bytes_skipped,
            notes=size_note(self.vocab_size, reached) + lines.notes(),
            facts={
                "algorithm": self.model_type,
                "model_sha256": hashlib.sha256(model).hexdigest(),
                "special_tokens": len(self.special_tokens),
                "how": f"{'most frequent pair' if self.model_type == 'bpe' else 'pruned by likelihood'}; "
                f"cut at spaces; normalization {self.normalization}; "
                f"byte fallback {'on' if self.byte_fallback else 'off'}",
            },
        )


class SpmBPE(SentencePieceTraining):
    """BPE over raw sentences, trained by `sentencepiece`."""

    model_type: ClassVar[str] = "bpe"


class SpmUnigram(SentencePieceTraining):
    """Unigram over raw sentences, trained by `sentencepiece` on one thread."""

    model_type: ClassVar[str] = "unigram"

    shrinking_factor: float = Field(
        0.75, gt=0, lt=1, description="Share of pieces kept in each round."
    )
    num_sub_iterations: int = Field(2, gt=0, description="EM steps in each round.")
    seed_sentencepiece_size: int = Field(1_000_000, gt=0, description="Pieces to start from.")
    max_sentencepiece_length: int = Field(16, gt=0, description="Longest piece, in characters.")


class _Lines:
    """The sentences that sentencepiece will use; the others are counted here, not lost."""

    def __init__(self, texts: TrainingTexts, options: SentencePieceTraining) -> None:
        self.texts = texts
        self._limit = options.max_sentence_length
        self._split = options.split_lines
        self.used = self.too_long = self.reserved = self.bytes_skipped = 0

    @property
    def skipped(self) -> int:
        return self.too_long + self.reserved

    def __iter__(self) -> Iterator[str]:
        for text in self.texts:
            for line in text.split("\n") if self._split else (text,):
                # sentencepiece drops the line end before it looks at the length
                if (line := line.rstrip("\r\n")) and self._is_used(line):
                    yield line

    def _is_used(self, line: str) -> bool:
        n_bytes = len(line.encode())
        if n_bytes > self._limit:
            self.too_long += 1
        elif RESERVED in line:
            self.reserved += 1
        else:
            self.used += 1
            return True
        self.bytes_skipped += n_bytes
        return False

    def notes(self) -> tuple[str, ...]:
        """Say which lines were left out and why."""
        notes = []
        if self.too_long:
            notes.append(
                f"{self.too_long} lines longer than {self._limit} bytes were left out "
                "(max_sentence_length)"
            )
        if self.reserved:
            notes.append(
                f"{self.reserved} lines with U+2585, which sentencepiece reserves, were left out"
            )
        return tuple(notes)


def _train(lines: _Lines, options: SentencePieceTraining) -> bytes:
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            num_threads=1,
            hard_vocab_limit=False,
            minloglevel=2,
            **_library_options(options),
        )
    except (RuntimeError, ValueError) as exc:
        # An exception inside the iterator comes back as a RuntimeError with its text in it.
        raise lines.texts.failure or _readable(exc, lines, options) from exc
    return model.getvalue()


def _library_options(options: SentencePieceTraining) -> dict[str, Any]:
    own = {"special_tokens", "normalization", "split_lines"}
    ids = {token: index for index, token in enumerate(options.special_tokens)}
    return {
        **options.model_dump(exclude=own),
        "model_type": options.model_type,
        "normalization_rule_name": options.normalization,
        "control_symbols": [token for token in ids if token not in _ROLES],
        **{role: ids.get(token, -1) for token, role in _ROLES.items()},
    }


def _readable(exc: Exception, lines: _Lines, options: SentencePieceTraining) -> TrainingError:
    message = str(exc)
    if not lines.used:
        reasons = "; ".join(lines.notes()) or "they are empty"
        return TrainingError(
            f"no line of the {lines.texts.documents} documents can be trained on: {reasons}. "
            "Raise max_sentence_length or split the documents"
        )
    if found := re.search(r"required_chars\. (\d+) vs (\d+)", message):
        return TrainingError(
            f"vocab_size {options.vocab_size} is too small for sentencepiece {options.model_type}: "
            f"the special tokens and characters of this corpus need {found[2]}. "
            "Raise vocab_size, or lower character_coverage"
        )
    if found := re.search(r"Vocabulary size too high.*<= (\d+)", message):
        return TrainingError(
            f"vocab_size {options.vocab_size} cannot be reached by sentencepiece "
            f"{options.model_type}: this corpus gives at most {found[1]}. "
            "Lower vocab_size or train on more text"
        )
    return TrainingError(f"sentencepiece {options.model_type} cannot be trained: {message}")


def _size_of(model: bytes) -> int:
    import sentencepiece

    return int(sentencepiece.SentencePieceProcessor(model_proto=model).get_piece_size())
