"""The grid of the throughput suite: which calls over which documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple
from zlib import crc32

from tokbench.bench.model import Place
from tokbench.bench.timing.cases import Block, Case, Grid, LeftOut
from tokbench.bench.timing.contest import Texts, Training
from tokbench.suites.throughput.options import Options

LATENCY = "latency"


class _Part(NamedTuple):
    """The documents of a corpus, a language of it, or those of some length."""

    corpus: str
    language: str | None
    length: str | None
    documents: tuple[str, ...]


def grid(options: Options, texts: Texts, training: Mapping[str, Training]) -> Grid:
    """Return the cases that the options ask for over the texts of a run."""
    cases: list[Case] = []
    left_out: list[LeftOut] = []
    taken: set[str] = set()
    for part in _parts(options, texts):
        for case in _with_documents(options, part, list(_shapes(options, part)), taken):
            if case.blocks and all(case.blocks):
                cases.append(case)
            else:
                left_out.append(LeftOut(case=case, reason=_why(options, case)))
    if "train" in options.phases:
        cases += _trainings(options, texts, training)
    return Grid(
        cases=tuple(cases),
        rounds=options.rounds,
        warm_ups=options.warm_ups,
        left_out=tuple(left_out),
    )


def _why(options: Options, case: Case) -> str:
    if case.sight == "first_sight":
        n = options.warm_ups + options.rounds
        return f"too few documents: each of {n} rounds needs some that no other has"
    return "no document is of this length"


def _parts(options: Options, texts: Texts) -> Iterator[_Part]:
    groups: dict[tuple[str, str | None], list[Iterable[str]]] = {}
    for (corpus, language), documents in texts.items():
        if options.languages is None or language in options.languages:
            by = language if options.by == "language" else None
            groups.setdefault((corpus, by), []).append(documents)
    for (corpus, by), several in groups.items():
        for label, low, high in _buckets(options):
            found = _of_length(interleaved(several), low, high)
            yield _Part(corpus, by, label, cut(found, _wanted_bytes(options)))


def _buckets(options: Options) -> Iterator[tuple[str | None, int, int]]:
    """Yield label, least and most bytes of the documents of each bucket."""
    most = 2**62
    if set(options.phases) & {"encode", "decode"}:
        bounds = [0, *options.lengths, most]
        for low, high in zip(bounds, bounds[1:], strict=False):
            yield _label(low, high, most), low + 1 if low else 0, high
    if LATENCY in options.phases:
        yield LATENCY, 1, options.latency_bytes


def _label(low: int, high: int, most: int) -> str | None:
    """Name a bucket by its bytes.

    >>> [_label(a, b, 99) for a, b in [(0, 99), (0, 8), (8, 16), (16, 99)]]
    [None, 'to_8', '9_to_16', 'over_16']
    """
    if high == most:
        return f"over_{low}" if low else None
    return f"{low + 1}_to_{high}" if low else f"to_{high}"


def _shapes(options: Options, part: _Part) -> Iterator[Case]:
    """Yield the cases of a part, without documents."""
    if part.length == LATENCY:
        yield Case(
            corpus=part.corpus,
            language=part.language,
            length=f"to_{options.latency_bytes}",
            phase="latency",
            call="single",
            blocks=(),
        )
        return
    for sight, call in product(options.texts, options.calls):
        # text at first sight is scarce: one batch of all of it, and one call for each document
        whole = call == "single" or sight == "first_sight"
        sizes = (None,) if whole else options.batch_sizes
        for size, threads in product(sizes, (1,) if whole else options.threads):
            for phase in options.phases:
                if phase == "encode" or (phase == "decode" and (sight, threads) == ("repeated", 1)):
                    yield Case(
                        corpus=part.corpus,
                        language=part.language,
                        length=part.length,
                        phase=phase,
                        call=call,
                        batch_size=size,
                        threads=threads,
                        sight=sight,
                        blocks=(),
                    )


def _with_documents(
    options: Options, part: _Part, cases: Sequence[Case], taken: set[str]
) -> Iterator[Case]:
    """Give cases their blocks; what is seen for the first time is seen once in a process.

    Where something is at first sight, a hash of each text tells whether it is kept for that or may
    be repeated, whatever case asks; `taken` are those that are given away. Documents are dealt like
    cards, so that all blocks have the same mix.
    """
    seen, unseen = list(part.documents), list[str]()
    if "first_sight" in options.texts:
        seen = [text for text in part.documents if not _is_kept(text)]
        unseen = [text for text in part.documents if _is_kept(text) and text not in taken]
    if part.length == LATENCY:
        seen = seen[: options.latency_texts]
    repeated: tuple[Block, ...] = (cut(seen, options.max_bytes),) if seen else ()
    rounds = options.warm_ups + options.rounds
    fresh = sum(case.sight == "first_sight" for case in cases)
    piles = _dealt(unseen, fresh * rounds) if fresh else []
    for case in cases:
        if case.sight == "repeated":
            yield replace(case, blocks=repeated)
        else:
            yield replace(case, blocks=tuple(piles[:rounds]))
            piles = piles[rounds:]
            taken.update(unseen)


def _is_kept(text: str) -> bool:
    return crc32(text.encode()) % 2 == 1


def _dealt(documents: Sequence[str], piles: int) -> list[Block]:
    """Deal documents into piles, one after the other.

    >>> _dealt("abcdef", 3)
    [('a', 'd'), ('b', 'e'), ('c', 'f')]
    """
    return [tuple(documents[start::piles]) for start in range(piles)]


def _wanted_bytes(options: Options) -> int:
    return options.max_bytes * (2 if "first_sight" in options.texts else 1)


def _trainings(options: Options, texts: Texts, training: Mapping[str, Training]) -> Iterator[Case]:
    """Yield one case for each corpus and choice of languages that something is trained on."""
    chosen = dict.fromkeys((t.corpus, tuple(t.languages)) for t in training.values())
    for corpus, languages in chosen:
        several = [texts[Place(corpus, language)] for language in languages]
        documents = cut(interleaved(several), options.max_bytes)
        yield Case(corpus=corpus, phase="train", blocks=(documents,))


def interleaved(several: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yield documents of each in turn, so that whatever is cut off holds all of them alike.

    >>> "".join(interleaved(["abc", "1", "xy"]))
    'a1xbyc'
    """
    waiting = [iter(documents) for documents in several]
    while waiting:
        for documents in list(waiting):
            try:
                yield next(documents)
            except StopIteration:
                waiting.remove(documents)


def _of_length(documents: Iterable[str], low: int, high: int) -> Iterator[str]:
    """Yield each document of a length once: a repeated one would not be at first sight."""
    seen: set[str] = set()
    for text in documents:
        if low <= len(text.encode()) <= high and text not in seen:
            seen.add(text)
            yield text


def cut(documents: Iterable[str], max_bytes: int) -> Block:
    """Return whole documents from the front until there are so many bytes.

    >>> cut(["aaa", "bbb", "ccc"], 4)
    ('aaa', 'bbb')
    """
    chosen: list[str] = []
    total = 0
    for text in documents:
        if total >= max_bytes:
            break
        chosen.append(text)
        total += len(text.encode())
    return tuple(chosen)
