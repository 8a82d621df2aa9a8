"""Learning merges where a token is its bytes: two pairs that make the same bytes make one token.

`Learning` numbers a new token for each merge, and rests on a pair's positions being complete from
the start. That holds for tokens that are new and fails where old ones come to stand side by side:
where a token that is known is made again. Such pairs are set up anew with all their positions
(`renew`); what the heap and the blocks still hold of them is out of date.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokbench.tokenizers_impl.byte_bpe.learning import Begun, Learning, Occurring, Ties
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces, Positions


class SharedTokens(Learning):
    """The fast trainer over tokens that are their bytes.

    >>> state = SharedTokens({b"xabc": 9, b"abc": 1, b"ab": 20, b"xa": 30}, 1, "smallest")
    >>> tokens = []
    >>> while (best := state.best()) is not None:
    ...     count, pair, positions = best
    ...     token, _ = state.join_as_one(pair, positions)
    ...     tokens.append((state.token_bytes[token], count))
    >>> tokens
    [(b'xa', 39), (b'ab', 21), (b'bc', 9), (b'xabc', 9), (b'abc', 1)]
    """

    def __init__(
        self, pieces: Pieces, min_frequency: int, ties: Ties, *, begun: Begun | None = None
    ) -> None:
        self.renewed: dict[tuple[int, int], Occurring] = {}
        super().__init__(pieces, min_frequency, ties, begun=begun, keep_rare=True)
        self.number = {data: i for i, data in enumerate(self.token_bytes)}

    def is_current(self, pair: Occurring) -> bool:
        """Return whether a pair has not been set up anew since."""
        return self.renewed.get((pair.left, pair.right), pair) is pair

    def join_as_one(self, pair: Occurring, at: Positions) -> tuple[int, int]:
        """Join a pair; return the token, which may be known, and how often they were joined."""
        data = self.token_bytes[pair.left] + self.token_bytes[pair.right]
        token = self.number.get(data)
        if token is None:
            token = self.number[data] = len(self.token_bytes)
            return token, self.join(pair, at)
        at = self.write(pair, at, token)
        self.renew([*self.before(at), *at.tolist()])
        return token, int(self.weights[at].sum())

    def before(self, at: Positions) -> list[int]:
        """Return where the tokens before these places start."""
        before = self.symbols[at - 1]
        held = before >= 0
        starts: list[int] = (at[held] - self.lengths[before[held]]).tolist()
        return starts

    def renew(self, starts: Sequence[int]) -> None:
        """Set up anew the pairs whose left tokens start at these places."""
        at = np.unique(np.array(starts, np.int32))
        left = self.symbols[at]
        right = self.symbols[at + self.lengths[left]]
        held = right >= 0
        at, left, right = at[held], left[held], right[held]
        for a, b in sorted(set(zip(left.tolist(), right.tolist(), strict=True))):
            new = at[(left == a) & (right == b)]
            old = self.renewed.get((a, b))
            known = self.occurrences_of(a, b) if old is None else self.occurrences(old)
            pair = Occurring(a, b, np.union1d(known, new))
            self.renewed[a, b] = pair
            self.put(int(self.weights[pair.positions].sum()), pair)
