"""Asking a tokenizer that may not survive the question.

`bench.examine.Subject` asks in this process, which a library that aborts, hangs or eats memory
takes with it. `Guarded` asks the same in a process of its own, replaced when it is lost: a text
that cost a process is answered with `Lost`, the others with their ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from bench import heartbeat
from bench.environment import Stopwatch
from bench.examine import Asked, Examination, Subject
from bench.limits import Limits
from bench.loading import TokenizerSource
from bench.pool import Loss, Settle, TryAgain, Workers
from bench.worker import loaded

Answer = tuple[int, ...] | str
"""Ids, or what the library failed with."""

CHUNK_BYTES = 1 << 18
"""UTF-8 bytes of the texts that go to the process at once."""


class Lost(str):
    """A failure that cost the process: why it ended."""


@dataclass(frozen=True, kw_only=True)
class AskTask:
    """Some texts to encode in a process that may be lost."""

    source: TokenizerSource
    texts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    one_by_one: bool = False
    lost_texts: Mapping[int, str] = field(default_factory=dict)
    """Texts that ended a process, and how; they are not tried again."""
    tries: int = 0

    @property
    def group(self) -> str:
        """One process per tokenizer."""
        return self.source.key

    @property
    def memory(self) -> int:
        """Resident bytes above which the process is ended."""
        return self.limits.memory

    def lost(self, loss: Loss) -> TryAgain | Settle:
        """Find the text that cost the process, and go on without it."""
        match loss.place:
            case ("texts",):
                return TryAgain(task=replace(self, one_by_one=True))
            case ("text", int(at)):
                return self._without(at, loss.reason)
        if loss.kind == "died" and not self.tries:  # perhaps ended from outside
            return TryAgain(task=replace(self, tries=1))
        return Settle(outcome=self.hopeless(f"{loss.reason} while it was loaded"))

    def _without(self, at: int, reason: str) -> TryAgain | Settle:
        lost = {**self.lost_texts, at: reason}
        if len(lost) < self.limits.lost_documents:
            return TryAgain(task=replace(self, lost_texts=lost))
        return Settle(outcome=self.hopeless(f"given up after {len(lost)} texts: {reason}"))

    def hopeless(self, reason: str) -> list[Answer]:
        """Return the answer for every text where none could be had."""
        return [Lost(self.lost_texts.get(at, reason)) for at in range(len(self.texts))]


def encode(task: AskTask) -> list[Answer]:
    """Return the answer for each text; raise `TokenizerError` when the tokenizer does not load."""
    subject = _subject(task)
    if not task.one_by_one:
        heartbeat.at("texts", seconds=task.limits.seconds)
        return subject.ids(task.texts)
    answers: list[Answer] = []
    for at, text in enumerate(task.texts):
        if at in task.lost_texts:
            answers.append(Lost(task.lost_texts[at]))
        else:
            heartbeat.at("text", at, seconds=task.limits.seconds)
            answers += subject.ids([text])
    return answers


def spellings(task: AskTask) -> frozenset[str] | list[Answer]:
    """Return how special tokens are spelled; no text is encoded."""
    return _subject(task).spellings


def _subject(task: AskTask) -> Subject:
    return Subject(key=task.source.key, tokenizer=loaded(task.source, task.limits, Stopwatch()))


class Guarded:
    """A tokenizer in a process of its own that answers for every text; use as a context manager.

    `on_loss` is told, in words, of every process that was lost.
    """

    def __init__(
        self,
        source: TokenizerSource,
        limits: Limits,
        asked: Asked,
        on_loss: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.key = source.key
        self._task = AskTask(source=source, limits=limits)
        self._asked = asked
        self._workers = Workers(1, on_loss=on_loss)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    @cached_property
    def spellings(self) -> frozenset[str]:
        """How its special tokens are spelled; empty where it does not say, or does not load."""
        return frozenset(self._workers.submit(spellings, self._task).result())

    def ids(self, texts: Sequence[str]) -> list[Answer]:
        """Return the ids of each text, or in their place what the library failed with.

        Raises `TokenizerError` when the tokenizer cannot be loaded.
        """
        self._asked.add(texts)
        answers: list[Answer] = []
        for chunk in _chunks(texts):
            task = replace(self._task, texts=chunk)
            answers += self._workers.submit(encode, task).result()
        return answers


def guarded(examination: Examination, key: str) -> Guarded:
    """Return a tokenizer of a run, guarded; what it is asked counts as the suite's own questions."""
    source = examination.sources[key]
    return Guarded(source, examination.limits, examination.asked, on_loss=examination.progress)


def _chunks(texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Cut texts into runs of about `CHUNK_BYTES`.

    >>> [len(chunk) for chunk in _chunks(["x" * 100_000] * 7)]
    [3, 3, 1]
    """
    chunk: list[str] = []
    size = 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= CHUNK_BYTES:
            yield tuple(chunk)
            chunk, size = [], 0
    if chunk:
        yield tuple(chunk)
