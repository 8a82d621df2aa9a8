"""Calls of a tokenizer's library that leave a failure in a text's place and never raise for it.

A library may raise on one of many texts: the call is made again on halves, down to the one that
fails. It may also take its process with it. Therefore calls are numbered, and before each the
process says where it is: in the next attempt the call that cost a process is made item by item,
and in the one after that without the item that did. From the first lost item on, all calls are
made item by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tokbench.bench.errors import TokenizerError, is_library_failure, named
from tokbench.bench.markup import visible
from tokbench.bench.workers import heartbeat

Item = TypeVar("Item")
Reply = TypeVar("Reply")
Call = Callable[[Sequence[Item]], Sequence[Reply]]

CALL_ITEMS, CALL_SIZE = 4096, 2**20
"""Items and their summed lengths in one call, at most (one item may be longer)."""

SHOWN = 60
"""Characters of a lost text, or ids, that are shown."""


class Lost(str):
    """Placeholder for an item that crashed its process; it is not tried again."""


@dataclass(frozen=True)
class LostItem:
    """An item that crashed its process."""

    tokenizer: str
    doing: str
    item: Sequence[object]

    def __str__(self) -> str:
        """Describe the item: a text is quoted, ids are listed."""
        if not isinstance(self.item, str):
            if isinstance(self.item[0], str):
                return f"one of {len(self.item)} texts"
            ids = " ".join(map(str, self.item[:SHOWN]))
            return f"the ids {ids}{' …' if len(self.item) > SHOWN else ''}"
        more = f" … ({len(self.item)} characters)" if len(self.item) > SHOWN else ""
        return f"the text '{visible(self.item[:SHOWN])}'{more}"


@dataclass(kw_only=True)
class Calls:
    """The calls of one piece of work, in an order that is the same in every attempt at it."""

    seconds: float | None = None
    """Seconds for one call before its process is killed; None without a limit."""
    careful: frozenset[int] = frozenset()
    """Numbers of calls that cost a process: made item by item."""
    lost: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Number of the call and place in it of each item that cost a process, and how."""
    made: int = 0
    met: dict[LostItem, Lost] = field(default_factory=dict)
    """The lost items, in the order of the calls."""

    @property
    def next_is_careful(self) -> bool:
        """Whether the next call crashed a process before."""
        return self.made in self.careful

    def each(
        self, tokenizer: str, doing: str, call: Call[Item, Reply], items: Sequence[Item]
    ) -> list[Reply | str]:
        """Return the answer to each item, or the library's failure in its place."""
        answers: list[Reply | str] = []
        for some in _portions(items):
            number, self.made = self.made, self.made + 1
            if self.met or number in self.careful:
                answers += self._one_by_one(tokenizer, doing, call, some, number)
            else:
                heartbeat.at(
                    "call", tokenizer, number, seconds=self.seconds, limit="limits.seconds"
                )
                answers += _each(call, some)
        heartbeat.at("between", seconds=self.seconds, limit="limits.seconds")
        return answers

    def _one_by_one(
        self,
        tokenizer: str,
        doing: str,
        call: Call[Item, Reply],
        items: Sequence[Item],
        number: int,
    ) -> Iterator[Reply | str]:
        for place, item in enumerate(items):
            this = LostItem(tokenizer, doing, item)  # type: ignore[arg-type]
            if (number, place) in self.lost:
                self.met.setdefault(this, Lost(self.lost[number, place]))
            if this in self.met:
                yield self.met[this]
            else:
                heartbeat.at(
                    "item", tokenizer, number, place, seconds=self.seconds, limit="limits.seconds"
                )
                yield _each(call, [item])[0]


def _portions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut items into calls.

    >>> [len(some) for some in _portions(["a"] * 5000 + ["b" * CALL_SIZE, "c"])]
    [4096, 905, 1]
    """
    start = size = 0
    for at, item in enumerate(items):
        size += len(item)  # type: ignore[arg-type]
        if size >= CALL_SIZE or at + 1 - start >= CALL_ITEMS:
            yield items[start : at + 1]
            start, size = at + 1, 0
    if start < len(items):
        yield items[start:]


def _each(call: Call[Item, Reply], items: Sequence[Item]) -> list[Reply | str]:
    """Call on all items at once; where that fails, on halves, down to the one that fails."""
    try:
        answers = call(items)
        if len(answers) != len(items):
            raise TokenizerError(f"{len(answers)} answers for {len(items)} texts")
        return list(answers)
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        if len(items) == 1:
            return [named(exc)]
    half = len(items) // 2
    return _each(call, items[:half]) + _each(call, items[half:])
