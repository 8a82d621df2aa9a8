"""Seed vocabulary of Unigram training: the frequent substrings of the words, found exactly.

Substrings of one length get numbers, those of the next length are pairs of such a number and one
more character, numbered anew; so equal substrings have equal numbers without any hashing, and the
numbers are in the order of the strings. A substring that occurs once cannot grow into one that
occurs twice, so each length has fewer places to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokbench.tokenizers_impl.unigram.lattice import Floats, Ints, Lattice, Numbers


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Pieces to start from, and how often each occurs."""

    text: str
    """All words one after the other."""
    begins: Ints
    lengths: Ints
    """Where in it a piece is found, and its characters; hundreds of thousands of strings would
    take ten times as much memory."""
    counts: Floats
    n_characters: int
    examples: Ints
    """For each piece the node of the lattice where one occurrence of it starts."""

    def __len__(self) -> int:
        return len(self.begins)

    def piece(self, number: int) -> str:
        """Return a piece: single characters come first, in code point order, then the others by
        count times length."""
        begin = int(self.begins[number])
        return self.text[begin : begin + int(self.lengths[number])]

    @property
    def pieces(self) -> list[str]:
        """All pieces."""
        return list(map(self.piece, range(len(self))))


@dataclass(frozen=True, kw_only=True)
class _Length:
    """Substrings of one length: where they are, which they are, how often they occur."""

    places: Numbers
    names: Numbers
    """Number of the substring at each place."""
    counts: Floats
    """By number."""
    grows: npt.NDArray[np.bool_]
    """By number: whether each occurrence is followed by the same character."""

    def examples(self) -> Ints:
        """Return the first place of each substring."""
        first = np.empty(len(self.counts), np.int64)
        first[self.names[::-1]] = self.places[::-1]
        return first


def find_seeds(words: Mapping[str, int], *, size: int, longest: int) -> tuple[Seeds, Lattice]:
    """Return all characters and the best substrings up to `size` pieces, and where they occur.

    A substring must occur twice, and not always within the same longer one that goes on to its
    right. The best have the highest count times length; ties go to the shorter, then to code
    point order.

    >>> seeds, lattice = find_seeds({"▁abab": 2, "▁ab": 1}, size=7, longest=4)
    >>> list(zip(seeds.pieces, seeds.counts.tolist()))
    [('a', 5.0), ('b', 5.0), ('▁', 3.0), ('ab', 5.0), ('▁ab', 3.0), ('abab', 2.0), ('bab', 2.0)]
    """
    ordered = sorted(words)  # whatever the order of the documents was
    weights = np.array([words[word] for word in ordered], np.float64)
    sizes = np.array([len(word) for word in ordered])
    text = np.frombuffer("".join(ordered).encode("utf-32-le"), np.uint32)
    word_of = np.repeat(np.arange(len(ordered), dtype=np.int32), sizes)
    room = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(text))  # characters to the end
    lengths = _lengths(text, room, weights[word_of], longest)
    return _seeds(ordered, sizes, weights, word_of, lengths, size)


def _lengths(
    text: npt.NDArray[np.uint32], room: Ints, weights: Floats, longest: int
) -> list[_Length]:
    alphabet, characters = np.unique(text, return_inverse=True)
    characters = characters.astype(np.int64)
    places, names = np.arange(len(text), dtype=np.int32), characters.astype(np.int32)
    counts: Floats = np.bincount(names, weights).astype(np.float64)
    lengths = []
    for length in range(2, longest + 2):
        going_on = (counts[names] >= 2) & (room[places] >= length)
        next_places = places[going_on]
        keys = names[going_on].astype(np.int64) * len(alphabet)
        keys += characters[next_places + (length - 1)]
        found, numbers = np.unique(keys, return_inverse=True)
        next_names = numbers.astype(np.int32)
        next_counts: Floats = np.bincount(
            next_names, weights[next_places], minlength=len(found)
        ).astype(np.float64)
        grows = np.zeros(len(counts), np.bool_)
        parents = found // len(alphabet)
        grows[parents[next_counts == counts[parents]]] = True
        lengths.append(_Length(places=places, names=names, counts=counts, grows=grows))
        places, names, counts = next_places, next_names, next_counts
    return lengths


def _seeds(
    words: Sequence[str],
    sizes: Ints,
    weights: Floats,
    word_of: Numbers,
    lengths: list[_Length],
    size: int,
) -> tuple[Seeds, Lattice]:
    n_characters = len(lengths[0].counts)
    chosen = _chosen(lengths, max(0, size - n_characters))
    begins, n_names = [], []
    counts, examples, sources, numbers = [], [], [], []
    # numbers of all pieces, by length and name; -1 where a substring is none
    for rank in chosen:
        found = lengths.pop(0)  # the places of each length are needed once, and are large
        number = rank.take(found.names)
        kept = number >= 0
        starts = found.places[kept] + word_of[found.places[kept]]
        sources.append(starts)
        numbers.append(number[kept])
        names = np.flatnonzero(rank >= 0)
        first = found.examples()[names]
        begins.append(first)
        n_names.append(len(first))
        counts.append(found.counts[names])
        examples.append(first + word_of[first])
    order = np.argsort(np.concatenate([r[r >= 0] for r in chosen]))
    n_edges = list(map(len, sources))
    source, piece = _joined(sources), _joined(numbers)
    nodes = sizes + 1
    last = np.cumsum(nodes) - 1
    lattice = Lattice(
        source=source,
        target=source + np.repeat(np.arange(1, len(n_edges) + 1, dtype=np.int32), n_edges),
        piece=piece,
        place=(np.arange(last[-1] + 1) - np.repeat(last - sizes, nodes)).astype(np.int32),
        first=last - sizes,
        last=last,
        weights=weights,
    )
    seeds = Seeds(
        text="".join(words),
        begins=np.concatenate(begins)[order],
        lengths=np.repeat(np.arange(1, len(n_names) + 1), n_names)[order],
        counts=np.concatenate(counts)[order],
        n_characters=n_characters,
        examples=np.concatenate(examples)[order],
    )
    return seeds, lattice


def _joined(parts: list[Numbers]) -> Numbers:
    """Return the parts as one array, and let go of them."""
    joined = np.concatenate(parts)
    parts.clear()
    return joined


def _chosen(lengths: list[_Length], size: int) -> list[Numbers]:
    """Return, by length and name, the number of each piece, -1 for what is not chosen."""
    ranks = [np.full(len(found.counts), -1, np.int32) for found in lengths]
    n_characters = len(ranks[0])
    ranks[0][:] = np.arange(n_characters)
    candidates = [np.flatnonzero((found.counts >= 2) & ~found.grows) for found in lengths[1:]]
    names = np.concatenate([*candidates, np.zeros(0, np.int64)])
    length = np.repeat(np.arange(2, len(lengths) + 1), [len(c) for c in candidates])
    score = np.concatenate(
        [f.counts[c] * n for n, (f, c) in enumerate(zip(lengths[1:], candidates, strict=True), 2)]
        or [np.zeros(0)]
    )
    best = np.lexsort((names, length, -score))[:size]
    numbers = n_characters + np.arange(len(best))
    for n, rank in enumerate(ranks[1:], 2):
        of_length = length[best] == n
        rank[names[best[of_length]]] = numbers[of_length]
    return ranks
