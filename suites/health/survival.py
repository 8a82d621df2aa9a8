"""Does text come back: bundled documents and hard strings, what is lost by class, with an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tokbench.bench.count.tally import EXACT
from tokbench.bench.markup import percent, plural
from tokbench.bench.run.probe import Examination, Subject, Trip
from tokbench.suites.health.verdict import HealthFinding, Verdict, quoted
from tokbench.suites.witnesses.fuzz import fuzz
from tokbench.suites.witnesses.loss_classes import CLASSES, UNKNOWN, Manner, compared, losses

FAULTS = ("failed", "dropped")
"""Classes of loss that no property of a tokenizer explains, in text that people write."""
HARD_FAULTS = ("failed",)
"""The same in hard strings, where normalization drops controls and characters that are none."""

MANY = 0.01
"""Share of texts from which a fault counts: below it, spots that were paired wrongly look alike."""

COSTS = {
    "prefix_space": "a text and the same behind a space can have the same ids",
    "whitespace": "layout is lost: indentation, line ends or runs of spaces",
    "whitespace_added": "decoded text is not what was written; code and URLs break",
    "clean_up": "decoded text is not what was written; switch the decoder's clean-up off",
    "space_mark": "U+2581 cannot be distinguished from a space",
    "normal_form": "composed and decomposed text have the same ids; offsets and exact quotes move",
    "compatibility": "ﬁ, ①, ² and full-width letters become others: formulas and names change",
    "case": "capitals are gone",
    "marks": "accents and vowel signs are gone: other words in many languages",
    "control": "joiners and direction marks are gone: Persian, Indic text and emoji change",
    "unknown": "the model sees one token for everything that it does not know",
    "special_token": "spelled special tokens do not come back as text",
    "invalid_utf8": "decoding gives U+FFFD",
    "dropped": "text is lost and nothing in the ids says so",
    "other": "text changes",
    "failed": "such text cannot be encoded or decoded",
}
"""What a user pays for each class of loss."""

PAGE = "docs/metrics.md, round_trip"


@dataclass(kw_only=True)
class Losses:
    """Texts by class of loss, and the shortest example of each."""

    asked: int = 0
    lossy: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, trip: Trip, manner: Manner) -> None:
        """Count one text."""
        self.asked += 1
        found = losses(trip, manner)
        self.lossy += bool(found)
        self.texts.update({name for loss in found for name in loss.classes})
        back = compared(trip, manner)[0]
        for loss in found:
            spot = loss.spot
            before = trip.text[spot.start : spot.end]
            after = trip.failure or back[spot.to_start : spot.to_end]
            if loss.classes == ("prefix_space",):
                after = " "
            after = after.replace(UNKNOWN, manner.unknown or "")
            for name in loss.classes:
                best = self.examples.get(name)
                if best is None or (not best[0], len(best[0])) > (not before, len(before)):
                    self.examples[name] = before, after

    def described(self) -> Iterable[str]:
        """Yield each class with its number of texts and an example, the most frequent first."""
        for name, count in self.texts.most_common():
            before, after = self.examples[name]
            yield f"{CLASSES[name]}: {count:,} ({quoted(before)} → {quoted(after)})"

    def check(self, name: str, of: str, faults: Sequence[str] = FAULTS) -> HealthFinding:
        """Return the verdict on all texts."""
        verdict: Verdict = "pass" if not self.lossy else "warn"
        text = f"{plural(self.asked, of)} came back exactly"
        if self.lossy:
            many = any(self.texts[fault] >= MANY * self.asked for fault in faults)
            verdict = "fail" if many or self.texts["failed"] else "warn"
            share = percent(self.lossy / self.asked)
            classes = "; ".join(self.described())
            text = (
                f"{self.lossy:,} of {plural(self.asked, of)} ({share}) did not come back: {classes}"
            )
        worst = [one for one, _ in self.texts.most_common(3)]
        cost = "; ".join(dict.fromkeys(COSTS[one] for one in worst))
        return HealthFinding(
            name=name, verdict=verdict, text=text, cost=cost, page=PAGE if worst else ""
        )


def check_documents(examination: Examination, subject: Subject, manner: Manner) -> HealthFinding:
    """Class every document of the run that did not come back."""
    found = Losses()
    for cell in examination.tallies.counted():
        if cell.key.tokenizer != subject.key:
            continue
        exact = cell.tally.documents["round_trip"] == EXACT
        found.asked += int(np.count_nonzero(exact))
        wanted = cell.tally.rows[~exact]
        for _, texts in examination.documents(cell.key.corpus, cell.key.language, wanted):
            for trip in subject.trips(texts):
                found.add(trip, manner)
        found.asked += len(cell.tally.failed_rows)
        found.lossy += len(cell.tally.failed_rows)
    return found.check("documents", "bundled document")


def check_hard_strings(
    subject: Subject, manner: Manner, seed: int, per_category: int
) -> HealthFinding:
    """Class seeded strings of many kinds: scripts, emoji, controls, long runs, markers."""
    found = Losses()
    texts = [one.text for one in fuzz(seed, per_category, sorted(subject.spellings))]
    for trip in subject.trips(texts):
        found.add(trip, manner)
    return found.check("hard strings", "hard string", HARD_FAULTS)
