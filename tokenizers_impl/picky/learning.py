"""PickyBPE: after each merge, parts that hardly occur any more on their own are dropped.

Chizhov, Arnett, Korotkova and Yamshchikov 2024 (arXiv 2409.04599). When a pair is joined n times
and a part of it is left f times outside of it, the part's *intersection over self* is n / (f + n):
the share of its occurrences that were in this pair. Above the threshold the part is dropped: what
is left of it falls into the parts it was made of. Its place in the vocabulary is free again, and
training goes on until so many entries are there. With a threshold of 1 nothing is dropped.

The rules in detail, those of the published program where the paper leaves a choice:

- the left part is judged first, then the right one, both after the merge; bytes always stay;
- a token is its bytes: a pair that makes bytes which are known gives the same token, and one that
  was dropped is there again;
- a token falls into the two it was first made of, and where one of these is gone, into its parts;
- counts and ties are those of `byte_bpe.merges`.

Drops can undo what merges did, and a low threshold could go on for ever; training ends after
`MOST_EVENTS` events for each wanted entry. `textbook_picky` is the definition; `picky_events`
learns the same without counting everything anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tokbench.bench.plugins import MergeEvent, Trace
from tokbench.tokenizers_impl.byte_bpe.learning import Learning, Occurring, Ties
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces, Positions
from tokbench.tokenizers_impl.byte_bpe.shared_tokens import SharedTokens
from tokbench.tokenizers_impl.picky.events import DropEvent, Event, JoinEvent, changed, parts_there

MOST_EVENTS = 10
"""Events for each wanted entry after which training ends."""

Picked = tuple[tuple[bytes, ...], list[Event]]
"""The bytes of every token by number, and what happened."""


def textbook_picky(
    pieces: Pieces,
    n_entries: int,
    threshold: float,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
) -> Picked:
    """Learn up to `n_entries` entries beside the bytes, counting everything anew in each step.

    >>> words = {b"abc": 9, b"ab": 1}
    >>> contents, events = textbook_picky(words, 2, 0.8, min_frequency=2)
    >>> contents[256:], events
    ((b'ab', b'abc'), [JoinEvent(left=97, right=98, token=256), JoinEvent(left=256, right=99, token=257), \
DropEvent(token=256, parts=(97, 98))])
    """
    words = {piece: list(piece) for piece in pieces}
    contents = [bytes([byte]) for byte in range(256)]
    number = {data: i for i, data in enumerate(contents)}
    made_of: dict[int, tuple[int, int]] = {}
    there, events = set(range(256)), list[Event]()

    def carry_out(event: Event) -> None:
        events.append(event)
        for piece, tokens in words.items():
            words[piece] = changed(tokens, event)

    def count_of(token: int) -> int:
        return sum(pieces[piece] * tokens.count(token) for piece, tokens in words.items())

    while len(there) < 256 + n_entries and len(events) < MOST_EVENTS * n_entries:
        pairs: Counter[tuple[int, int]] = Counter()
        for piece, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] += pieces[piece]
        if not pairs or max(pairs.values()) < min_frequency:
            break
        if ties == "smallest":
            left, right = min(pairs, key=lambda p: (-pairs[p], contents[p[0]], contents[p[1]]))
        else:
            left, right = max(pairs, key=pairs.__getitem__)
        data = contents[left] + contents[right]
        token = number.setdefault(data, len(contents))
        if token == len(contents):
            contents.append(data)
            made_of[token] = left, right
        before = count_of(token)
        carry_out(JoinEvent(left, right, token))
        joined = count_of(token) - before
        there.add(token)
        for part in dict.fromkeys((left, right)):
            if part >= 256 and joined > threshold * (joined + count_of(part)):
                there.remove(part)
                carry_out(DropEvent(part, parts_there(part, made_of, there)))
    return tuple(contents), events


# --- fast -----------------------------------------------------------------------------------------


def picky_events(
    pieces: Pieces,
    n_entries: int,
    threshold: float,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> Picked:
    """Learn what `textbook_picky` learns."""
    state = _PickyLearning(pieces, max(1, min_frequency), ties)
    events: list[Event] = []
    merges = 0
    while len(state.there) < 256 + n_entries and len(events) < MOST_EVENTS * n_entries:
        best = state.best()
        if best is None:
            break
        count, pair, positions = best
        if trace is not None:
            trace(_event(state, merges, pair, count))
        merges += 1
        joined, event = state.carry_out(pair, positions)
        events.append(event)
        for part in dict.fromkeys((pair.left, pair.right)):
            if part >= 256 and joined > threshold * (joined + state.counts[part]):
                events.append(state.drop(part))
    return tuple(state.token_bytes), events


def _event(state: Learning, rank: int, pair: Occurring, count: int) -> MergeEvent:
    left, right = state.token_bytes[pair.left], state.token_bytes[pair.right]
    return MergeEvent(
        rank=rank, left=left, right=right, token=left + right, count=count, rivals=state.rivals
    )


class _PickyLearning(SharedTokens):
    """The fast trainer, with drops, after which old tokens come to stand side by side too."""

    def __init__(self, pieces: Pieces, min_frequency: int, ties: Ties) -> None:
        super().__init__(pieces, min_frequency, ties)
        self.made_of: dict[int, tuple[int, int]] = {}
        self.there = set(range(256))
        held = self.symbols >= 0
        found = np.bincount(self.symbols[held], weights=self.weights[held], minlength=256)
        self.counts = [int(n) for n in found]

    def carry_out(self, pair: Occurring, at: Positions) -> tuple[int, JoinEvent]:
        """Join a pair; return how often."""
        left, right = pair.left, pair.right
        token, joined = self.join_as_one(pair, at)
        if token == len(self.counts):
            self.made_of[token] = left, right
            self.counts.append(0)
        self.counts[left] -= joined
        self.counts[right] -= joined
        self.counts[token] += joined
        self.there.add(token)
        return joined, JoinEvent(left, right, token)

    def drop(self, token: int) -> DropEvent:
        """Turn a token into parts wherever it stands."""
        self.there.remove(token)
        parts = parts_there(token, self.made_of, self.there)
        # a token of several bytes is written at both its ends
        at = np.flatnonzero(self.symbols == token)[::2].astype(np.int32)
        starts: list[int] = []
        place = at
        for part in parts:
            length = int(self.lengths[part])
            self.symbols[place] = part
            self.symbols[place + (length - 1)] = part
            starts += place.tolist()
            self.counts[part] += self.counts[token]
            place = place + np.int32(length)
        self.counts[token] = 0
        self.renew([*self.before(at), *starts])
        return DropEvent(token, parts)


def with_drops(
    contents: Sequence[bytes], merges: Sequence[tuple[int, int, int]], unwanted: Sequence[int]
) -> list[Event]:
    """Return merges as events, followed by drops of tokens, the last made first.

    >>> contents = [*(bytes([b]) for b in range(256)), b"ab", b"abc"]
    >>> with_drops(contents, [(97, 98, 256), (256, 99, 257)], [256])
    [JoinEvent(left=97, right=98, token=256), JoinEvent(left=256, right=99, token=257), \
DropEvent(token=256, parts=(97, 98))]
    """
    made_of: dict[int, tuple[int, int]] = {}
    for left, right, token in merges:
        made_of.setdefault(token, (left, right))
    there = set(range(len(contents))).difference(unwanted)
    events: list[Event] = [JoinEvent(*merge) for merge in merges]
    return [*events, *(DropEvent(t, parts_there(t, made_of, there)) for t in unwanted)]
