"""The trie in arrays: every beginning of a string leads on, and nothing else does."""

from __future__ import annotations

import random

import numpy as np

from tokbench.tokenizers_impl.trie import Trie


def test_a_walk_goes_on_exactly_along_beginnings_of_strings() -> None:
    draw = random.Random(0)
    strings = sorted({"".join(draw.choices("abcé", k=draw.randint(1, 9))) for _ in range(20_000)})
    trie = Trie(strings)
    ends = dict(zip(trie.ends.tolist(), strings, strict=True))
    assert len(ends) == len(strings)
    beginnings = {string[:n] for string in strings for n in range(1, len(string) + 1)}
    words = ["".join(draw.choices("abcéxz", [5, 5, 5, 5, 1, 1], k=12)) for _ in range(500)]
    line, _ = trie.characters(words)
    for number, word in enumerate(words):
        at = 13 * number
        state = trie.first[line[at : at + 1]]
        for length in range(1, len(word) + 1):
            assert (state[0] >= 0) == (word[:length] in beginnings)
            if state[0] < 0:
                break
            assert ends.get(int(state[0])) == (word[:length] if word[:length] in strings else None)
            there, state = trie.step(state, line[at + length : at + length + 1])
            state = np.where(there, state, -1)


def test_no_beginning_is_taken_for_the_empty_one() -> None:
    """A beginning may lie in any slot, the first one too."""
    for number in range(2000):
        letters = "abcdefghij"
        string = "".join(letters[int(digit)] for digit in f"{number:04}") + "z"
        trie = Trie([string])
        assert trie.first[ord("z")] == -1
