"""How token boundaries go with morphemes, on segmented words that the user brings.

Optional: it asks the tokenizers again, once for each word of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.errors import InputError
from tokbench.bench.model import Finding, Measurement, MetricSpec, Status
from tokbench.bench.paths import looking_at, user_path
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.morphology import specs
from tokbench.suites.morphology.gold_files import GoldFile, GoldWord, read_gold
from tokbench.suites.morphology.scores import BoundaryCounts, CutWord, consistency, morphscores
from tokbench.suites.rows import row

BUILTIN = "builtin"
CHUNK = 2_000
"""Words that are asked together."""


class Morphology(TokenizerSuite):
    """Precision, recall and F1 of morpheme boundaries, MorphScore, consistency of morphemes."""

    files: Mapping[str, str] = Field(
        min_length=1,
        description="Files of segmented words by language, such as `{tur_Latn: words.csv}`: "
        "`word;parts`, MorphScore, UniMorph or SIGMORPHON; `builtin` for the few words that tokbench "
        "brings in eng_Latn, deu_Latn, fin_Latn, tur_Latn and swh_Latn.",
    )
    before: str = Field(
        "",
        description='Text before each word: `" "` asks for words as they stand in a text; MorphScore '
        "asks for words alone.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = specs.METRICS

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the scores of every tokenizer on every file."""
        gold = {key: self._read(key, examination.folder) for key in self.files}
        for subject in examination.subjects():
            for key, file in gold.items():
                yield from self._scores(subject, key, file)

    def _read(self, key: str, folder: Path) -> GoldFile:
        written = self.files[key]
        if written != BUILTIN:
            with looking_at(written):
                return read_gold(user_path(folder, written))
        with resources.as_file(resources.files(__package__) / "gold" / f"{key}.csv") as path:
            if not path.is_file():
                raise InputError(f"tokbench brings no segmented words for {key}; name a file")
            return read_gold(path)

    def _scores(self, subject: Subject, key: str, gold: GoldFile) -> Iterator[Measurement]:
        words = list(self._cut(subject, gold.words))
        params: dict[str, Any] = {
            "file_sha256": gold.sha256[:16],
            "before": self.before,
            "words": len(gold.words),
            "left_out": gold.left_out,
            "unplaced": len(gold.words) - len(words),
        }
        if 2 * len(words) < len(gold.words):
            text = "the places of tokens are unknown in more than half of the words"
            for metric in self.metrics:
                why = Why("places_unknown", text)
                yield _row(subject, key, metric, None, len(words), params, why)
            return
        counts = BoundaryCounts.of(words)
        for metric, value in zip(
            (specs.PRECISION, specs.RECALL, specs.F1),
            (counts.precision, counts.recall, counts.f1),
            strict=True,
        ):
            yield _row(subject, key, metric, value, len(words), params)
        for by_frequency in (False, True) if gold.weighted else (False,):
            yield from _morphscore_rows(subject, key, words, params, by_frequency=by_frequency)
        share, n = consistency(words)
        yield _row(subject, key, specs.CONSISTENCY, share, n, params, unit="occurrences")

    def _cut(self, subject: Subject, gold: Sequence[GoldWord]) -> Iterator[CutWord]:
        """Yield the words whose tokens have known places and no unknown token."""
        lead = len(self.before.encode())
        unknown = subject.tokenizer.vocabulary.is_unknown
        for start in range(0, len(gold), CHUNK):
            some = gold[start : start + CHUNK]
            batch, encoded, cuts = subject.cuts([self.before + one.word for one in some])
            for i, one in enumerate(some):
                first, last = (int(edge) for edge in encoded.offsets[i : i + 2])
                if not cuts.known[i] or unknown[encoded.ids[first:last]].any():
                    continue
                begin, end = int(batch.offsets[i]) + lead, int(batch.offsets[i + 1])
                edges = np.concatenate((cuts.starts[first:last], cuts.ends[first:last]))
                inside = np.unique(edges[(edges > begin) & (edges < end)] - begin)
                overlapping = (cuts.starts[first:last] < end) & (cuts.ends[first:last] > begin)
                yield CutWord(
                    gold=one, places=frozenset(inside.tolist()), tokens=int(overlapping.sum())
                )


def _morphscore_rows(
    subject: Subject,
    key: str,
    words: Sequence[CutWord],
    params: Mapping[str, Any],
    *,
    by_frequency: bool,
) -> Iterator[Measurement]:
    found = morphscores(words, by_frequency=by_frequency)
    weights = {**params, "weights": "frequency" if by_frequency else "none"}
    yield _row(subject, key, specs.MORPHSCORE, found.recall, found.n, weights)
    yield _row(subject, key, specs.MORPHSCORE_PRECISION, found.precision, found.n, weights)


def _row(
    subject: Subject,
    key: str,
    metric: MetricSpec,
    value: float | None,
    n: int,
    params: Mapping[str, Any],
    why: Why | None = None,
    unit: str = "words",
) -> Measurement:
    if value is None and why is None:
        why = Why("nothing_found", "no word of the file can be judged")
    refused: Status | None = "refused" if why and why.reason == "places_unknown" else None
    return row(
        subject.key,
        metric,
        value,
        n=n,
        unit=unit,
        params=params,
        status=refused,
        why=why,
        language=key,
    )
