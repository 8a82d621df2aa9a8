"""BPE with a way back: a model is a list of events, each of which joins a pair or drops a token.

A merge list cannot say that an entry is gone: ``entucky`` is needed to make ``Kentucky``, and of no
use after that. Here the list says both. A join turns a pair into a token, everywhere, from the
left. A drop turns a token into parts that are there, everywhere; it can be joined again later.

To encode a piece, start from its bytes and carry out all events in their order. That is how the
training text came to its tokens, so what encoding gives is defined, and a dropped token is never
given out. Entries that are there at the end have ids; the others have only a number.

`replayed` is this definition; `encoded` gives the same without going through events that change nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.byte_bpe.model import join_pair
from tokbench.tokenizers_impl.pretokenize import PreTokenization


@dataclass(frozen=True, slots=True)
class JoinEvent:
    """Two neighbours become one token."""

    left: int
    right: int
    token: int


@dataclass(frozen=True, slots=True)
class DropEvent:
    """A token becomes parts."""

    token: int
    parts: tuple[int, ...]


Event = JoinEvent | DropEvent


@dataclass(frozen=True, kw_only=True)
class EventModel:
    """All that decides the ids; tokens are numbered, 0 to 255 are the bytes.

    >>> m = EventModel(
    ...     token_bytes=(*(bytes([b]) for b in range(256)), b"ab", b"abc"),
    ...     events=(JoinEvent(97, 98, 256), JoinEvent(256, 99, 257), DropEvent(256, (97, 98))),
    ...     pre_tokenization=PreTokenization(name="none", pattern="", tokenizers_pattern=""),
    ... )
    >>> encoded(m, b"abcab"), m.ids[257]
    ([257, 97, 98], 256)
    """

    token_bytes: tuple[bytes, ...]
    """By number: also of tokens that have been dropped."""
    events: tuple[Event, ...]
    pre_tokenization: PreTokenization
    special_tokens: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def dropped(self) -> frozenset[int]:
        """The numbers of tokens that are not there at the end."""
        last = {event.token: isinstance(event, DropEvent) for event in self.events}
        return frozenset(token for token, is_drop in last.items() if is_drop)

    @cached_property
    def ids(self) -> dict[int, int]:
        """The id of each token that is there, by its number: in order, special ids left out."""
        taken = set(self.special_tokens.values())
        there = [n for n in range(len(self.token_bytes)) if n not in self.dropped]
        free = (i for i in range(len(there) + len(taken)) if i not in taken)
        return dict(zip(there, free, strict=False))

    @cached_property
    def joins(self) -> dict[tuple[int, int], list[int]]:
        """For each pair, which events join it."""
        found: dict[tuple[int, int], list[int]] = {}
        for at, event in enumerate(self.events):
            if isinstance(event, JoinEvent):
                found.setdefault((event.left, event.right), []).append(at)
        return found

    @cached_property
    def drops(self) -> dict[int, list[int]]:
        """For each token, which events drop it."""
        found: dict[int, list[int]] = {}
        for at, event in enumerate(self.events):
            if isinstance(event, DropEvent):
                found.setdefault(event.token, []).append(at)
        return found


def changed(tokens: Sequence[int], event: Event) -> list[int]:
    """Carry out one event.

    >>> changed([97, 97, 97], JoinEvent(97, 97, 256)), changed([256, 97], DropEvent(256, (97, 97)))
    ([256, 97], [97, 97, 97])
    """
    if isinstance(event, JoinEvent):
        return join_pair(tokens, (event.left, event.right, event.token))
    return list(chain.from_iterable(event.parts if t == event.token else (t,) for t in tokens))


def replayed(model: EventModel, piece: bytes) -> list[int]:
    """Return the tokens of a piece by carrying out every event: the definition, slow."""
    tokens = list(piece)
    for event in model.events:
        tokens = changed(tokens, event)
    return tokens


def encoded(model: EventModel, piece: bytes) -> list[int]:
    """Return what `replayed` returns, looking only at the events that change something."""
    return _PieceState(model, piece).tokens()


class _PieceState:
    """A piece on its way: the token that starts at each byte, -1 inside of tokens.

    The heap holds what can happen next: which event, and where. What happens makes new pairs and
    tokens, whose turn comes with their next event, so that all is done in the order of the list.
    """

    def __init__(self, model: EventModel, piece: bytes) -> None:
        self.model = model
        self.at = list(piece)
        self.length = [1] * len(piece)
        self.before = list(range(-1, len(piece) - 1))
        joins = model.joins
        self.heap = [
            (events[0], i) for i, pair in enumerate(pairwise(piece)) if (events := joins.get(pair))
        ]
        heapify(self.heap)

    def tokens(self) -> list[int]:
        """Carry out all events and return the tokens."""
        events = self.model.events
        while self.heap:
            number, i = heappop(self.heap)
            event = events[number]
            if isinstance(event, DropEvent):
                if self.at[i] == event.token:
                    self._place(number, i, event.parts)
                continue
            after = i + self.length[i]
            # what has changed since it was put in is out of date
            if self.at[i] == event.left and after < len(self.at) and self.at[after] == event.right:
                self.at[after] = -1
                self._place(number, i, (event.token,))
        return [token for token in self.at if token >= 0]

    def _place(self, number: int, start: int, parts: tuple[int, ...]) -> None:
        """Write tokens from a place on, and note what can happen to them after this event."""
        before, n = self.before[start], len(self.at)
        i = start
        for part in parts:
            self.at[i], self.length[i] = part, len(self.model.token_bytes[part])
            self.before[i], before = before, i
            self._wait(self.model.drops.get(part, ()), number, i)
            i += self.length[i]
        if i < n:
            self.before[i] = before
        first = self.before[start] if self.before[start] >= 0 else start
        while first < i and (second := first + self.length[first]) < n:
            pair = self.at[first], self.at[second]
            self._wait(self.model.joins.get(pair, ()), number, first)
            first = second

    def _wait(self, events: Sequence[int], number: int, i: int) -> None:
        following = bisect_right(events, number)
        if following < len(events):
            heappush(self.heap, (events[following], i))


def checked(model: EventModel) -> EventModel:
    """Return the model; raise `TokenizerError` where an event cannot be carried out."""
    contents, n = model.token_bytes, len(model.token_bytes)
    if contents[:256] != tuple(bytes([byte]) for byte in range(256)):
        raise TokenizerError("its first 256 tokens are not the bytes")
    for at, event in enumerate(model.events):
        parts = (event.left, event.right) if isinstance(event, JoinEvent) else event.parts
        if not all(isinstance(i, int) and 0 <= i < n for i in (*parts, event.token)):
            raise TokenizerError(f"event {at} names a token that does not exist")
        if event.token < 256 or b"".join(contents[i] for i in parts) != contents[event.token]:
            raise TokenizerError(f"event {at} changes the bytes of a text")
    ids = list(model.special_tokens.values())
    if not all(isinstance(i, int) and i >= 0 for i in ids) or len(set(ids)) < len(ids):
        raise TokenizerError("ids of special tokens must differ and be 0 or more")
    return model


def parts_there(
    token: int, made_of: Mapping[int, tuple[int, int]], there: Iterable[int]
) -> tuple[int, ...]:
    """Return the parts of a token that goes: those it was first made of, or their parts.

    >>> parts_there(258, {257: (97, 98), 258: (257, 99)}, {97, 98, 99})
    (97, 98, 99)
    """
    there = set(there)

    def walk(part: int) -> tuple[int, ...]:
        if part in there:
            return (part,)
        left, right = made_of[part]
        return (*walk(left), *walk(right))

    left, right = made_of[token]
    return (*walk(left), *walk(right))
