"""A health report of each tokenizer: checks with a verdict, a cost and a place to read on.

`tokbench check` runs this suite on bundled text. A check never raises for what a library does: a
failure on a text is what is looked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from tokbench.bench.model import Finding, Measurement, MetricSpec
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.health import coverage, entries, layout, special, stability, stored, survival
from tokbench.suites.health.specs import CHECKS
from tokbench.suites.health.verdict import HealthFinding
from tokbench.suites.rows import row
from tokbench.suites.witnesses.loss_classes import Manner


class Health(TokenizerSuite):
    """HealthFinding every tokenizer, each alone."""

    files: Mapping[str, str] = Field(
        {},
        description="The file of each tokenizer whose entries are held against it, by key; paths "
        "from the working folder.",
    )
    again: tuple[str, ...] = Field(
        (),
        description="Tokenizers that only say their ids, for comparison with the same one in "
        "another process.",
    )
    strings: int = Field(
        40, ge=0, le=10_000, description="Seeded hard strings of each category; 0 for none."
    )
    search: bool = Field(True, description="Search a text for every entry.")

    metrics: ClassVar[tuple[MetricSpec, ...]] = (CHECKS,)

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the checks of each tokenizer as findings, and how many came to each verdict."""
        for subject in examination.subjects():
            yield _ids(subject, examination.seed)
            if subject.key in self.again:
                continue
            verdicts: Counter[str] = Counter()
            for check in self._checks(examination, subject):
                verdicts[check.verdict] += 1
                yield check.finding(subject.key)
            for verdict in ("pass", "warn", "fail"):
                params = {"verdict": verdict}
                yield row(
                    subject.key,
                    CHECKS,
                    verdicts[verdict],
                    n=verdicts.total(),
                    unit="checks",
                    params=params,
                )

    def _checks(self, examination: Examination, subject: Subject) -> Iterator[HealthFinding]:
        manner = Manner.of(subject)
        yield _loading(subject)
        yield entries.check_file(subject, self._stored(subject.key))
        yield coverage.check_bytes(subject)
        yield coverage.check_scripts(subject)
        yield survival.check_documents(examination, subject, manner)
        if self.strings:
            seed = examination.seed
            yield survival.check_hard_strings(subject, manner, seed, self.strings)
        yield from special.checks(subject)
        yield from layout.checks(subject)
        yield stability.check_stability(subject, examination.seed)
        yield from entries.checks(examination, subject, search=self.search)

    def _stored(self, key: str) -> stored.Stored | None:
        return stored.read(Path(self.files[key])) if key in self.files else None


def _loading(subject: Subject) -> HealthFinding:
    """Tell what was noted at loading."""
    notes = list(subject.tokenizer.notes)
    return HealthFinding(name="loads", verdict="pass", text="; ".join(["loaded", *notes]))


def _ids(subject: Subject, seed: int) -> Finding:
    """Return a hash of the ids of some texts, to compare with those of another process."""
    ids = subject.ids(stability.texts_of(seed))
    return Finding(
        kind="note",
        reason="examples",
        tokenizer=subject.key,
        message=f"ids of {len(ids)} texts, as a hash",
        data={"ids_sha256": stability.fingerprint_of(ids)},
    )
