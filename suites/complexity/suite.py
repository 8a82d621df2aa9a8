"""How the time of a tokenizer grows with the length of a text, and what ends it.

Adversarial families of text at doubling lengths, each call in a process that may be lost: a
panic, an abort, a call over its time or memory is a finding with the family and the length, and
the next family goes on in a fresh process. Texts are given whole; where the bytes of a tokenizer's
ids must add up to the text they are added up, so that a text that was cut is a finding too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, ClassVar

from pydantic import ByteSize, Field, field_validator

from tokbench.bench.config.limits import Limits
from tokbench.bench.count.encoded import Encoded, flatten
from tokbench.bench.environment import Stopwatch, no_garbage_collection
from tokbench.bench.errors import TokbenchError, TokenizerError, UsageError
from tokbench.bench.model import Finding, HasSpecialTokens, Measurement, MetricSpec, Tokenizer
from tokbench.bench.run.cell_task import load
from tokbench.bench.timing.cases import Grid
from tokbench.bench.timing.contest import Contest, Timed
from tokbench.bench.timing.suite import ClockSuite
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.job import Answer, Died, GiveUp, Job, perform
from tokbench.bench.workers.pool import Workers
from tokbench.bench.workers.sources import TokenizerSource
from tokbench.suites.complexity.families import FAMILIES, text_of
from tokbench.suites.complexity.growth import LEAST, MOST, Growth, Point, fit, resolvable

EXPONENT = MetricSpec(
    name="growth_exponent",
    unit="exponent",
    direction="lower",
    lane="noisy",
    definition="k in time ≈ c · length^k for one family of adversarial text: the slope of CPU "
    "time over length, both logarithmic, by least squares over the upper lengths. 1 is linear. "
    "Params hold the family, every length with its time, and the lengths that were fitted.",
    formula="Σ(x − x̄)(y − ȳ) ÷ Σ(x − x̄)², x = ln(code points), y = ln(CPU seconds of the fastest "
    "of a few calls); interval ± t · s ÷ √Σ(x − x̄)² with m − 2 degrees of freedom.",
    source="Least squares through logarithms, as in Goldsmith, Aiken and Wilkerson, Measuring "
    "Empirical Computational Complexity, 2007.",
    not_meant="It is neither a bound nor a proof: a curve can bend beyond the longest text. The "
    "interval "
    "is about the straightness of the line, not about other machines.",
    trap="Encoding the same text again: a cache of words answers, and quadratic looks linear. "
    "Here every call gets a text of its own.",
)
LONGEST = MetricSpec(
    name="longest_text",
    unit="code points",
    direction="higher",
    lane="noisy",
    definition="The longest text of a family that the tokenizer encoded within the limits of time "
    "and memory. Where it is not the last length tried, the detail says what ended it.",
    formula="max {length : encoded, all lengths below it too}",
    source="tokbench.",
    not_meant="Not the longest text that can be encoded: lengths double up to the option "
    "`longest`, and limits are options too.",
    trap="Cutting a long text into pieces to make it faster: that changes the ids at every cut.",
)
NOISE_CALLS = 21
NOISE = 20
"""A time below so many times that of a call on one letter is mostly the call, not the text."""
LEAST_SECONDS = 1e-4
ENOUGH_SECONDS = 1.0
"""Calls on one length stop when they have taken so long together."""


class Complexity(ClockSuite):
    """Probe every tokenizer with adversarial text of doubling length."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (EXPONENT, LONGEST)

    families: tuple[str, ...] = Field(tuple(FAMILIES), description="Kinds of text.")
    shortest: int = Field(
        1000, ge=1, description="Lengths are `longest` and its halves down to this, in code points."
    )
    longest: int = Field(1_000_000, ge=16, description="Code points of the longest text.")
    calls: int = Field(
        3,
        ge=1,
        le=20,
        description="Calls per length, on texts that differ by a character; the fastest counts.",
    )
    fitted: int = Field(
        5,
        ge=LEAST,
        le=MOST,
        description="Number of upper lengths that the exponent is fitted to, 4 to 12.",
    )
    seconds: float = Field(
        20, gt=0, description="Seconds for one call before its process is killed."
    )
    memory: ByteSize = Field(
        ByteSize(4 * 10**9),
        ge=10**8,
        description="Resident memory before the process is killed, in bytes or as text such as `4 "
        "GB`.",
    )

    @field_validator("families")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in FAMILIES:
                raise ValueError(f"unknown family {name!r}; use one of: {', '.join(FAMILIES)}")
        return names

    def lengths(self) -> list[int]:
        """Return the lengths, shortest first.

        >>> Complexity(shortest=1000, longest=10_000).lengths()
        [1250, 2500, 5000, 10000]
        """
        halves = (self.longest >> n for n in range(self.longest.bit_length()))
        return sorted(length for length in halves if length >= self.shortest)

    def cases(self, contest: Contest) -> Grid:
        """Raise `UsageError`: how far a family goes is known only while it is probed."""
        raise UsageError(
            "suites.complexity has no cases that others could time; name throughput before it"
        )

    def measure(self, contest: Contest) -> Timed:
        """Probe the tokenizers one after the other; the texts of the corpora are not used."""
        measurements: list[Measurement] = []
        findings: list[Finding] = []
        for number, (key, source) in enumerate(contest.tokenizers.items()):
            try:
                with Workers(1, on_loss=contest.progress) as workers:
                    for place, family in enumerate(self.families):
                        behind = number + place / len(self.families)
                        contest.share(behind / len(contest.tokenizers))
                        contest.progress(f"probing {key} with {family}")
                        measurements += self._series(source, family, workers).measurements(key)
            except TokbenchError as exc:
                findings.append(_not_probed(key, str(exc)))
        return Timed(measurements=measurements, samples=[], findings=findings)

    def _series(self, source: TokenizerSource, family: str, workers: Workers) -> Series:
        """Encode longer and longer texts until one is too much."""
        limits = Limits(seconds=self.seconds, memory=self.memory)
        series = Series(family=family, fitted=self.fitted)
        for length in self.lengths():
            task = ProbeTask(
                source=source, family=family, length=length, calls=self.calls, limits=limits
            )
            answer = workers.submit(perform, task).result()
            if answer.reason is not None:  # it cannot be loaded
                raise TokenizerError(answer.reason)
            got = answer.value
            series.add(length, got)
            if got.ended or got.absent:
                break
        return series


@dataclass(frozen=True, kw_only=True)
class Probed:
    """What one length gave: CPU seconds of each call and the noise, or what ended it."""

    seconds: tuple[float, ...] = ()
    noise: float = 0.0
    tokens: int = 0
    ended: str | None = None
    absent: bool = False
    """The tokenizer tells no special tokens to make such a text of."""


@dataclass(frozen=True, kw_only=True)
class ProbeTask(Job[Probed]):
    """One length of one family, in a process that may be lost."""

    source: TokenizerSource
    family: str
    length: int
    calls: int
    options: ClassVar[str] = "suites.complexity"

    @property
    def group(self) -> str:
        """One process per tokenizer."""
        return self.source.key

    def run(self, watch: Stopwatch) -> Probed:
        """Encode texts of one family and length, each a code point shorter.

        A failure of the library ends the process, so that no later call meets its state.
        """
        tokenizer = load(self.source, self.limits, watch)
        spellings = tokenizer.special_tokens if isinstance(tokenizer, HasSpecialTokens) else {}
        self._begin_call()
        noise = noise_of(tokenizer.encode_batch)
        seconds: list[float] = []
        tokens = 0
        for call in range(self.calls):
            text = text_of(self.family, self.length - call, sorted(spellings))
            if text is None:
                return Probed(absent=True)
            self._begin_call()
            taken, ids = timed(tokenizer.encode_batch, text)
            seconds.append(taken)
            encoded = flatten(ids)
            tokens = max(tokens, int(encoded.offsets[-1]))
            if missing := _missing(tokenizer, text, encoded):
                return Probed(ended=missing)
            if sum(seconds) > ENOUGH_SECONDS:
                break
        return Probed(seconds=tuple(seconds), noise=noise, tokens=tokens)

    def _begin_call(self) -> None:
        heartbeat.at("call", seconds=self.limits.seconds, limit=f"{self.options}.seconds")

    def lost(self, died: Died) -> GiveUp:
        """Say what ended the call; nothing is tried twice."""
        if died.step == ("call",):
            return GiveUp(answer=self.give_up(died.reason))
        reason = f"{died.reason} {self.doing(died)}"
        return GiveUp(answer=self.give_up(reason), group=reason)

    def give_up(self, reason: str) -> Answer[Probed]:
        """Return the outcome without times."""
        return Answer(value=Probed(ended=reason))


def timed(
    encode: Callable[[Sequence[str]], Any],
    text: str,
    clock: Callable[[], float] = time.process_time,
) -> tuple[float, Any]:
    """Return CPU seconds of one call on a list of one text, and what it gave."""
    with no_garbage_collection():
        before = clock()
        ids = encode([text])
        return clock() - before, ids


def noise_of(
    encode: Callable[[Sequence[str]], Any], clock: Callable[[], float] = time.process_time
) -> float:
    """Return the seconds below which a time says nothing about the text."""
    calls = [timed(encode, "a", clock)[0] for _ in range(NOISE_CALLS)]
    return max(NOISE * median(calls), LEAST_SECONDS)


def _missing(tokenizer: Tokenizer, text: str, encoded: Encoded) -> str | None:
    """Say what is missing where the bytes of the ids must add up to the text and do not."""
    if not tokenizer.byte_exact:
        return None
    held = int(tokenizer.vocabulary.byte_lengths[encoded.ids].sum())
    wanted = len(text.encode())
    if held in (wanted, wanted + tokenizer.prefix_space):
        return None
    return f"its tokens hold {held:,} of {wanted:,} bytes of the text"


@dataclass(kw_only=True)
class Series:
    """One family under one tokenizer: times by length, and what ended it."""

    family: str
    fitted: int
    points: list[Point] = field(default_factory=list)
    noise: float = 0.0
    tokens: int = 0
    ended: str | None = None
    absent: bool = False

    def add(self, length: int, got: Probed) -> None:
        """Take a length in."""
        self.absent = got.absent
        if got.ended:
            self.ended = f"{got.ended}, on {length:,} code points of {self.family}"
        if not got.seconds:
            return
        self.points.append(Point(length=length, seconds=min(got.seconds)))
        self.noise, self.tokens = max(self.noise, got.noise), got.tokens

    @property
    def growth(self) -> Growth | None:
        """The exponent over the upper lengths, None where it cannot be told."""
        return fit(resolvable(self.points, self.noise), self.fitted)

    def measurements(self, key: str) -> Iterator[Measurement]:
        """Return the exponent and the longest text; neither where there is no such text."""
        if self.absent:
            return
        growth = self.growth
        params = {"family": self.family, "unit_of_n": "lengths"}
        points = [[point.length, point.seconds] for point in self.points]
        yield Measurement(
            metric=EXPONENT,
            tokenizer=key,
            value=growth.exponent if growth else None,
            ci_low=growth.low if growth else None,
            ci_high=growth.high if growth else None,
            n=len(growth.lengths) if growth else 0,
            params={
                **params,
                "points": points,
                "lengths": list(growth.lengths) if growth else [],
                "noise_seconds": self.noise,
            },
            reason=None if growth else "not_resolvable",
            detail=None if growth else self._why_not(),
        )
        yield Measurement(
            metric=LONGEST,
            tokenizer=key,
            value=float(self.points[-1].length) if self.points else None,
            n=len(self.points),
            params={**params, "tokens": self.tokens},
            status=("partial" if self.points else "failed") if self.ended else "ok",
            reason="length_limit" if self.ended else None if self.points else "not_resolvable",
            detail=self.ended,
        )

    def _why_not(self) -> str:
        left = len(resolvable(self.points, self.noise))
        return (
            f"not resolvable: {left} of {len(self.points)} lengths take longer than the noise of "
            f"the clock ({self.noise * 1e3:.1f} ms); at least {LEAST} are needed"
        )


def _not_probed(key: str, reason: str) -> Finding:
    return Finding(
        kind="failure", reason="timing_failed", tokenizer=key, message=f"not probed: {reason}"
    )
