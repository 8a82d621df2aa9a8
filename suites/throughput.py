"""How fast a tokenizer encodes and decodes, in a simple form that says what was timed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median, quantiles
from typing import ClassVar

from pydantic import Field

from bench.model import Finding, Measurement, MetricSpec
from bench.plugins import ClockSuite
from bench.timing import Contest, Phase, Sample, Timed, take_turns

_CALL = (
    "Median over rounds of UTF-8 MB (10⁶ bytes) per second of wall time: one batch call on one "
    "thread, the same text every round, so caches of words are warm. Params hold the quartiles."
)

ENCODE_THROUGHPUT = MetricSpec(
    name="encode_throughput", unit="MB/s", direction="higher", lane="noisy", definition=_CALL
)
DECODE_THROUGHPUT = MetricSpec(
    name="decode_throughput",
    unit="MB/s",
    direction="higher",
    lane="noisy",
    definition=_CALL + " Bytes are those of the text that was encoded.",
)
_METRICS: dict[Phase, MetricSpec] = {"encode": ENCODE_THROUGHPUT, "decode": DECODE_THROUGHPUT}


class Throughput(ClockSuite):
    """Encode and decode throughput of every tokenizer on the text of each corpus."""

    metrics: ClassVar[tuple[MetricSpec, ...]] = (ENCODE_THROUGHPUT, DECODE_THROUGHPUT)

    rounds: int = Field(default=11, ge=3, description="timed rounds per tokenizer and corpus")
    warm_ups: int = Field(default=2, ge=1, description="rounds before them, stored apart")
    max_bytes: int = Field(default=1_000_000, ge=1, description="text of a corpus that is timed")

    def measure(self, contest: Contest) -> Timed:
        """Let the tokenizers take turns on each corpus, all its languages together."""
        texts = {name: _cut(documents, self.max_bytes) for name, documents in contest.texts.items()}
        contest = replace(contest, texts=texts)
        samples, failures = take_turns(contest, rounds=self.rounds, warm_ups=self.warm_ups)
        findings = [
            Finding(
                kind="failure",
                suite="throughput",
                tokenizer=failure.tokenizer,
                message=f"not timed: {failure.reason}",
            )
            for failure in failures
        ]
        reasons = {finding.tokenizer or "": finding.message for finding in findings}
        measurements = [
            *(m for m in _measurements(contest, texts, samples) if m.tokenizer not in reasons),
            *_not_timed(reasons, texts),
        ]
        return Timed(measurements=measurements, samples=samples, findings=findings)


def _not_timed(reasons: Mapping[str, str], corpora: Iterable[str]) -> Iterator[Measurement]:
    """Give a tokenizer that could not be timed its rows, with the reason in place of a value."""
    for corpus in corpora:
        for tokenizer, reason in reasons.items():
            for metric in _METRICS.values():
                yield Measurement(
                    metric=metric,
                    suite="throughput",
                    tokenizer=tokenizer,
                    corpus=corpus,
                    status="failed",
                    detail=reason,
                )


def _cut(documents: Iterable[str], max_bytes: int) -> list[str]:
    """Return whole documents from the front until the limit is reached."""
    chosen, total = [], 0
    for text in documents:
        chosen.append(text)
        total += len(text.encode())
        if total >= max_bytes:
            break
    return chosen


def _measurements(
    contest: Contest, texts: Mapping[str, Sequence[str]], samples: Sequence[Sample]
) -> Iterator[Measurement]:
    for corpus, documents in texts.items():
        n_bytes = sum(len(text.encode()) for text in documents)
        n_characters = sum(map(len, documents))
        for tokenizer in contest.tokenizers:
            for phase, metric in _METRICS.items():
                seconds = [
                    s.wall_seconds
                    for s in samples
                    if (s.tokenizer, s.corpus, s.phase) == (tokenizer, corpus, phase)
                    and not s.warm_up
                ]
                if len(seconds) < 2 or not n_bytes:
                    continue
                speeds = [n_bytes / 1e6 / max(s, 1e-9) for s in seconds]
                low, _, high = quantiles(speeds, n=4, method="inclusive")
                yield Measurement(
                    metric=metric,
                    suite="throughput",
                    tokenizer=tokenizer,
                    corpus=corpus,
                    value=median(speeds),
                    n=len(speeds),
                    params={
                        "unit_of_n": "rounds",
                        "quartiles": [low, high],
                        "bytes": n_bytes,
                        "characters_per_second": n_characters / median(seconds),
                        "documents": len(documents),
                        "call": "batch",
                        "threads": 1,
                        "text": "repeated",
                    },
                )
