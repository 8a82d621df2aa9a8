"""The lines of a file that cost most, or that grew most since the base."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tokbench.bench.commands.budget.outcome import CostlyLines
from tokbench.bench.commands.budget.texts import Content, FilePair
from tokbench.bench.commands.one_text import try_each
from tokbench.bench.config.schema import Config
from tokbench.bench.model import Tokenizer
from tokbench.bench.workers.executors import Executor

MOST_LINES = 3
"""Places that are named in each file."""
_LONGEST = 2_000
"""Lines of a file that are compared; the time grows with their square."""


def dearest(
    config: Config, pairs: Sequence[tuple[str, FilePair]], executor: Executor
) -> list[CostlyLines]:
    """Return the dearest lines of some files, each under the tokenizer of a key."""
    found: list[CostlyLines] = []
    for key in dict.fromkeys(key for key, _ in pairs):
        mine = [pair for of, pair in pairs if of == key]
        texts = tuple((_text(pair.now), _text(pair.before)) for pair in mine)
        only = replace(config, tokenizers={key: config.tokenizers[key]})
        answers, _ = try_each(only, (), partial(lines_of, texts), executor)
        for pair, places in zip(mine, answers[0] if answers else (), strict=False):
            found += [CostlyLines(file=pair.file, tokenizer=key, **place) for place in places]
    return sorted(found, key=lambda one: (-one.growth, one.file, one.first))


def _text(content: Content | None) -> str | None:
    return None if content is None or content.why_not else content.text


Places = list[dict[str, int | None]]


def lines_of(
    texts: Sequence[tuple[str | None, str | None]], key: str, tokenizer: Tokenizer
) -> list[Places]:
    """Return the dearest places of each text, or those that grew most against another text."""
    return [_places(now, before, tokenizer) for now, before in texts]


def _places(now: str | None, before: str | None, tokenizer: Tokenizer) -> Places:
    sizes = None if now is None else line_tokens(now, tokenizer)
    if now is None or sizes is None:
        return []
    if before is None:
        found = list(_paragraphs(now, sizes))
    else:
        old = line_tokens(before, tokenizer)
        if old is None or max(len(sizes), len(old)) > _LONGEST:
            return []
        found = list(_changes(_lines(before), _lines(now), old, sizes))
    grown = [one for one in found if (one["tokens"] or 0) > (one["base_tokens"] or 0)]
    return sorted(grown, key=lambda p: (p["base_tokens"] or 0) - (p["tokens"] or 0))[:MOST_LINES]


def _lines(text: str) -> list[str]:
    """Return the lines of a text; only a line feed ends one.

    >>> _lines("a\\n\\nb")
    ['a', '', 'b']
    """
    return text.removesuffix("\n").split("\n")


def line_tokens(text: str, tokenizer: Tokenizer) -> list[int] | None:
    """Return the tokens that begin in each line; None where tokens are not the text's own bytes.

    They add up to the tokens of the text.
    """
    data = text.encode()
    ids = np.asarray(tokenizer.encode_batch([text])[0], dtype=np.int64)
    lengths = np.maximum(tokenizer.vocabulary.byte_lengths[ids], 0).astype(np.int64)
    if not tokenizer.byte_exact or int(lengths.sum()) != len(data):
        return None
    starts = np.cumsum(lengths) - lengths
    ends = np.cumsum([len(line.encode()) + 1 for line in _lines(text)])
    lines = np.minimum(np.searchsorted(ends, starts, side="right"), len(ends) - 1)
    return [int(n) for n in np.bincount(lines, minlength=len(ends))]


def _paragraphs(text: str, sizes: Sequence[int]) -> Iterator[dict[str, int | None]]:
    """Yield runs of lines between empty ones."""
    begin = 0
    for i, line in enumerate([*_lines(text), ""]):
        if line.strip():
            continue
        if i > begin:
            tokens = sum(sizes[begin:i])
            yield {"first": begin + 1, "last": i, "tokens": tokens, "base_tokens": None}
        begin = i + 1


def _changes(
    old: Sequence[str], new: Sequence[str], old_sizes: Sequence[int], new_sizes: Sequence[int]
) -> Iterator[dict[str, int | None]]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag != "equal":
            yield {
                "first": new_from + 1,
                "last": new_to,
                "tokens": sum(new_sizes[new_from:new_to]),
                "base_tokens": sum(old_sizes[old_from:old_to]),
            }
