"""Viterbi's algorithm for many words at once, in NumPy: how unseen words are cut quickly.

Words of similar length are the rows of a matrix. Pieces are found for all places of all rows
together, by walking a trie whose edges lie in one hash table; then the best way to reach each
column is taken for all rows together. Sums are in double precision; each result says by how much
the best cut leads, so that the caller can tell where single precision would decide otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.hash_table import HashTable

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NO_CHARACTER = 0x110000
"""Fills rows up; one more than the last code point."""

CHARACTER_BITS = 21
MAX_CELLS = 1 << 21
"""Places × lengths of pieces that are looked at together; bounds memory at about 30 MB."""


Cutting = tuple[list[int], float, float]
"""The best cut of one word: ids, score, and its lead over the next best."""


class BatchCutter:
    """Pieces as a trie in arrays.

    >>> cutter = BatchCutter({"a": 1, "b": 2, "ab": 3}, [-1.0, -2.0, -2.5],
    ...     unknown_id=0, unknown_score=-12.5)
    >>> list(cutter.cut(["ab", "bab", "ax"]))
    [('ab', ([3], -2.5, 0.5)), ('ax', ([1, 0], -13.5, inf)), ('bab', ([2, 3], -4.5, 0.5))]
    """

    def __init__(
        self,
        ids: Mapping[str, int],
        scores: Sequence[float],
        *,
        unknown_id: int,
        unknown_score: float,
    ) -> None:
        """Take each piece with its id, and its score at the same place of `scores`."""
        self.longest = max(map(len, ids), default=1)
        self._unknown_id = unknown_id
        self._unknown_score = unknown_score
        keys = self._number_states(list(ids), list(ids.values()), np.asarray(scores, np.float64))
        self._states = HashTable(capacity=len(keys))
        self._states.add(np.arange(1, len(keys)), keys[1:].view(np.uint64))

    def cut(self, words: Sequence[str]) -> Iterator[tuple[str, Cutting]]:
        """Yield each word with its best cut, shorter ones first; among equal sums the leftmost
        start wins."""
        ordered = sorted(words, key=len)
        begin = 0
        while begin < len(ordered):
            end = begin + 1
            while end < len(ordered) and self._fits(end + 1 - begin, ordered[end], ordered[begin]):
                end += 1
            yield from self._cut_rows(ordered[begin:end])
            begin = end

    def _fits(self, n_rows: int, word: str, shortest: str) -> bool:
        # rows are filled up to the longest: not more than by about a third, or a few places
        cells = n_rows * len(word) * self.longest
        return cells <= MAX_CELLS and 3 * len(word) <= 4 * len(shortest) + 12

    def _cut_rows(self, words: list[str]) -> Iterator[tuple[str, Cutting]]:
        sizes = np.array([len(word) for word in words])
        width = int(sizes[-1])
        flat = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
        characters = np.full((len(words), width), NO_CHARACTER, np.int64)
        characters[np.arange(width) < sizes[:, None]] = flat
        scores, ids = self._pieces_by_end(characters)
        reached, lead, took = self._best_ways(scores)
        yield from zip(words, self._cuttings(sizes, ids, reached, lead, took), strict=True)

    def _pieces_by_end(
        self, characters: Ints
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]:
        """Return score and id of the piece in each row that ends at a column and starts at one of
        the `longest` columns before it; shape (rows, columns + 1, longest)."""
        rows, width = characters.shape
        longest = self.longest
        scores = np.full((rows, width + 1, longest), -np.inf, np.float32)
        ids = np.full((rows, width + 1, longest), self._unknown_id, np.int32)
        row, column = np.nonzero(characters != NO_CHARACTER)
        state = np.zeros(len(row), np.int64)
        known = np.zeros((rows, width), np.bool_)
        for length in range(1, min(longest, width) + 1):
            last = column + length - 1
            inside = last < width
            row, column, state, last = row[inside], column[inside], state[inside], last[inside]
            state = self._next(state, characters[row, last])
            found = state >= 0
            row, column, state = row[found], column[found], state[found]
            is_piece = self._ids[state] >= 0
            at = row[is_piece], column[is_piece] + length, longest - length
            scores[at] = self._scores[state[is_piece]]
            ids[at] = self._ids[state[is_piece]]
            if length == 1:
                known[row[is_piece], column[is_piece]] = True
        row, column = np.nonzero(~known & (characters != NO_CHARACTER))
        scores[row, column + 1, longest - 1] = self._unknown_score
        return scores, ids

    def _best_ways(self, scores: npt.NDArray[np.float32]) -> tuple[Floats, Floats, Ints]:
        rows, columns, longest = scores.shape
        best = np.full((rows, longest + columns), -np.inf)  # `longest` columns to look back into
        best[:, longest] = 0.0
        lead = np.full((rows, columns), np.inf)
        took = np.zeros((rows, columns), np.int64)
        everything = np.arange(rows)
        for end in range(1, columns):
            sums = best[:, end : end + longest] + scores[:, end]
            choice = sums.argmax(axis=1)  # the first of equals: the leftmost start
            highest = sums[everything, choice]
            sums[everything, choice] = -np.inf
            best[:, longest + end] = highest
            with np.errstate(invalid="ignore"):  # columns beyond a word: minus infinity twice
                lead[:, end] = highest - sums.max(axis=1)
            took[:, end] = choice
        return best[:, longest:], lead, took

    def _cuttings(
        self, sizes: Ints, ids: npt.NDArray[np.int32], reached: Floats, lead: Floats, took: Ints
    ) -> list[Cutting]:
        rows = np.arange(len(sizes))
        scores = reached[rows, sizes].tolist()
        end, leads, found = sizes.copy(), np.full(len(sizes), np.inf), []
        while end.any():
            choice = took[rows, end]
            on = end > 0
            leads = np.where(on, np.minimum(leads, lead[rows, end]), leads)
            found.append(np.where(on, ids[rows, end, choice], -1))
            end = np.where(on, end - (self.longest - choice), 0)
        table = np.stack(found[::-1], axis=1)  # each word's ids at the right, after -1s
        counts = (table >= 0).sum(axis=1).tolist()
        return [
            (row[-n:], score, least)
            for row, n, score, least in zip(
                table.tolist(), counts, scores, leads.tolist(), strict=True
            )
        ]

    def _number_states(self, pieces: list[str], ids: list[int], scores: Floats) -> Ints:
        """Number the beginnings of pieces, shorter ones first; return the edge into each.

        State 0 is the empty beginning. An edge is a state and a character in one number.
        """
        sizes = np.array([len(piece) for piece in pieces], np.int64)
        starts = np.cumsum(sizes) - sizes
        text = np.frombuffer("".join(pieces).encode("utf-32-le"), np.uint32).astype(np.int64)
        state = np.zeros(len(pieces), np.int64)
        edges = [np.zeros(1, np.int64)]
        final = []
        n_states = 1
        alive = np.arange(len(pieces))
        for length in range(1, self.longest + 1):
            alive = alive[sizes[alive] >= length]
            keys = state[alive] << CHARACTER_BITS | text[starts[alive] + length - 1]
            found, number = np.unique(keys, return_inverse=True)
            state[alive] = n_states + number
            n_states += len(found)
            edges.append(found)
            ending = alive[sizes[alive] == length]
            final.append(ending)
        self._ids = np.full(n_states, -1)
        self._scores = np.full(n_states, -np.inf)
        pieces_in_order = np.concatenate([*final, np.zeros(0, np.int64)])
        self._ids[state[pieces_in_order]] = np.array(ids, np.int64)[pieces_in_order]
        self._scores[state[pieces_in_order]] = scores[pieces_in_order]
        return np.concatenate(edges)

    def _next(self, state: Ints, character: Ints) -> Ints:
        """Return the state after one more character, -1 where no piece begins that way."""
        edge = (state << CHARACTER_BITS | character).view(np.uint64)
        states: Ints = self._states.find(edge)
        return states
