"""Training WordPiece: a vocabulary of word beginnings and ``##`` continuations.

Words are written as characters, the first as it is, the others with ``##``; `joins` says which
neighbours become one next, and its rules for ties. The rule is `likelihood`, which is WordPiece,
or `frequency`, which is BPE written with ``##``: the `tokenizers` library trains like that and
calls it WordPiece; here it is called wordpiece_bpe.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import Field

from tokbench.bench.plugins import MergeTrainer, Trace, TrainedModel
from tokbench.tokenizers_impl.frequent_pairs import Rule
from tokbench.tokenizers_impl.joins import Spelling, Ties, learned_joins, told
from tokbench.tokenizers_impl.training_input import (
    SpecialTokens,
    TrainingTexts,
    require_special_token,
    size_note,
)
from tokbench.tokenizers_impl.wordpiece.bert_characters import BertOptions, count_words
from tokbench.tokenizers_impl.wordpiece.files import to_json, to_tokenizer_json, to_vocab_txt
from tokbench.tokenizers_impl.wordpiece.model import (
    PREFIX,
    SPECIAL_TOKENS,
    UNKNOWN,
    WordPieceTokenizer,
)


@cache
def _continued(character: str) -> str:
    return PREFIX + character


def _characters(word: str) -> list[str]:
    return [word[0], *map(_continued, word[1:])]


def _joined(left: str, right: str) -> str:
    return left + right[len(PREFIX) :]


CONTINUED = Spelling(symbols=_characters, joined=_joined)
"""A symbol that does not start its word has ``##`` before it."""


def train_vocabulary(
    words: Mapping[str, int],
    *,
    vocab_size: int,
    special_tokens: Iterable[str] = SPECIAL_TOKENS,
    rule: Rule = "likelihood",
    min_frequency: int = 5,
    limit_alphabet: int = 1000,
    max_characters_per_word: int = 100,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> list[str]:
    """Return entries in the order of their ids: special tokens, alphabet, joins as they came.

    The alphabet holds the `limit_alphabet` most frequent characters (ties in code point order),
    as they start words and as they continue them. Words with other characters, or too long for
    the encoder, would become ``[UNK]`` and are not trained on.

    >>> train_vocabulary({"aab": 9, "ab": 9}, vocab_size=6, special_tokens=["[UNK]"])
    ['[UNK]', 'a', '##a', '##b', '##ab', 'aab']
    """
    words = _usable(words, limit_alphabet, max_characters_per_word)
    symbols = {symbol for word in words for symbol in _characters(word)}
    entries = dict.fromkeys(special_tokens)
    entries |= dict.fromkeys(
        sorted(symbols, key=lambda s: (s.startswith(PREFIX) and len(s) > 2, s))
    )
    joins = learned_joins(
        words, rule=rule, min_frequency=min_frequency, spelling=CONTINUED, ties=ties
    )
    joins = told(joins, trace, rule)
    while len(entries) < vocab_size and (join := next(joins, None)):
        entries.setdefault(join.token)
    return list(entries)


def _usable(words: Mapping[str, int], limit_alphabet: int, longest: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    kept = set(sorted(counts, key=lambda c: (-counts[c], c))[:limit_alphabet])
    return {w: n for w, n in words.items() if len(w) <= longest and kept.issuperset(w)}


RULES: Mapping[Rule, str] = {
    "likelihood": "count(ab) ÷ (count(a) · count(b))",
    "frequency": "count(ab), as in BPE",
}


def _normalization(options: BertOptions) -> str:
    on = {
        "lower-cased": options.lowercase,
        "accents stripped": options.strips_accents,
        "text cleaned": options.clean_text,
    }
    return ", ".join(name for name, yes in on.items() if yes) or "no normalization"


class WordPieceTrainer(MergeTrainer):
    """tokbench's own WordPiece trainer; with ties `smallest` the order of documents is no matter."""

    vocab_size: int = Field(gt=0, description="Entries to reach.")
    special_tokens: SpecialTokens = Field(
        SPECIAL_TOKENS, description="In the order of their ids. `[UNK]` is required."
    )
    min_frequency: int = Field(5, ge=1, description="Rarer pairs are not joined.")
    rule: Rule = Field(
        "likelihood",
        description="`likelihood`: the pair with the highest count(ab) ÷ (count(a) · count(b)). "
        "`frequency`: the most frequent, which is BPE.",
    )
    ties: Ties = Field(
        "smallest",
        description="Of equal pairs, join the `smallest` in code point order, or the one that is "
        "`first_seen` in the text, as textbooks do.",
    )
    limit_alphabet: int = Field(1000, gt=0, description="Most frequent characters to keep.")
    max_characters_per_word: int = Field(100, gt=0, description="Longer words are unknown.")
    lowercase: bool = Field(True, description="Lower-case the text.")
    strip_accents: bool | None = Field(
        None, description="Remove accents; by default as `lowercase`."
    )
    handle_chinese_chars: bool = Field(True, description="Surround Chinese characters with spaces.")
    clean_text: bool = Field(True, description="Remove control characters.")

    def train(
        self, texts: Iterable[str], folder: Path, *, trace: Trace | None = None
    ) -> TrainedModel:
        """Write ``wordpiece.json``, ``vocab.txt`` and ``tokenizer.json``.

        Raises `TrainingError` for input that cannot be trained on.
        """
        require_special_token(UNKNOWN, self.special_tokens, "what an unknown word becomes")
        checked = TrainingTexts(texts)
        tokenizer = self._trained(checked, trace)
        reached = len(tokenizer.tokens)
        own = to_json(tokenizer)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (
            ("wordpiece.json", own),
            ("vocab.txt", to_vocab_txt(tokenizer)),
            ("tokenizer.json", to_tokenizer_json(tokenizer)),
        ):
            (folder / name).write_bytes(content.encode())
        return TrainedModel(
            tokenizer={"type": "wordpiece", "file": "wordpiece.json"},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=reached,
            documents=checked.documents,
            bytes=checked.bytes,
            notes=size_note(self.vocab_size, reached),
            facts={
                "algorithm": "wordpiece" if self.rule == "likelihood" else "wordpiece_bpe",
                "model_sha256": hashlib.sha256(own.encode()).hexdigest(),
                "special_tokens": len(self.special_tokens),
                "how": f"pair of highest {self.rule} ({RULES[self.rule]}); BERT's words; "
                f"{_normalization(self.options())}; no byte fallback",
            },
        )

    def symbols(self, word: str) -> list[bytes]:
        """Return the characters of a word, those after the first with ``##``."""
        return [symbol.encode() for symbol in _characters(word)] if word else []

    def options(self) -> BertOptions:
        """Return how text is normalized and cut into words."""
        return BertOptions(
            lowercase=self.lowercase,
            strip_accents=self.strip_accents,
            handle_chinese_chars=self.handle_chinese_chars,
            clean_text=self.clean_text,
        )

    def _trained(self, texts: Iterable[str], trace: Trace | None) -> WordPieceTokenizer:
        options = self.options()
        entries = train_vocabulary(
            count_words(texts, options),
            vocab_size=self.vocab_size,
            special_tokens=self.special_tokens,
            rule=self.rule,
            min_frequency=self.min_frequency,
            limit_alphabet=self.limit_alphabet,
            max_characters_per_word=self.max_characters_per_word,
            ties=self.ties,
            trace=trace,
        )
        return WordPieceTokenizer(
            entries,
            options=options,
            special_tokens=self.special_tokens,
            max_characters_per_word=self.max_characters_per_word,
        )
