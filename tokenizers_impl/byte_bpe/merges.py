"""Learn byte-level BPE merges from counted pieces: the textbook loop, and a fast twin.

The rules, which both follow to the letter:

- A piece weighs as often as it occurs; no pair reaches from one piece into the next.
- All neighbouring pairs count, overlapping ones too: ``aaaaa`` holds the pair (a, a) four times.
  Joining takes them from the left: ``aa aa a``.
- The pair with the highest count is joined next. Of equal counts, by `smallest`, the smallest pair
  of byte strings wins, left part first. That depends on nothing but the counts: not on the order of
  the texts, on a hash seed, on the number of threads, or on how ids are given out. By `first_seen`
  the pair wins that comes first when all pieces are read in their order, each from the left: what
  Python's ``max`` over a dict of counts gives, and so what most textbooks print.
- Learning ends at the wanted number of merges or when no pair occurs `min_frequency` times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tokbench.bench.plugins import Trace
from tokbench.tokenizers_impl.byte_bpe.learning import Begun, Learned, Learning, Ties, too_long
from tokbench.tokenizers_impl.byte_bpe.model import join_pair
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces

__all__ = ["Begun", "Learned", "Ties", "continued_merges", "fast_merges", "textbook_merges"]


# --- the textbook ---------------------------------------------------------------------------------


def textbook_merges(
    pieces: Pieces,
    n_merges: int,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    given: Sequence[Learned] = (),
    most_words: int | None = None,
) -> list[Learned]:
    """Learn merges by counting all pairs anew for each one.

    `given` merges are carried out first, and what is learned goes on from there. A token of more
    than `most_words` words is not made.

    >>> words = {b"lower": 5, b"lowest": 2, b"newest": 6}
    >>> textbook_merges(words, 1)
    [(119, 101, 13)]
    """
    words = {piece: list(piece) for piece in pieces}
    token_bytes = [bytes([byte]) for byte in range(256)]
    for left, right, _ in given:
        joined = (left, right, len(token_bytes))
        words = {piece: join_pair(ids, joined) for piece, ids in words.items()}
        token_bytes.append(token_bytes[left] + token_bytes[right])
    merges: list[Learned] = []
    while len(merges) < n_merges:
        counts: Counter[tuple[int, int]] = Counter()
        for piece, ids in words.items():
            for pair in pairwise(ids):
                counts[pair] += pieces[piece]
        for left, right in list(counts):
            if too_long(token_bytes[left] + token_bytes[right], most_words):
                del counts[left, right]
        if not counts or max(counts.values()) < min_frequency:
            break
        if ties == "smallest":
            left, right = min(
                counts, key=lambda p: (-counts[p], token_bytes[p[0]], token_bytes[p[1]])
            )
        else:
            left, right = max(counts, key=counts.__getitem__)
        merges.append((left, right, counts[left, right]))
        joined = (left, right, len(token_bytes))
        words = {piece: join_pair(ids, joined) for piece, ids in words.items()}
        token_bytes.append(token_bytes[left] + token_bytes[right])
    return merges


# --- the fast trainer -----------------------------------------------------------------------------


def fast_merges(
    pieces: Pieces,
    n_merges: int,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> list[Learned]:
    """Learn the merges that `textbook_merges` learns, without counting anything twice.

    All distinct pieces lie in one array. A pair knows the positions where it occurred when it
    appeared for the first time; since joining only ever removes occurrences, that list is complete
    for good, and its count is an upper bound. So the pair at the top of a heap is counted again
    when it comes up: if its count still holds it is joined, else it goes back with the new one.

    >>> fast_merges({b"lower": 5, b"lowest": 2, b"newest": 6}, 2)
    [(119, 101, 13), (115, 116, 8)]
    """
    return Learning(pieces, max(min_frequency, 1), ties).run(n_merges, trace)


def continued_merges(
    pieces: Pieces,
    n_merges: int,
    begun: Begun,
    *,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    most_words: int | None = None,
    trace: Trace | None = None,
) -> list[Learned]:
    """Learn further merges of tokens that are there; new ones are numbered after them.

    >>> begun = Begun(token_bytes=[bytes([b]) for b in range(256)], cut=list)
    >>> continued_merges({b"lower": 5, b"lowest": 2, b"newest": 6}, 2, begun)
    [(119, 101, 13), (115, 116, 8)]
    """
    training = Learning(pieces, max(min_frequency, 1), ties, begun=begun, most_words=most_words)
    return training.run(n_merges, trace)
