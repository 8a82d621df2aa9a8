"""Ways to ask an engine for the same texts, all of which must give the same ids.

Batches of other shapes, other orders, the same call again, another call for one text, more
threads: an engine that answers one of them otherwise has state, or cuts texts between threads.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tokbench.bench.count.tally import CellKey
from tokbench.bench.markup import plural
from tokbench.bench.model import Finding, HasSingleCall, HasThreads, Measurement, MetricSpec
from tokbench.bench.run.probe import Subject
from tokbench.suites.witnesses.shrink import shrink
from tokbench.suites.witnesses.suite import shown

DIFFERING_BY_WAY = MetricSpec(
    name="texts_differing_by_way",
    unit="texts",
    direction="lower",
    additive=True,
    definition="Texts of a corpus (documents drawn, and what they make up joined and cut at drawn "
    "places) for which an engine gives other ids when it is asked in another way than in one batch on "
    "one thread; params name the way.",
    formula="|{text : ids(engine, text, way) ≠ ids(engine, text)}|",
    source="tokbench.",
    not_meant="That the ids of the plain call are right: see nonconforming_texts.",
    trap="Trying threads on short texts only: engines cut long texts between threads.",
)
THREADS = (2, 8)
CUTS = 3
JOINED = 100_000
"""Code points of joined documents, at most."""

Answer = tuple[int, ...] | str
Ask = Callable[[Sequence[str]], list[Answer]]


def joined_and_cut(texts: Sequence[str], seed: str) -> list[str]:
    """Return the texts as one, and what is before and after each of a few drawn places of it.

    >>> whole, *parts = joined_and_cut(["ab", "cd"], "0")
    >>> whole, len(parts), "".join(parts[:2]) == whole
    ('ab\\ncd', 6, True)
    """
    whole = "\n".join(texts)[:JOINED]
    if len(whole) < 2:
        return [whole]
    rng = random.Random(seed)
    places = [rng.randrange(1, len(whole)) for _ in range(CUTS)]
    return [whole, *(part for at in places for part in (whole[:at], whole[at:]))]


def ways_of(subject: Subject, seed: str) -> Mapping[str, Ask]:
    """Return the ways in which a tokenizer can be asked, each giving the answers in order."""

    def in_batches(size: int) -> Ask:
        return lambda texts: [
            answer
            for start in range(0, len(texts), size)
            for answer in subject.ids(texts[start : start + size])
        ]

    def in_order(order: Callable[[int], list[int]]) -> Ask:
        def ask(texts: Sequence[str]) -> list[Answer]:
            places = order(len(texts))
            answers = subject.ids([texts[i] for i in places])
            by_place = dict(zip(places, answers, strict=True))
            return [by_place[i] for i in range(len(texts))]

        return ask

    ways: dict[str, Ask] = {
        "one_by_one": in_batches(1),
        "batches_of_7": in_batches(7),
        "reversed": in_order(lambda n: list(range(n))[::-1]),
        "shuffled": in_order(lambda n: random.Random(seed).sample(range(n), n)),
        "again": subject.ids,
    }
    return ways | dict(_other_calls(subject))


def _other_calls(subject: Subject) -> Iterator[tuple[str, Ask]]:
    """Yield the tokenizer's calls for one text and for several threads, if it has them."""
    tokenizer = subject.tokenizer
    if isinstance(tokenizer, HasSingleCall):
        one = tokenizer.encode_one
        yield "single_call", partial(subject.ids, encode=lambda texts: [one(t) for t in texts])
    if isinstance(tokenizer, HasThreads):
        for threads in THREADS:
            encode = partial(tokenizer.encode_batch_on, threads=threads)
            yield f"threads_{threads}", partial(subject.ids, encode=encode)


@dataclass(frozen=True, kw_only=True)
class OtherIds:
    """The texts on which one way gives other ids: the shortest of them, and how many."""

    way: str
    texts: int
    text: str = ""
    plain: Answer = ()
    other: Answer = ()
    repeats: bool = True
    """Whether the text alone shows it, asked again."""

    def measurement(self, key: CellKey, n: int) -> Measurement:
        """Return the number of texts."""
        return Measurement(
            metric=DIFFERING_BY_WAY,
            tokenizer=key.tokenizer,
            corpus=key.corpus,
            language=key.language,
            value=float(self.texts),
            n=n,
            params={"way": self.way, "unit_of_n": "texts"},
        )

    def finding(self, key: CellKey) -> Finding:
        """Return the witness."""
        plain, other = (
            ids if isinstance(ids, str) else list(ids) for ids in (self.plain, self.other)
        )
        return Finding(
            kind="witness",
            reason="ids_differ",
            tokenizer=key.tokenizer,
            corpus=key.corpus,
            language=key.language,
            message=f"asked in another way ({self.way}), {key.tokenizer} gives other ids for "
            f"{shown(self.text)}{'' if self.repeats else ', among other texts'}: "
            f"{_short(other)} in place of {_short(plain)}; {plural(self.texts, 'text')}",
            data={
                "class": f"conformance:{self.way}",
                "text": self.text,
                "plain_ids": plain,
                "ids": other,
                "texts": self.texts,
                "repeats": self.repeats,
                "expected": False,
            },
        )


def other_ids(subject: Subject, texts: Sequence[str], seed: str) -> Iterator[OtherIds]:
    """Ask for texts in one batch and in every other way, and compare the ids."""
    plain = subject.ids(texts)
    for way, ask in ways_of(subject, seed).items():
        answers = ask(texts)
        differ = [i for i, (a, b) in enumerate(zip(plain, answers, strict=True)) if not _same(a, b)]
        if not differ:
            yield OtherIds(way=way, texts=0)
            continue
        shortest = min(differ, key=lambda i: len(texts[i]))
        example = _smallest(subject, ask, texts[shortest])
        text, before, after = example or (texts[shortest], plain[shortest], answers[shortest])
        yield OtherIds(
            way=way,
            texts=len(differ),
            text=text,
            plain=before,
            other=after,
            repeats=example is not None,
        )


def _smallest(subject: Subject, ask: Ask, text: str) -> tuple[str, Answer, Answer] | None:
    """Return a smallest part of a text that differs by itself, with both ids; None where none does."""

    def pairs(texts: Sequence[str]) -> list[tuple[Answer, Answer]]:
        return list(zip(subject.ids(texts), ask(texts), strict=True))

    small = shrink(text, lambda texts: [not _same(a, b) for a, b in pairs(texts)])
    if small is None:
        return None
    ((plain, other),) = pairs([small])
    return None if _same(plain, other) else (small, plain, other)


def _same(first: Answer, second: Answer) -> bool:
    """Two failures are the same, whatever they say."""
    return first == second or (isinstance(first, str) and isinstance(second, str))


def _short(answer: object) -> str:
    if isinstance(answer, list):
        return " ".join(map(str, answer[:8])) + (" …" if len(answer) > 8 else "")
    return str(answer)[:120]
