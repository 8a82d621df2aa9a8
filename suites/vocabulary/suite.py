"""What a vocabulary holds, apart from any text: entries, scripts, duplicates, dead weight.

Entries that are duplicates, that merging does not reach or that no text was found to produce are
static candidates for badly trained tokens ("glitch tokens"): a model that never sees an id in
training has an untrained embedding for it. Whether that is so can be told only from the model's
weights (embedding norms, or what it answers when shown the token); nothing here looks at them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.model import Finding, HasMerging, Measurement, MetricSpec
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.rows import row
from tokbench.suites.vocabulary import composition, merging, overlap, reachability
from tokbench.suites.vocabulary.overlap import Entries
from tokbench.suites.vocabulary.specs import (
    CATEGORY,
    DUPLICATES,
    ENTRIES,
    OVERLAP,
    PARAMETERS,
    SCRIPT,
    SWALLOWING,
    UNMERGED,
    UNREACHED,
)

_FORMS = ("NFC", "NFKC")


class Vocabularies(TokenizerSuite):
    """Static facts of every vocabulary, and the overlap of every two.

    `widths` are embedding widths to count parameters for; `examples` bounds how many entries a
    finding lists; `search` switches the search for entries that encoding does not produce.
    """

    widths: tuple[int, ...] = Field(
        (768, 4096), description="Embedding widths to count parameters for."
    )
    examples: int = Field(20, ge=1, le=1000, description="Entries that a finding lists.")
    search: bool = Field(
        True, description="Search texts for entries that the corpora did not produce."
    )
    overlap: bool = Field(True, description="Compare every two vocabularies.")

    metrics: ClassVar[tuple[MetricSpec, ...]] = (
        ENTRIES,
        CATEGORY,
        SCRIPT,
        DUPLICATES,
        UNMERGED,
        UNREACHED,
        SWALLOWING,
        PARAMETERS,
        OVERLAP,
    )

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return the facts of each vocabulary."""
        for subject in examination.subjects():
            yield from self._facts(examination, subject)

    def compare(self, tallies: Tallies) -> Iterable[Measurement]:
        """Return the overlap of every two vocabularies."""
        contents = tallies.contents if self.overlap else {}
        return _overlaps({key: overlap.entries(one) for key, one in contents.items()})

    def _facts(self, examination: Examination, subject: Subject) -> Iterator[Measurement | Finding]:
        vocabulary = subject.tokenizer.vocabulary
        texts = composition.texts_of(vocabulary)
        yield from _entries(subject)
        yield from _shares(subject, texts)
        yield from _parameters(subject, self.widths)
        candidates = reachability.candidates(vocabulary)
        yield from self._duplicates(subject, candidates, texts)
        yield from self._unmerged(subject)
        if self.search:
            yield from self._unreached(examination, subject, candidates)
        yield from self._swallowing(subject)

    def _duplicates(
        self, subject: Subject, candidates: Mapping[int, bytes], texts: Mapping[int, str]
    ) -> Iterator[Measurement | Finding]:
        found = {"decoded": _equal_entries(subject, candidates)}
        found |= {form: composition.same_form(texts, form) for form in _FORMS}
        for by, groups in found.items():
            yield _one(subject, DUPLICATES, composition.surplus(groups), {"by": by})
            ids = [i for group in groups[: self.examples] for i in group]
            if groups:
                what = f"{len(groups)} groups of entries are duplicates by {by}"
                yield self._note(subject, what, f"duplicates:{by}", ids)

    def _unmerged(self, subject: Subject) -> Iterator[Measurement | Finding]:
        tokenizer = subject.tokenizer
        rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
        if rules is None:
            why = Why("not_offered", "not BPE, or it does not say how it merges")
            yield _one(subject, UNMERGED, None, {}, why)
            return
        odd, of = merging.not_reached(rules)
        yield _one(subject, UNMERGED, len(odd), {"of": of})
        if odd:
            what = f"{len(odd)} of {of} entries are not reached by merging their own symbols"
            yield self._note(subject, what, "unmerged", odd)

    def _unreached(
        self, examination: Examination, subject: Subject, candidates: Mapping[int, bytes]
    ) -> Iterator[Measurement | Finding]:
        seen = _seen(examination, subject.key)
        found, searched = reachability.not_reached(subject, candidates, seen)
        vocabulary = subject.tokenizer.vocabulary
        partial = sum(bool(vocabulary.is_partial_character[i]) for i in found)
        params = {
            "of": len(candidates),
            "searched": searched,
            "partial_utf8": partial,
            "in_no_utf8": sum(reachability.in_no_text(vocabulary, i) for i in found),
            "unicode": unicodedata.unidata_version,
        }
        yield _one(subject, UNREACHED, len(found), params)
        if found:
            what = f"no text was found that {len(found)} entries occur in"
            yield self._note(subject, what, "unreached", found)

    def _swallowing(self, subject: Subject) -> Iterator[Measurement | Finding]:
        added = sorted(subject.tokenizer.vocabulary.added_ids)
        swallow = _swallowing(subject, added)
        yield _one(subject, SWALLOWING, len(swallow), {"of": len(added)})
        if swallow:
            what = f"white space beside {len(swallow)} added tokens does not survive"
            yield self._note(subject, what, "swallowing", swallow)

    def _note(self, subject: Subject, what: str, class_: str, ids: Sequence[int]) -> Finding:
        chosen = list(ids[: self.examples])
        vocabulary = subject.tokenizer.vocabulary
        content = [
            (vocabulary.token_bytes[i] or b"") if i < vocabulary.n_ids else b"" for i in chosen
        ]
        return Finding(
            kind="note",
            reason="examples",
            tokenizer=subject.key,
            message=f"{what}, such as {', '.join(map(_shown, content[:3]))}",
            data={
                "class": class_,
                "ids": chosen,
                "bytes": [b.hex() for b in content],
                "texts": [b.decode("utf-8", "replace") for b in content],
                "total": len(ids),
            },
        )


def _shown(content: bytes) -> str:
    try:
        return ascii(content.decode())
    except UnicodeDecodeError:
        return f"bytes {content.hex(' ')}"


def _entries(subject: Subject) -> Iterator[Measurement]:
    vocabulary = subject.tokenizer.vocabulary
    counts = {
        "all": vocabulary.n_entries,
        "ids": vocabulary.n_ids,
        "special": vocabulary.n_special,
        "added": len(vocabulary.added_ids),
        "byte_fallback": len(vocabulary.byte_fallback_ids),
        "holes": len(vocabulary.hole_ids),
    }
    for kind, count in counts.items():
        yield _one(subject, ENTRIES, count, {"kind": kind})


def _shares(subject: Subject, texts: dict[int, str]) -> Iterator[Measurement]:
    vocabulary = subject.tokenizer.vocabulary
    for metric, name, counts, n in (
        (CATEGORY, "category", composition.categories(vocabulary, texts), vocabulary.n_entries),
        (SCRIPT, "script", composition.scripts(texts), len(texts)),
    ):
        for key, count in sorted(counts.items()):
            yield _one(subject, metric, count / n, {name: key, "entries": count})


def _parameters(subject: Subject, widths: Sequence[int]) -> Iterator[Measurement]:
    for width in widths:
        n_ids = subject.tokenizer.vocabulary.n_ids
        yield _one(subject, PARAMETERS, n_ids * width, {"width": width})


def _equal_entries(subject: Subject, candidates: Mapping[int, bytes]) -> list[tuple[int, ...]]:
    """Return groups of ids with equal bytes that also decode alike.

    Bytes alone do not tell: a piece that continues a word has the bytes of one that starts it.
    """
    equal = [i for group in composition.groups(candidates) for i in group]
    alone = dict(zip(equal, subject.texts([[i] for i in equal]), strict=True))
    return composition.groups({i: (candidates[i], alone[i][0]) for i in equal})


def _seen(examination: Examination, tokenizer: str) -> frozenset[int]:
    """Return every id that the run's corpora produced."""
    cells = [c for c in examination.tallies.counted() if c.key.tokenizer == tokenizer]
    if not cells:
        return frozenset()
    return frozenset(np.unique(np.concatenate([c.tally.histogram_ids for c in cells])).tolist())


def _swallowing(subject: Subject, added: Sequence[int]) -> list[int]:
    vocabulary = subject.tokenizer.vocabulary
    texts = [(vocabulary.token_bytes[i] or b"").decode("utf-8", "replace") for i in added]
    # white space added tokens themselves merge with their neighbours, which is no loss
    bare = [(i, text) for i, text in zip(added, texts, strict=True) if text.strip() == text != ""]
    trips = subject.trips([f"x  {text}  y" for _, text in bare])
    plain = subject.trips(["x  y"])[0]
    if not plain.exact:  # it loses such spaces everywhere
        return []
    return [
        i
        for (i, _), trip in zip(bare, trips, strict=True)
        if trip.failure is None and trip.back.count(" ") < trip.text.count(" ")
    ]


def _overlaps(hashed: Mapping[str, Entries]) -> Iterator[Measurement]:
    keys = list(hashed)
    for place, first in enumerate(keys):
        for second in keys[place + 1 :]:
            found = overlap.overlap(hashed[first], hashed[second])
            yield Measurement(
                metric=OVERLAP,
                tokenizer=first,
                value=found.jaccard,
                n=found.common + found.only_first + found.only_second,
                params={
                    "first": first,
                    "second": second,
                    "common": found.common,
                    "moved": found.moved,
                    "only_first": found.only_first,
                    "only_second": found.only_second,
                    "unit_of_n": "entries",
                },
                reason=None if found.jaccard is not None else "empty_vocabulary",
                detail=None if found.jaccard is not None else "both vocabularies are empty",
            )


def _one(
    subject: Subject,
    metric: MetricSpec,
    value: float | None,
    params: Mapping[str, object],
    why: Why | None = None,
) -> Measurement:
    n = subject.tokenizer.vocabulary.n_entries
    return row(subject.key, metric, value, n=n, unit="entries", params=params, why=why)
