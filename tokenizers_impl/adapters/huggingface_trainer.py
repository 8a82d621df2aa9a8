"""The `tokenizers` library's own trainers behind tokbench's trainer shape.

Which of them give the same model for the same input (tokenizers 0.23, measured over processes):

- `TokenizersBPE`: yes.
- `TokenizersWordPiece`: not by itself, since ids follow the order of a hash map and ties fall
  with the ids. Here the alphabet is handed over in sorted order, which fixes both.
- `TokenizersUnigram`: no. Sums are made in the order of a hash map, so scores differ in their
  last digits, and with them now and then a piece. A model is stored once and used again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import TextSizes, TrainedModel, TrainerPlugin
from tokbench.tokenizers_impl.training_input import (
    SpecialTokens,
    TrainingTexts,
    require_special_token,
    size_note,
    uncut,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BPE_PATTERNS: Mapping[str, str] = {
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # `\p{N}{1,3}` without tiktoken's final `+`: after a counted repeat Oniguruma reads it as
    # "one or more times", which would join all the digits of a number.
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}
"""Piece patterns in the words of Oniguruma, the regular expressions of `tokenizers`."""

LONG_PIECE = 10_000
"""Bytes of a document from which training on it as one piece is worth a warning."""
NANOSECONDS, BYTES = 0.5, 120
"""Measured with tokenizers 0.23: 0.2 s for 20,000 bytes, 1.8 s for 60,000, by the square of the
length whatever the vocabulary's size; and the memory of each byte."""


class TokenizersBPE(TrainerPlugin):
    """Byte-level BPE, trained by `tokenizers`; the 256 bytes are always in the vocabulary."""

    vocab_size: int = Field(gt=0, description="Entries to reach, the 256 bytes included.")
    special_tokens: SpecialTokens = Field((), description="In the order of their ids.")
    min_frequency: int = Field(2, ge=0, description="Rarer pairs are not merged.")
    pre_tokenization: Literal["none", "gpt2", "cl100k", "o200k"] = Field(
        "gpt2",
        description="Pattern that cuts text before merging: `none`, `gpt2`, `cl100k` or `o200k`.",
    )

    def warning(self, sizes: TextSizes) -> str | None:
        """Estimate time and memory where documents are not cut and some are long."""
        if self.pre_tokenization != "none" or sizes.longest < LONG_PIECE:
            return None
        return uncut(
            sizes,
            seconds=NANOSECONDS * 1e-9 * sizes.squares,
            memory=BYTES * sizes.bytes,
            why="`tokenizers` joins in time that grows with the square of its length",
        )

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``tokenizer.json``; raise `TrainingError` for input that cannot be trained on."""
        from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

        checked = TrainingTexts(texts)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = _byte_level(self.pre_tokenization)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.train_from_iterator(
            iter(checked),
            trainers.BpeTrainer(
                vocab_size=self.vocab_size,
                min_frequency=self.min_frequency,
                special_tokens=list(self.special_tokens),
                initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                show_progress=False,
            ),
        )
        return _saved(tokenizer, folder, checked, self, algorithm="bpe")

    def how(self) -> str:
        """Return the rule, and what happens to a text before it, in a line."""
        return (
            f"most frequent pair of bytes; pre-tokenization {self.pre_tokenization}; "
            "no normalization; all 256 bytes"
        )


class TokenizersWordPiece(TrainerPlugin):
    """What `tokenizers` calls WordPiece training: BPE by pair frequency, written with ``##``.

    The likelihood rule of the literature is tokbench's own trainer, `wordpiece`.
    """

    vocab_size: int = Field(gt=0, description="Entries to reach.")
    special_tokens: SpecialTokens = Field(
        ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
        description="In the order of their ids. `[UNK]` is required.",
    )
    min_frequency: int = Field(2, ge=0, description="Rarer pairs are not merged.")
    limit_alphabet: int = Field(
        1000,
        gt=0,
        description="Most frequent characters to keep; words with others become `[UNK]`.",
    )
    lowercase: bool = Field(True, description="Lower-case the text.")
    strip_accents: bool | None = Field(
        None, description="Remove accents; by default as `lowercase`."
    )
    handle_chinese_chars: bool = Field(True, description="Surround Chinese characters with spaces.")
    clean_text: bool = Field(True, description="Remove control characters.")

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``tokenizer.json``; raise `TrainingError` for input that cannot be trained on."""
        from tokenizers import Tokenizer, models

        require_special_token("[UNK]", self.special_tokens, "what an unknown word becomes")
        checked = TrainingTexts(texts)
        documents = list(checked)
        trained = self._untrained(Tokenizer(models.WordPiece(unk_token="[UNK]")))
        alphabet = _wordpiece_alphabet(trained, documents, self.limit_alphabet)
        _train_wordpiece(trained, documents, self, alphabet)
        # A fresh tokenizer, because in the trained one each character is a special token.
        model = models.WordPiece(trained.get_vocab(), unk_token="[UNK]")
        tokenizer = self._untrained(Tokenizer(model))
        tokenizer.add_special_tokens(list(self.special_tokens))
        return _saved(tokenizer, folder, checked, self, algorithm="wordpiece_bpe")

    def how(self) -> str:
        """Return the rule, and what happens to a text before it, in a line."""
        return (
            "most frequent pair, as in BPE; BERT's words; "
            f"{'lower-cased' if self.lowercase else 'case kept'}; no byte fallback"
        )

    def _untrained(self, tokenizer: Tokenizer) -> Tokenizer:
        from tokenizers import decoders, normalizers, pre_tokenizers

        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=self.clean_text,
            handle_chinese_chars=self.handle_chinese_chars,
            strip_accents=self.strip_accents,
            lowercase=self.lowercase,
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        return tokenizer


class TokenizersUnigram(TrainerPlugin):
    """Unigram, trained by `tokenizers` on words with the space before them as ``▁``."""

    former: ClassVar[Mapping[str, str]] = {
        "min_frequency": "is gone: `tokenizers` has no such limit for Unigram"
    }

    vocab_size: int = Field(gt=0, description="Entries to reach.")
    special_tokens: SpecialTokens = Field(("<unk>",), description="In the order of their ids.")
    unk_token: str = Field(
        "<unk>", description="The unknown token; must be among the special tokens."
    )
    normalization: Literal["identity", "nfkc"] = Field(
        "identity", description="`identity` or `nfkc`."
    )
    shrinking_factor: float = Field(
        0.75, gt=0, lt=1, description="Share of pieces kept in each round."
    )
    max_piece_length: int = Field(16, gt=0, description="Longest piece, in characters.")
    n_sub_iterations: int = Field(2, gt=0, description="EM steps in each round.")

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``tokenizer.json``; raise `TrainingError` for input that cannot be trained on."""
        from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

        require_special_token(self.unk_token, self.special_tokens, "the unknown token")
        checked = TrainingTexts(texts)
        tokenizer = Tokenizer(models.Unigram())
        if self.normalization == "nfkc":
            tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=self.vocab_size,
            special_tokens=list(self.special_tokens),
            unk_token=self.unk_token,
            shrinking_factor=self.shrinking_factor,
            max_piece_length=self.max_piece_length,
            n_sub_iterations=self.n_sub_iterations,
            show_progress=False,
        )
        documents = list(checked)
        try:
            tokenizer.train_from_iterator(iter(documents), trainer)
        except Exception as exc:  # the library raises this very class
            raise _unigram_error(exc, tokenizer, documents, self) from exc
        note = "tokenizers' Unigram training differs in the last digits from run to run"
        return _saved(
            tokenizer, folder, checked, self, algorithm="unigram", deterministic=False, note=note
        )

    def how(self) -> str:
        """Return the rule, and what happens to a text before it, in a line."""
        return (
            f"pruned by likelihood; cut at spaces; normalization {self.normalization}; "
            "no byte fallback"
        )


def _unigram_error(
    exc: Exception, tokenizer: Tokenizer, documents: list[str], options: TokenizersUnigram
) -> TrainingError:
    if "not large enough" not in str(exc):
        return TrainingError(f"tokenizers' Unigram cannot be trained: {exc}")
    normalize = tokenizer.normalizer.normalize_str if tokenizer.normalizer else str
    needed = len({c for text in documents for c in normalize(text)} - {" "}) + 1
    return TrainingError(
        f"vocab_size {options.vocab_size} is too small for tokenizers' Unigram: "
        f"the characters of this corpus need {needed}. "
        "Raise vocab_size, or train on text with fewer characters"
    )


def _byte_level(pre_tokenization: str) -> Any:
    from tokenizers import Regex, pre_tokenizers

    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if pre_tokenization == "none":
        return to_bytes
    split = pre_tokenizers.Split(Regex(BPE_PATTERNS[pre_tokenization]), "isolated")
    return pre_tokenizers.Sequence([split, to_bytes])


def _train_wordpiece(
    tokenizer: Tokenizer, texts: list[str], options: TokenizersWordPiece, alphabet: list[str]
) -> None:
    from tokenizers import trainers

    specials = list(options.special_tokens)
    trainer = trainers.WordPieceTrainer(
        vocab_size=options.vocab_size,
        min_frequency=options.min_frequency,
        # Special tokens get their ids first and in order; all other ids follow a hash map.
        special_tokens=specials + [c for c in alphabet if c not in specials],
        limit_alphabet=0,  # nothing beside the alphabet above, whose ties are broken by us
        show_progress=False,
    )
    tokenizer.train_from_iterator(iter(texts), trainer)


def _wordpiece_alphabet(tokenizer: Tokenizer, texts: list[str], limit: int) -> list[str]:
    """Return the characters to keep and, with ``##``, those that continue a word, each sorted.

    A character that never starts a word is needed without ``##`` as well: the library leaves
    out of its words whatever has no such entry.
    """
    total: Counter[str] = Counter()
    later: set[str] = set()
    for chunk, count in _chunks(texts).items():
        normalized = tokenizer.normalizer.normalize_str(chunk)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized):
            for character in word:
                total[character] += count
            later.update(word[1:])
    kept = set(sorted(total, key=lambda c: (-total[c], c))[:limit])
    return sorted(kept) + sorted("##" + c for c in later & kept)


def _chunks(texts: list[str]) -> Counter[str]:
    # Cut only where BERT's pre-tokenizer cuts for certain; str.split() knows more separators,
    # some of which BERT deletes, joining the words around them.
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(re.split(r"[ \t\r\n]+", text))
    return chunks


def _saved(
    tokenizer: Tokenizer,
    folder: Path,
    checked: TrainingTexts,
    options: TokenizersBPE | TokenizersWordPiece | TokenizersUnigram,
    *,
    algorithm: str,
    deterministic: bool = True,
    note: str | None = None,
) -> TrainedModel:
    reached = tokenizer.get_vocab_size()
    if reached <= len(options.special_tokens):
        raise TrainingError(
            f"no entry beside the special tokens was learned from {checked.documents} documents; "
            "train on more text"
        )
    data = tokenizer.to_str(pretty=True).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_bytes(data)
    return TrainedModel(
        tokenizer={"type": "huggingface", "file": "tokenizer.json"},
        vocab_size_requested=options.vocab_size,
        vocab_size_reached=reached,
        documents=checked.documents,
        bytes=checked.bytes,
        deterministic=deterministic,
        notes=size_note(options.vocab_size, reached) + ((note,) if note else ()),
        facts={
            "algorithm": algorithm,
            "model_sha256": hashlib.sha256(data).hexdigest(),
            "special_tokens": len(options.special_tokens),
            "how": options.how(),
        },
    )
