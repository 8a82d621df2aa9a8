"""From documents to the marked words that the SentencePiece-style trainers count on.

The tokenizers read raw sentences. Training looks at words all the same, since no piece reaches
over a space, and each distinct word has to be looked at only once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import regex

from tokenizers_impl.sentencepiece_text import LITERAL, SPACE, TextOptions, WordSplitter, marked


def count_words(
    texts: Iterable[str], options: TextOptions, *, split_by_class: bool, split_digits: bool
) -> Counter[str]:
    """Count the words of all lines, each with the ``▁`` before it.

    With `split_by_class` a word ends where letters, digits and other characters meet; with
    `split_digits` each digit is a word.

    >>> words = count_words(["a, a 12"], TextOptions(), split_by_class=True, split_digits=False)
    >>> sorted(words.items())
    [(',', 1), ('▁12', 1), ('▁a', 2)]
    """
    splitter = WordSplitter([])
    words: Counter[str] = Counter()
    for text in texts:
        for line in text.split("\n"):
            words.update(splitter.split(marked(line, options)))
    if not (split_by_class or split_digits):
        return words
    pattern = _pattern(split_by_class, split_digits)
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for part in pattern.findall(word):
            parts[part] += count
    return parts


def _pattern(split_by_class: bool, split_digits: bool) -> regex.Pattern[str]:
    digits = r"\p{N}" if split_digits else r"\p{N}+"
    if split_by_class:
        return regex.compile(
            rf"{SPACE}?[\p{{L}}\p{{M}}]+|{SPACE}?{digits}|{SPACE}?[^\p{{L}}\p{{M}}\p{{N}}{SPACE}]+|{SPACE}"
        )
    return regex.compile(rf"{SPACE}?{digits}|{SPACE}?[^\p{{N}}{SPACE}]+|{SPACE}")


def covered_parts(words: Mapping[str, int], coverage: float) -> Counter[str]:
    """Cut words at characters that are too rare to be in the vocabulary.

    The most frequent characters are kept until they make up `coverage` of all; ties in code
    point order. A literal ▁ that is to become bytes is never kept.

    >>> sorted(covered_parts({"abxa": 5, "x": 1, "y": 1}, 0.9).items())
    [('abxa', 5), ('x', 1)]
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    counts.pop(LITERAL, None)
    needed, kept = coverage * sum(counts.values()), set()
    for character in sorted(counts, key=lambda c: (-counts[c], c)):
        if needed <= 0:
            break
        needed -= counts[character]
        kept.add(character)
    return _cut_at_others(words, kept)


def _cut_at_others(words: Mapping[str, int], kept: set[str]) -> Counter[str]:
    parts: Counter[str] = Counter()
    for word, count in words.items():
        if kept.issuperset(word):
            parts[word] += count
            continue
        for part in "".join(c if c in kept else LITERAL for c in word).split(LITERAL):
            if part:
                parts[part] += count
    return parts
