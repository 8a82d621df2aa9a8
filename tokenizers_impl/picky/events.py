"""BPE with a way back: a model is a list of events, each of which joins a pair or drops a token.

A merge list cannot say that an entry is gone: ``entucky`` is needed to make ``Kentucky``, and of no
use after that. Here the list says both. A join turns a pair into a token, everywhere, from the
left. A drop turns a token into parts that are there, everywhere; it can be joined again later.

To encode a piece, start from its bytes and carry out all events in their order. That is how the
training text came to its tokens, so what encoding gives is defined, and a dropped token is never
given out. Entries that are there at the end have ids; the others have only a number.

`replayed` is this definition; `encoded` gives the same, skipping events that change nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """Return what `replayed` returns: always the next event that changes anything."""
    tokens, after = list(piece), -1
    while (at := _next_event(model, tokens, after)) is not None:
        tokens, after = changed(tokens, model.events[at]), at
    return tokens


def _next_event(model: EventModel, tokens: Sequence[int], after: int) -> int | None:
    known = [model.joins.get(pair, ()) for pair in set(pairwise(tokens))]
    if model.drops:
        known += [model.drops.get(token, ()) for token in set(tokens)]
    return min((found for events in known if (found := _first(events, after)) >= 0), default=None)


def _first(events: Sequence[int], after: int) -> int:
    i = bisect_right(events, after)
    return events[i] if i < len(events) else -1


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
