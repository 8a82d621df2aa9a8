"""How ids follow when a text is varied: typos, look-alikes, normal forms, white space.

Optional: it asks the tokenizers again, for the variants of a sample of documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from tokbench.bench.count.resampling import units_of
from tokbench.bench.count.stats import NO_INTERVAL, interval_of_resamples, weighted_totals
from tokbench.bench.count.tally import Cell
from tokbench.bench.model import Finding, IntArray, Measurement, MetricSpec, Status
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.robustness import specs
from tokbench.suites.robustness.following import Followed, Original, placed
from tokbench.suites.robustness.sample import Varied, VariedSample, Witness
from tokbench.suites.robustness.variants import PERTURBATIONS, Writing
from tokbench.suites.rows import row

_RATIOS = (
    (specs.CONSISTENCY, "kept", "longer"),
    (specs.GROWTH, "after", "before"),
    (specs.TOUCHED, "touched", "outside"),
)
"""Each metric as a ratio of totals of `Followed`."""


class Robustness(TokenizerSuite):
    """Consistency of ids, growth and tokens touched beyond the edit, by class of variant."""

    classes: tuple[str, ...] = Field(
        tuple(PERTURBATIONS), min_length=1, description="Classes of variants."
    )
    documents: Annotated[int, Field(gt=0)] = Field(
        20, description="Documents of each slice that are varied, drawn by the run's seed."
    )
    characters: Annotated[int, Field(gt=0)] = Field(
        2_000, description="Code points of a document that are varied; the rest is left out."
    )
    characters_per_edit: Annotated[int, Field(gt=0)] = Field(
        50,
        description="Classes that do not edit all their places edit one for so many code points of "
        "a document, and at least one.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = specs.METRICS

    @field_validator("classes")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in PERTURBATIONS:
                raise ValueError(f"unknown class {name!r}; use one of: {', '.join(PERTURBATIONS)}")
        return names

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the values of every cell and class, and one witness for each class."""
        for subject in examination.subjects():
            clearest: dict[str, tuple[Cell, Witness]] = {}
            for cell in examination.tallies.counted():
                if cell.key.tokenizer != subject.key:
                    continue
                names, sample = self._sample(examination, subject, cell)
                yield from self._rows(examination, cell, sample, names)
                for one in sample.witnesses(names):
                    if one.name not in clearest or one.size < clearest[one.name][1].size:
                        clearest[one.name] = cell, one
            for cell, one in clearest.values():
                _, corpus, language = cell.key
                ids = examination.tallies.facts(cell.key).document_ids
                yield one.finding(subject, corpus, language, ids[one.row])

    def _sample(
        self, examination: Examination, subject: Subject, cell: Cell
    ) -> tuple[Sequence[str], VariedSample]:
        """Draw documents, and ask for them and their variants."""
        facts = examination.tallies.facts(cell.key)
        language = (facts.tag or "und").split("-")[0]
        writing = Writing(language, facts.script or "Latn")  # code is written in Latin letters
        names = [name for name in self.classes if PERTURBATIONS[name].applies(writing)]
        sample = VariedSample(originals=list(self._originals(examination, subject, cell)))
        for start in range(0, len(sample.originals), CHUNK):
            places = range(len(sample.originals))[start : start + CHUNK]
            owner = f"{examination.seed}/{cell.key.corpus}/{cell.key.language}"
            sample.ask(subject, list(self._variants(sample, places, names, writing, owner)))
        return names, sample

    def _variants(
        self,
        sample: VariedSample,
        places: Sequence[int],
        names: Sequence[str],
        writing: Writing,
        owner: str,
    ) -> Iterator[Varied]:
        for place in places:
            one = sample.originals[place]
            for name in names:
                variant = PERTURBATIONS[name].variant(
                    one.text,
                    writing,
                    seed=f"{owner}/{one.row}/{name}",
                    per_edit=self.characters_per_edit,
                )
                if variant is not None:
                    yield Varied(name=name, place=place, variant=variant)

    def _originals(
        self, examination: Examination, subject: Subject, cell: Cell
    ) -> Iterator[Original]:
        rows = examination.drawn(cell, self.documents, "robustness")
        for numbers, texts in examination.documents(cell.key.corpus, cell.key.language, rows):
            short = [text[: self.characters] for text in texts]
            answers = placed(subject, short)
            for number, text, tokens in zip(numbers.tolist(), short, answers, strict=True):
                if tokens is not None:
                    yield Original(row=number, text=text, tokens=tokens)

    def _rows(
        self, examination: Examination, cell: Cell, sample: VariedSample, names: Sequence[str]
    ) -> Iterator[Measurement]:
        """Yield three ratios of totals for each class, each with its interval."""
        totals, resampled = _resampled(examination, cell, sample, sample.counts(names))
        for i, name in enumerate(names):
            done = Followed(*totals[:, i].sum(axis=-1).astype(int).tolist())
            varied = sample.of(name)
            n = sum(one.followed is not None for one in varied)
            params: dict[str, Any] = {
                "class": name,
                "documents_asked": self.documents,
                "edits": sum(len(one.variant.places) for one in varied),
                "failed": len(varied) - n,
            }
            for metric, top, bottom in _RATIOS:
                above, below = (Followed._fields.index(part) for part in (top, bottom))
                whole = getattr(done, bottom)
                value = getattr(done, top) / whole if whole else None
                interval = NO_INTERVAL
                if resampled[below, i].all():  # else a resample has nothing to divide by
                    ratios = resampled[above, i] / resampled[below, i]
                    interval = interval_of_resamples(ratios, totals[above, i], totals[below, i])
                why, status = _why(done, metric, value, params["failed"])
                yield row(cell, metric, value, interval, n=n, params=params, status=status, why=why)


CHUNK = 64
"""Documents whose variants are asked together."""


def _why(
    done: Followed, metric: MetricSpec, value: float | None, failed: int
) -> tuple[Why | None, Status | None]:
    """Return why a value is missing or over fewer documents, and the status that goes with it."""
    if failed:
        return Why("documents_failed", f"the library failed on {failed} variants"), "partial"
    if value is not None:
        return None, None
    if metric is specs.TOUCHED and done.before:
        return Why("places_unknown", "every token overlaps an edit, or has no known place"), None
    return Why("nothing_found", "no document of the sample has a place for such an edit"), None


def _resampled(
    examination: Examination, cell: Cell, sample: VariedSample, counts: IntArray
) -> tuple[np.ndarray[Any, np.dtype[np.float64]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return counts by unit, shape (fields, classes, units), and (fields, classes, resamples)."""
    facts = examination.tallies.facts(cell.key)
    rows = [one.row for one in sample.originals]
    units = units_of(
        len(rows),
        f"{facts.corpus}/robustness",
        clusters=facts.clusters and [facts.clusters[row] for row in rows],
        resamples=examination.tallies.resamples,
        seed=examination.seed,
    )
    totals = units.totals(counts)
    flat = totals.reshape(-1, totals.shape[-1])
    return totals, weighted_totals(flat, units.weights()).reshape(*totals.shape[:2], -1)
