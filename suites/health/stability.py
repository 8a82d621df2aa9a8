"""Does the same text always get the same ids: alone, in batches, in any order, by threads, again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tokbench.bench.markup import plural
from tokbench.bench.model import HasThreads, Tokenizer
from tokbench.bench.run.probe import Subject
from tokbench.suites.health.verdict import HealthFinding, quoted
from tokbench.suites.witnesses.fuzz import fuzz

Answer = tuple[int, ...] | str

THREADS = 4


def texts_of(seed: int) -> list[str]:
    """Return the texts that are asked again and again: short, long, of many kinds."""
    words = "The quick brown fox jumps over 13 lazy dogs; naïve café, 東京, مرحبا, नमस्ते. "
    return [words, words * 20, "", " ", *(one.text for one in fuzz(seed, 6))]


def fingerprint_of(ids: Sequence[Answer]) -> str:
    """Return a hash over all ids, to compare between processes."""
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()


def check_stability(subject: Subject, seed: int) -> HealthFinding:
    """Compare the ids of one call with those of every other way to ask."""
    texts = texts_of(seed)
    first = subject.ids(texts)
    moved: dict[str, str] = {}
    for way, ask in _ways(subject, texts):
        again = ask()
        at = next((i for i, ids in enumerate(again) if ids != first[i]), None)
        if at is not None:
            moved[way] = texts[at]
    ways = "in one call, one by one, in batches of 7, in reverse order, again, in threads"
    if not moved:
        text = f"{plural(len(texts), 'text')} have the same ids {ways}"
        return HealthFinding(name="determinism", verdict="pass", text=text)
    way, text = next(iter(moved.items()))
    return HealthFinding(
        name="determinism",
        verdict="fail",
        text=f"other ids {', '.join(moved)}, such as those of {quoted(text)}",
        cost="nothing that was counted once can be relied on, and caches of ids are wrong",
        page="docs/conformance.md",
    )


def _ways(
    subject: Subject, texts: Sequence[str]
) -> Iterator[tuple[str, Callable[[], Sequence[Answer]]]]:
    yield "one by one", lambda: [subject.ids([one])[0] for one in texts]
    yield "in batches of 7", lambda: _in_batches(subject, texts, 7)
    yield "in reverse order", lambda: subject.ids(texts[::-1])[::-1]
    yield "asked again", lambda: subject.ids(texts)
    yield "in threads", lambda: _in_threads(subject, texts)


def _in_batches(subject: Subject, texts: Sequence[str], size: int) -> list[Answer]:
    found: list[Answer] = []
    for start in range(0, len(texts), size):
        found += subject.ids(texts[start : start + size])
    return found


def _in_threads(subject: Subject, texts: Sequence[str]) -> list[Answer]:
    """Ask by the library's own threads where it has some, else from several of Python's."""
    return subject.calls.each(subject.key, "encode", _threaded(subject.tokenizer), texts)


def _threaded(tokenizer: Tokenizer) -> Callable[[Sequence[str]], list[tuple[int, ...]]]:
    def by_threads(some: Sequence[str]) -> list[tuple[int, ...]]:
        if isinstance(tokenizer, HasThreads):
            return [tuple(map(int, ids)) for ids in tokenizer.encode_batch_on(list(some), THREADS)]
        with ThreadPoolExecutor(THREADS) as pool:
            answers = pool.map(lambda one: tokenizer.encode_batch([one])[0], some)
            return [tuple(map(int, ids)) for ids in answers]

    return by_threads
