"""What the SentencePiece-style trainers share: options, counted words, the files they leave.

The tokenizers read raw sentences. Training looks at words all the same, since no piece reaches
over a space, and each distinct word has to be looked at only once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import regex
from pydantic import Field

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import TrainedModel, TrainerPlugin, weighted
from tokbench.tokenizers_impl.sentencepiece.pieces import PieceTokenizer
from tokbench.tokenizers_impl.sentencepiece.text import (
    LITERAL,
    SPACE,
    Normalization,
    TextOptions,
    WordSplitter,
    byte_piece,
    marked,
)
from tokbench.tokenizers_impl.training_input import (
    SpecialTokens,
    TrainingTexts,
    add_weighted,
    require_special_token,
    size_note,
)

UNKNOWN = "<unk>"

T = TypeVar("T", bound=PieceTokenizer)


def count_words(
    texts: Iterable[str], options: TextOptions, *, split_by_class: bool, split_digits: bool
) -> Counter[str]:
    """Count the words of all lines, each with the ``▁`` before it.

    With `split_by_class` a word ends where letters, digits and other characters meet; with
    `split_digits` each digit is a word.

    >>> words = count_words(["a, a 12"], TextOptions(), split_by_class=True, split_digits=False)
    >>> sorted(words.items())
    [(',', 1), ('▁12', 1), ('▁a', 2)]
    """
    splitter = WordSplitter([])
    words: Counter[str] = Counter()
    for text, weight in weighted(texts):
        lines = (splitter.split(marked(line, options)) for line in text.split("\n"))
        add_weighted(words, chain.from_iterable(lines), weight)
    if not (split_by_class or split_digits):
        return words
    pattern = _pattern(split_by_class, split_digits)
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in pattern.findall(word):
            parts[part] += count
    return parts


def _pattern(split_by_class: bool, split_digits: bool) -> regex.Pattern[str]:
    digits = r"\p{N}" if split_digits else r"\p{N}+"
    if split_by_class:
        return regex.compile(
            rf"{SPACE}?[\p{{L}}\p{{M}}]+|{SPACE}?{digits}|{SPACE}?[^\p{{L}}\p{{M}}\p{{N}}{SPACE}]+|{SPACE}"
        )
    return regex.compile(rf"{SPACE}?{digits}|{SPACE}?[^\p{{N}}{SPACE}]+|{SPACE}")


def covered_parts(words: Mapping[str, int], coverage: float) -> Counter[str]:
    """Cut words at characters that are too rare to be in the vocabulary.

    The most frequent characters are kept until they make up `coverage` of all; ties in code
    point order. A literal ▁ that is to become bytes is never kept. No word is empty.

    >>> sorted(covered_parts({"abxa": 5, "x": 1, "y": 1}, 0.9).items())
    [('abxa', 5), ('x', 1)]
    """
    sizes = np.fromiter(map(len, words), np.int64, len(words))
    text = "".join(words).encode("utf-32-le", "surrogatepass")
    codes, which = np.unique(np.frombuffer(text, np.uint32), return_inverse=True)
    occurs = np.repeat(np.fromiter(words.values(), np.float64, len(words)), sizes)
    counts = dict(zip(map(chr, codes.tolist()), np.bincount(which, occurs).tolist(), strict=True))
    counts.pop(LITERAL, None)
    needed, kept = coverage * sum(counts.values()), set()
    for character in sorted(counts, key=lambda c: (-counts[c], c)):
        if needed <= 0:
            break
        needed -= counts[character]
        kept.add(character)
    is_kept = np.fromiter((chr(code) in kept for code in codes.tolist()), np.bool_, len(codes))
    whole = np.logical_and.reduceat(is_kept.take(which), np.cumsum(sizes) - sizes)
    parts = Counter(dict(compress(words.items(), whole.tolist())))
    for word, count in compress(words.items(), (~whole).tolist()):
        for part in "".join(c if c in kept else LITERAL for c in word).split(LITERAL):
            if part:
                parts[part] += count
    return parts


def loadable(model: bytes, pieces: Sequence[str]) -> bytes:
    """Return a written model; raise `TrainingError` where sentencepiece does not load it as it is.

    A piece with a NUL character stops it from loading, or is left unused beside byte fallback.
    """
    import sentencepiece

    why = next((f"the piece {p!r} holds a NUL character" for p in pieces if "\0" in p), None)
    if why is None:
        try:
            sentencepiece.SentencePieceProcessor(model_proto=model)
        except (RuntimeError, ValueError, OSError) as exc:
            why = str(exc)
    if why is not None:
        raise TrainingError(
            f"the sentencepiece library does not load this tokenizer.model: {why}; remove it from "
            "the training text, or set write_model: false"
        )
    return model


class SentencePieceStyleTrainer(TrainerPlugin):
    """Options of tokbench's own trainers over raw text, spaces included.

    The defaults lose nothing: no normalization, and bytes for characters not in the vocabulary.
    """

    vocab_size: int = Field(
        gt=0, description="Entries to reach, special tokens and byte pieces included."
    )
    special_tokens: SpecialTokens = Field(
        (UNKNOWN, "<s>", "</s>"), description="In the order of their ids. `<unk>` is required."
    )
    normalization: Normalization = Field("identity", description="`identity` or `nfkc`.")
    add_dummy_prefix: bool = Field(True, description="Put a space before each text.")
    remove_extra_whitespaces: bool = Field(False, description="Trim and collapse spaces.")
    byte_fallback: bool = Field(True, description="Write unknown characters as bytes.")
    underbar: Literal["space", "bytes"] = Field(
        "space",
        description="What a `▁` in the text becomes: `space`, or its `bytes` (in tokbench's own "
        "JSON only).",
    )
    split_by_class: bool = Field(
        True, description="Pieces end where letters, digits and other characters meet."
    )
    split_digits: bool = Field(False, description="One piece for each digit.")
    character_coverage: float = Field(
        0.9995, gt=0, le=1, description="Share of the text's characters to keep."
    )
    write_model: bool = Field(
        False, description="Write a SentencePiece `tokenizer.model` as well; needs the extra `spm`."
    )

    def text_options(self) -> TextOptions:
        """Return how text is prepared."""
        return TextOptions(
            normalization=self.normalization,
            add_dummy_prefix=self.add_dummy_prefix,
            remove_extra_whitespaces=self.remove_extra_whitespaces,
            underbar=self.underbar,
        )

    def tokenizer_options(self) -> dict[str, Any]:
        """Return what the tokenizers take beside their pieces."""
        return {
            "unknown": UNKNOWN,
            "special_tokens": self.special_tokens,
            "byte_fallback": self.byte_fallback,
            "options": self.text_options(),
        }

    def pieces_apart(self) -> list[str]:
        """Return the pieces that are not learned: special tokens, then bytes."""
        require_special_token(UNKNOWN, self.special_tokens, "the unknown token")
        n_bytes = 256 if self.byte_fallback else 0
        return [*self.special_tokens, *map(byte_piece, range(n_bytes))]

    def words(self, texts: TrainingTexts, *, in_order: bool = False) -> dict[str, int]:
        """Return the words to train on with their counts: sorted, or `in_order` of the text."""
        counts = count_words(
            texts,
            self.text_options(),
            split_by_class=self.split_by_class,
            split_digits=self.split_digits,
        )
        words = covered_parts(counts, self.character_coverage)
        if not words:
            raise TrainingError("the documents hold nothing but empty lines: train on more text")
        return dict(words if in_order else sorted(words.items()))

    def how(self, algorithm: str) -> str:
        """Return the rule, and what happens to a text before it, in a line."""
        rule = "most frequent pair" if algorithm == "sentencepiece_bpe" else "pruned by likelihood"
        cut = "cut at spaces and changes of class" if self.split_by_class else "cut at spaces"
        return (
            f"{rule}; {cut}; normalization {self.normalization}; "
            f"byte fallback {'on' if self.byte_fallback else 'off'}"
        )

    def saved(
        self,
        algorithm: str,
        tokenizer: T,
        folder: Path,
        texts: TrainingTexts,
        *,
        own_json: Callable[[T], str],
        tokenizer_json: Callable[[T], str],
        model: Callable[[T], bytes],
    ) -> TrainedModel:
        """Write the files that the options ask for, each by its writer, and describe them."""
        own = f"{algorithm}.json"
        files = {own: own_json(tokenizer).encode()}
        if self.underbar == "space":
            files["tokenizer.json"] = tokenizer_json(tokenizer).encode()
        if self.write_model:
            files["tokenizer.model"] = loadable(model(tokenizer), tokenizer.pieces.texts)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        reached = len(tokenizer.pieces.texts)
        return TrainedModel(
            tokenizer={"type": algorithm, "file": own},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=reached,
            documents=texts.documents,
            bytes=texts.bytes,
            notes=size_note(self.vocab_size, reached),
            facts={
                "algorithm": algorithm,
                "model_sha256": hashlib.sha256(files[own]).hexdigest(),
                "special_tokens": len(self.special_tokens),
                "how": self.how(algorithm),
            },
        )
