"""What every trainer does before it trains: check its input, count it, name what was reached.

A trainer that takes whatever iterates reads one bare string character by character, makes an
empty model of a generator that was already read, and fails on a missing value without saying
which. `TrainingTexts` refuses all three with the index of the document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Annotated

from pydantic import AfterValidator

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import LabelledTexts, TextSizes, weighted


class TrainingTexts:
    """Documents on their way into a trainer, checked and counted during each pass.

    >>> texts = TrainingTexts(["one", "zwölf"])
    >>> list(texts), texts.documents, texts.bytes
    (['one', 'zwölf'], 2, 9)
    >>> list(TrainingTexts(["one", None]))
    Traceback (most recent call last):
        ...
    tokbench.bench.errors.TrainingError: document 1 is NoneType, not text: leave it out or make it text
    """

    def __init__(self, texts: Iterable[str]) -> None:
        if isinstance(texts, str | bytes):
            raise TrainingError(
                "the training texts are one bare string, which would be read character by "
                "character: pass a list of documents"
            )
        self._texts = texts
        self.documents = 0
        self.bytes = 0
        self.failure: TrainingError | None = None
        """The refusal of the last pass, for libraries that wrap or lose it."""

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each text once, with the number of times it counts."""
        return ((text, weight) for text, weight, _ in self._pass(self._unlabelled()))

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each text once, with that number and its language.

        Raises `TrainingError` where the texts have no languages.
        """
        if not isinstance(self._texts, LabelledTexts):
            raise TrainingError(
                "the training text has no languages, which this trainer requires: train on a "
                "corpus of a config"
            )
        return self._pass(self._texts.labelled())

    def _unlabelled(self) -> Iterator[tuple[str, int, str]]:
        return ((text, weight, "") for text, weight in weighted(self._texts))

    def _pass(self, rows: Iterator[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
        self.documents = self.bytes = 0
        self.failure = None
        try:
            for index, (text, weight, language) in enumerate(rows):
                self.bytes += weight * _utf8_size(text, index)
                self.documents += weight
                yield text, weight, language
            if not self.bytes:
                raise TrainingError(_nothing_to_train_on(self.documents))
        except TrainingError as exc:
            self.failure = exc
            raise


def _utf8_size(text: object, index: int) -> int:
    if not isinstance(text, str):
        raise TrainingError(
            f"document {index} is {type(text).__name__}, not text: leave it out or make it text"
        )
    try:
        return len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError as exc:
        raise TrainingError(
            f"document {index} holds a lone surrogate at code point {exc.start}, "
            "which UTF-8 cannot write: repair the document or leave it out"
        ) from exc


def _nothing_to_train_on(documents: int) -> str:
    if documents:
        return f"all {documents} documents are empty: there is nothing to train on"
    return (
        "there are no documents to train on: the corpus is empty, or it is a generator "
        "that was already read (pass a list)"
    )


def size_note(requested: int, reached: int) -> tuple[str, ...]:
    """Return a note if the vocabulary size differs from the requested one, or nothing.

    >>> size_note(5000, 444)
    ('vocabulary size 5000 was requested and 444 reached: the corpus has no more entries to give',)
    >>> size_note(50, 256)[0]
    'vocabulary size 50 was requested and 256 reached: the alphabet alone is larger'
    """
    if reached == requested:
        return ()
    reason = (
        "the corpus has no more entries to give"
        if reached < requested
        else "the alphabet alone is larger"
    )
    return (f"vocabulary size {requested} was requested and {reached} reached: {reason}",)


def checked_special_tokens(tokens: Iterable[str]) -> None:
    """Raise `ValueError` for special tokens that would do harm: empty, twice, an ordinary word.

    >>> checked_special_tokens(["<s>", "[MASK]"])
    >>> checked_special_tokens(["<s>", "the"])
    Traceback (most recent call last):
        ...
    ValueError: special token 'the' is an ordinary word, which text is full of: write '<the>'
    """
    for token, times in Counter(list(tokens)).items():
        if not token.strip():
            raise ValueError(f"special token {token!r} is empty: leave it out")
        if times > 1:
            raise ValueError(f"special token {token!r} is listed twice: remove one of them")
        if token.strip().isalnum():
            raise ValueError(
                f"special token {token!r} is an ordinary word, which text is full of: write "
                f"'<{token.strip()}>'"
            )


def _checked(tokens: tuple[str, ...]) -> tuple[str, ...]:
    checked_special_tokens(tokens)
    return tokens


def add_weighted(counts: Counter[str], items: Iterable[str], weight: int) -> None:
    """Count items, each `weight` times.

    >>> counts = Counter({"a": 1})
    >>> add_weighted(counts, ["a", "b", "a"], 5)
    >>> dict(counts)
    {'a': 11, 'b': 5}
    """
    if weight == 1:
        counts.update(items)
        return
    for item, n in Counter(items).items():
        counts[item] += n * weight


def uncut(sizes: TextSizes, *, seconds: float, memory: float, why: str) -> str:
    """Say what training on whole documents will take; seconds of one CPU, bytes of memory.

    >>> sizes = TextSizes(documents=1, bytes=60_000, longest=60_000, squares=60_000**2)
    >>> uncut(sizes, seconds=1.7, memory=7e6, why="takes time in proportion to its square")
    'pre_tokenization: none makes one piece of the longest document (60,000 bytes), which takes time in proportion to its square: about 2 s and 10 MB for this text; set pre_tokenization, or cut the text into lines'
    """
    return (
        f"pre_tokenization: none makes one piece of the longest document ({sizes.longest:,} "
        f"bytes), which {why}: about {_duration(seconds)} and {_memory(memory)} for this text; "
        "set pre_tokenization, or cut the text into lines"
    )


def _duration(seconds: float) -> str:
    """Write a rough time.

    >>> _duration(0.2), _duration(48), _duration(500), _duration(90_000)
    ('1 s', '48 s', '8 min', '25 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def _memory(n_bytes: float) -> str:
    tens = 10 * max(1, round(n_bytes / 1e7))
    return f"{tens} MB" if tens < 1000 else f"{n_bytes / 1e9:.1f} GB"


SpecialTokens = Annotated[tuple[str, ...], AfterValidator(_checked)]
"""The option `special_tokens` of a trainer, in the order of their ids."""


def require_special_token(token: str, special_tokens: Iterable[str], what: str) -> None:
    """Refuse a list of special tokens without the one an algorithm cannot do without."""
    known = list(special_tokens)
    if token not in known:
        raise TrainingError(
            f"special_tokens must name {token!r}, {what}; it has: {', '.join(known) or 'none'}"
        )
