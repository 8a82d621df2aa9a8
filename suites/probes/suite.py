"""Small questions with known answers: numbers, indentation, spelling, casing, URLs, code.

Probes are strings, not a sample of text: they say how a tokenizer treats a kind of string, and
nothing about how often it occurs. The part on code reads the run's own code corpora.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from pydantic import Field

from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.probes import texts
from tokbench.suites.probes.code import CodeText, code_measurements, code_texts
from tokbench.suites.probes.pieces import Cut, cut
from tokbench.suites.probes.specs import (
    CODE_METRICS,
    HIDDEN,
    INDENT_TOKENS,
    NUMBER_CONSISTENCY,
    NUMBER_TOKENS,
    PROBE_TOKENS,
    RIGHT_ALIGNED,
    VARIANT_TOKENS,
    YEAR_TOKENS,
)
from tokbench.suites.rows import row


class Probes(TokenizerSuite):
    """Ask every tokenizer the same small questions, and look at code with a lexer.

    `code_bytes` is how much of each code slice is lexed: whole documents from the start until
    that many bytes are reached; 0 leaves code out.
    """

    code_bytes: int = Field(
        100_000,
        ge=0,
        description="Bytes of each code slice that are lexed, in whole documents; 0 leaves code "
        "out.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        NUMBER_TOKENS,
        NUMBER_CONSISTENCY,
        RIGHT_ALIGNED,
        YEAR_TOKENS,
        INDENT_TOKENS,
        HIDDEN,
        VARIANT_TOKENS,
        PROBE_TOKENS,
        *CODE_METRICS,
    )

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return what each tokenizer does with each probe."""
        code: list[CodeText] | None = None
        for subject in examination.subjects():
            yield from _numbers(subject, examination.seed)
            yield _years(subject)
            yield from _indents(subject)
            yield from _spelling(subject)
            yield from _variants(subject)
            yield from _strings(subject)
            if self.code_bytes:
                code = code_texts(examination, self.code_bytes) if code is None else code
                yield from code_measurements(examination, subject, code)


def _numbers(subject: Subject, seed: int) -> Iterator[Measurement | Finding]:
    examples = []
    for digits in range(1, texts.MAX_DIGITS + 1):
        cuts = cut(subject, texts.numbers(seed, digits))
        examples.append(cuts[0])
        params: dict[str, object] = {"digits": digits}
        yield _one(subject, NUMBER_TOKENS, _mean_tokens(cuts), len(cuts), params)
        placed = [c.places for c in cuts if c.places is not None]
        if not placed:
            why = Why("places_unknown", "where its tokens lie is not known")
            yield row(
                subject.key, NUMBER_CONSISTENCY, None, n=0, unit="strings", params=params, why=why
            )
            continue
        usual, count = Counter(placed).most_common(1)[0]
        cut_at = {**params, "usual_cuts": list(usual)}
        yield _one(subject, NUMBER_CONSISTENCY, count / len(placed), len(placed), cut_at)
        if digits > 3:
            thousands = tuple(range(digits % 3 or 3, digits, 3))
            share = placed.count(thousands) / len(placed)
            yield _one(subject, RIGHT_ALIGNED, share, len(placed), params)
    yield _note(subject, "numbers", examples)


def _years(subject: Subject) -> Measurement:
    cuts = cut(subject, texts.YEARS)
    params: dict[str, object] = {"single_token_share": _single(cuts)}
    return _one(subject, YEAR_TOKENS, _mean_tokens(cuts), len(cuts), params)


def _indents(subject: Subject) -> Iterator[Measurement | Finding]:
    lines = [f"{indent}{texts.STATEMENT}" for indent in texts.INDENTS.values()]
    bare, *indented = cut(subject, [texts.STATEMENT, *lines])
    unseen, *seen = subject.ids([texts.STATEMENT, *lines])
    for name, one, ids in zip(texts.INDENTS, indented, seen, strict=True):
        dropped = ids == unseen
        lost = Why("text_dropped", "its ids are those of the bare statement: the indent is lost")
        value = None if dropped else one.tokens - bare.tokens
        yield row(
            subject.key,
            INDENT_TOKENS,
            value,
            n=1,
            unit="strings",
            params={"indent": name},
            why=lost if dropped else None,
        )
    yield _note(subject, "indentation", indented)


def _spelling(subject: Subject) -> Iterator[Measurement | Finding]:
    examples = []
    for language, words in texts.WORDS.items():
        cuts = cut(subject, words)
        tokens = sum(c.tokens for c in cuts)
        characters = sum(len(word) for word in words)
        hidden = max(0, characters - tokens) / tokens if tokens else None
        params: dict[str, object] = {"words_of": language, "characters": characters}
        none = None if tokens else Why("no_tokens", "no tokens: nothing to divide by")
        yield row(subject.key, HIDDEN, hidden, n=tokens, unit="tokens", params=params, why=none)
        examples.append(cuts[-1])
    yield _note(subject, "spelling", examples)


def _variants(subject: Subject) -> Iterator[Measurement]:
    for name, change in texts.VARIANTS.items():
        cuts = cut(subject, [change(word) for word in texts.CASED])
        params: dict[str, object] = {"variant": name, "single_token_share": _single(cuts)}
        yield _one(subject, VARIANT_TOKENS, _mean_tokens(cuts), len(cuts), params)


def _strings(subject: Subject) -> Iterator[Measurement | Finding]:
    for name, strings in texts.STRINGS.items():
        cuts = cut(subject, strings)
        tokens = sum(c.tokens for c in cuts)
        exact = sum(trip.exact for trip in subject.trips(strings)) / len(strings)
        params: dict[str, object] = {
            "probe": name,
            "characters_per_token": sum(map(len, strings)) / tokens if tokens else None,
            "exact": exact,
            "single_token_share": _single(cuts),
        }
        yield _one(subject, PROBE_TOKENS, _mean_tokens(cuts), len(cuts), params)
        yield _note(subject, name, cuts)


def _mean_tokens(cuts: Sequence[Cut]) -> float:
    return sum(c.tokens for c in cuts) / len(cuts)


def _single(cuts: Sequence[Cut]) -> float:
    return sum(c.tokens == 1 for c in cuts) / len(cuts)


def _note(subject: Subject, probe: str, cuts: Sequence[Cut]) -> Finding:
    first = cuts[0]
    return Finding(
        kind="note",
        reason="examples",
        tokenizer=subject.key,
        message=f"{probe}: {first.text!r} is cut into {' | '.join(map(repr, first.pieces))}",
        data={
            "class": f"pieces:{probe}",
            "texts": [c.text for c in cuts],
            "pieces": [list(c.pieces) for c in cuts],
            "tokens": [c.tokens for c in cuts],
        },
    )


def _one(
    subject: Subject,
    metric: MetricSpec,
    value: float | None,
    n: int,
    params: Mapping[str, object],
) -> Measurement:
    return row(subject.key, metric, value, n=n, unit="strings", params=params)
