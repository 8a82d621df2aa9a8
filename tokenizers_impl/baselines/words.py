"""The `words` baseline: whole words and punctuation marks, the most frequent ones, the rest unknown.

It is here to lose. Its vocabulary never covers a new text, whitespace is gone, and since a word it
does not know is one token whatever its length, its bytes per token look splendid. `offsets` say
which part of the text each token stands for, so that the lost part can be counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from tokbench.bench.errors import TokenizerError, TrainingError
from tokbench.bench.model import Fingerprint, Ids, Span, Tokenizer, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin, TrainedModel, TrainerPlugin
from tokbench.tokenizers_impl.files import json_of, read_file, well_formed

if TYPE_CHECKING:
    import regex

UNKNOWN = "[UNK]"
FORMAT = "tokbench.words"
_PATTERN = r"\w+|[^\w\s]"


def split_words(text: str) -> list[str]:
    """Return runs of letters, digits and marks, and every other visible character alone.

    >>> split_words("It's 3.5 km, naïve…")
    ['It', "'", 's', '3', '.', '5', 'km', ',', 'naïve', '…']
    """
    words: list[str] = _compiled().findall(text)
    return words


def most_frequent(counts: Counter[str], n_words: int, *, min_frequency: int = 1) -> list[str]:
    """Return the n most frequent words; of equally frequent ones the smallest come first.

    >>> most_frequent(Counter("a b c b c".split()), 2)
    ['b', 'c']
    """
    kept = [word for word, count in counts.items() if count >= min_frequency]
    return sorted(kept, key=lambda word: (-counts[word], word))[:n_words]


class WordsTokenizer:
    """A list of known words; id 0 is the unknown word, the others follow in order.

    >>> tokenizer = WordsTokenizer(["the", "cat"])
    >>> ids, spans = tokenizer.encode_batch_with_offsets(["the black cat"])
    >>> ids, spans
    ([[1, 0, 2]], [[(0, 3), (4, 9), (10, 13)]])
    >>> tokenizer.decode_batch(ids)
    ['the [UNK] cat']
    """

    byte_exact = False
    prefix_space = False

    def __init__(self, words: Sequence[str], *, notes: Sequence[str] = ()) -> None:
        self.words = list(words)
        self.notes: Sequence[str] = tuple(notes)
        self._ids = {word: token for token, word in enumerate(self.words, start=1)}
        if len(self._ids) < len(self.words):
            raise TokenizerError("a word is listed twice; each needs an id of its own")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words; id 0 stands for no text of its own."""
        return Vocabulary(
            token_bytes=[None, *(word.encode() for word in self.words)],
            special_ids=frozenset({0}),
            unknown_ids=frozenset({0}),
        )

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Hashes of the words and of the pattern."""
        return Fingerprint.of(vocabulary=self.vocabulary.token_bytes, pre_tokenizer=_PATTERN)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text."""
        get, find = self._ids.get, _compiled().findall
        return [[get(word, 0) for word in find(text)] for text in texts]

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        """Return ids as `encode_batch` does, and the code points each token stands for."""
        spans = [[m.span() for m in _compiled().finditer(text)] for text in texts]
        return self.encode_batch(texts), spans

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return words joined by spaces; what stood between them is lost."""
        names = [UNKNOWN, *self.words]
        try:
            return [" ".join(names[token] for token in document) for document in ids]
        except IndexError as exc:
            raise TokenizerError(
                f"an id is not in the vocabulary (0 to {len(self.words)})"
            ) from exc


class Words(TokenizerPlugin):
    """The words baseline, from a file that its trainer has written."""

    file: str = Field(description="The JSON that its trainer has written.")

    def load(self, context: LoadContext) -> Tokenizer:
        """Read the file; raise `TokenizerError` when it is missing or another kind of file."""
        path = context.resolve(self.file)
        content = json_of(read_file(path, path.name), path.name)
        if content.get("format") != FORMAT:
            raise TokenizerError(f"{path.name} is not a {FORMAT} file; train one with type: words")
        with well_formed(path.name, f"a {FORMAT} file"):
            return WordsTokenizer([word + "" for word in content["words"]])


class WordsTrainer(TrainerPlugin):
    """Counts words and keeps the most frequent ones. `vocab_size` counts the unknown word too."""

    vocab_size: int = Field(gt=0, description="Words, and one entry for unknown ones.")
    min_frequency: int = Field(1, ge=1, description="Rarer words are left out.")

    def train(self, texts: Iterable[str], folder: Path) -> TrainedModel:
        """Write ``words.json``; raise `TrainingError` when the texts are not usable."""
        counts: Counter[str] = Counter()
        documents = n_bytes = 0
        for document in _checked(texts):
            counts.update(split_words(document))
            documents += 1
            n_bytes += len(document.encode())
        if not counts:
            raise TrainingError(f"nothing to train on: {documents} documents without a single word")
        words = most_frequent(counts, self.vocab_size - 1, min_frequency=self.min_frequency)
        folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps({"format": FORMAT, "version": 1, "words": words}, ensure_ascii=False)
        temporary = folder / "words.json.part"
        temporary.write_bytes(content.encode())
        temporary.replace(folder / "words.json")
        return TrainedModel(
            tokenizer={"type": "words", "file": "words.json"},
            vocab_size_requested=self.vocab_size,
            vocab_size_reached=len(words) + 1,
            documents=documents,
            bytes=n_bytes,
            notes=self._notes(len(words) + 1, len(counts)),
            facts={"distinct_words": len(counts), "tie_rule": "smallest word"},
        )

    def _notes(self, reached: int, distinct: int) -> tuple[str, ...]:
        if reached == self.vocab_size:
            return ()
        return (
            f"vocab_size {self.vocab_size} was requested and {reached} reached: of {distinct} "
            f"distinct words no others occur {self.min_frequency} times (min_frequency)",
        )


def _checked(texts: Iterable[str]) -> Iterator[str]:
    if isinstance(texts, str | bytes):
        raise TrainingError(
            "the training text is one string, which would be read character by character; "
            "give a list of documents, [text]"
        )
    for number, document in enumerate(texts):
        if not isinstance(document, str):
            raise TrainingError(
                f"document {number} (counted from 0) is {type(document).__name__}, not text; "
                "leave missing values out before training"
            )
        yield document


@lru_cache(maxsize=1)
def _compiled() -> regex.Pattern[str]:
    import regex

    return regex.compile(_PATTERN)
