"""How the texts of a run use a vocabulary: what merging leaves behind, what only one word needs.

Residues, ranks and languages follow from the counts of ids; entries of one word and candidates
for glitch tokens ask the tokenizer again, for a bounded number of documents and for entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import (
    Finding,
    HasMerging,
    HasPreTokens,
    IntArray,
    Measurement,
    MetricSpec,
)
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject, TokenizerSuite
from tokbench.suites.histograms import merged
from tokbench.suites.rows import row
from tokbench.suites.usage import counted, glitches
from tokbench.suites.usage.residues import Uses, uses
from tokbench.suites.usage.specs import (
    AVERAGE_TOKEN_RANK,
    GLITCH_CANDIDATES,
    LANGUAGES_PER_ENTRY,
    MERGE_RESIDUES,
    METRICS,
    ONE_WORD_ENTRIES,
    USE_VARIATION,
)
from tokbench.suites.usage.words import WordsOfEntries


class Usage(TokenizerSuite):
    """Merge residues, entries of one word, glitch candidates, ranks, languages of an entry.

    `final_share` is the limit of residues; `documents` of each language are cut into pre-tokens;
    `embeddings` are `.safetensors` files by tokenizer, FILE or FILE#TENSOR, from the working folder.
    """

    final_share: float = Field(
        0.1, ge=0, lt=1, description="Largest share of final uses of a merge residue."
    )
    documents: int = Field(
        200, ge=0, description="Documents of each language that are cut into pre-tokens."
    )
    at_least: int = Field(10, ge=2, description="Tokens from which an entry counts as of one word.")
    shortest: int = Field(4, ge=1, description="Characters of a glitch candidate.")
    examples: int = Field(100, ge=1, le=10_000, description="Entries that a finding lists.")
    embeddings: Mapping[str, str] = Field(
        {},
        description="Embedding of a tokenizer's model by key: a `.safetensors` FILE or FILE#TENSOR.",
    )

    metrics: ClassVar[tuple[MetricSpec, ...]] = METRICS

    def measure(self, examination: Examination) -> Iterable[Measurement | Finding]:
        """Return what one tokenizer shows."""
        for subject in examination.subjects():
            cells = [c for c in examination.tallies.counted() if c.key.tokenizer == subject.key]
            by_corpus = _by_corpus(cells)
            yield from self._residues(subject, by_corpus)
            for corpus, some in by_corpus.items():
                yield from self._one_word(examination, subject, corpus, some)
            yield from self._glitches(subject, cells)

    def compare(self, tallies: Tallies) -> Iterable[Measurement]:
        """Return ranks and languages from the counts."""
        by_tokenizer: dict[str, list[Cell]] = {}
        for cell in tallies.counted():
            by_tokenizer.setdefault(cell.key.tokenizer, []).append(cell)
        for cells in by_tokenizer.values():
            yield from map(_rank, cells)
            for corpus, some in _by_corpus(cells).items():
                yield from _languages(corpus, some)

    def _residues(
        self, subject: Subject, by_corpus: Mapping[str, Sequence[Cell]]
    ) -> Iterator[Measurement | Finding]:
        tokenizer = subject.tokenizer
        rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
        for corpus, cells in by_corpus.items():
            if rules is None:
                why = Why("not_offered", "not BPE, or it does not say how it merges")
                yield row(subject.key, MERGE_RESIDUES, None, corpus=corpus, why=why)
                continue
            found = uses(rules, _counts(cells))
            residues = [i for i, one in found.items() if one.final_share <= self.final_share]
            residues.sort(key=lambda i: (-found[i].intermediate, i))
            yield row(
                subject.key,
                MERGE_RESIDUES,
                len(residues),
                n=len(found),
                unit="entries",
                corpus=corpus,
                params={
                    "final_share": self.final_share,
                    "share_of_used": len(residues) / len(found) if found else None,
                    "never_final": sum(found[i].final == 0 for i in residues),
                },
            )
            if residues:
                yield self._note(subject, "residue", residues, corpus, uses=found)

    def _one_word(
        self, examination: Examination, subject: Subject, corpus: str, cells: Sequence[Cell]
    ) -> Iterator[Measurement | Finding]:
        if not self.documents:
            return
        if not isinstance(subject.tokenizer, HasPreTokens):
            silent = Why("not_offered", "it does not say where it cuts text before its model")
            yield row(subject.key, ONE_WORD_ENTRIES, None, corpus=corpus, why=silent)
            return
        words = WordsOfEntries()
        for cell in cells:
            wanted = _spread(cell.tally.n, self.documents)
            for _, texts in examination.documents(corpus, cell.key.language, wanted):
                answers = subject.in_pre_tokens(texts)
                words.add(one for one in answers if not isinstance(one, str))
        found = words.of_one_word(self.at_least)
        why: Why | None = None
        if words.pre_tokens <= words.texts:
            why = Why("not_offered", "it cuts nothing before its model, so it has no such words")
        yield row(
            subject.key,
            ONE_WORD_ENTRIES,
            None if why else len(found),
            n=words.seen(self.at_least),
            unit="entries",
            corpus=corpus,
            why=why,
            params={"at_least": self.at_least, "documents": words.texts},
        )
        if found and not why:
            yield self._note(subject, "one_word", found, corpus)

    def _glitches(self, subject: Subject, cells: Sequence[Cell]) -> Iterator[Measurement | Finding]:
        vocabulary = subject.tokenizer.vocabulary
        seen = merged([cell.tally for cell in cells])[0].tolist() if cells else []
        possible = glitches.candidates(vocabulary, seen, shortest=self.shortest)
        reached = _reached(subject, possible)
        # some put a space of their own before a text
        bare = {i: t[1:] for i, t in possible.items() if t[0] == " " and i not in reached}
        found = reached | _reached(subject, bare)
        yield row(
            subject.key,
            GLITCH_CANDIDATES,
            len(found),
            n=vocabulary.n_entries,
            unit="entries",
            params={
                "shortest": self.shortest,
                "bytes": int(sum(cell.tally.total("bytes") for cell in cells)),
            },
        )
        if found:
            yield self._glitch_note(subject, {i: t for i, t in possible.items() if i in found})

    def _glitch_note(self, subject: Subject, reached: Mapping[int, str]) -> Finding:
        norms, failed = None, None
        if subject.key in self.embeddings:
            file, _, tensor = self.embeddings[subject.key].partition("#")
            try:
                n_ids = subject.tokenizer.vocabulary.n_ids
                norms = glitches.row_norms(Path(file), tensor or None, n_ids)
            except TokenizerError as exc:
                failed = str(exc)
        found = glitches.with_norms(reached, norms)
        if norms is not None:
            found.sort(key=lambda one: (one.norm or 0, one.id))
        chosen = found[: self.examples]
        return Finding(
            kind="note",
            reason="examples",
            tokenizer=subject.key,
            message=f"{len(reached):,} entries are in no text of the run, such as "
            f"{', '.join(ascii(one.text) for one in chosen[:3])}"
            + (f"; the embedding was not read: {failed}" if failed else ""),
            data={
                "class": "glitch",
                "ids": [one.id for one in chosen],
                "texts": [one.text for one in chosen],
                "norms": [one.norm for one in chosen],
                "norm_quantiles": [one.norm_quantile for one in chosen],
                "total": len(reached),
            },
        )

    def _note(
        self,
        subject: Subject,
        class_: str,
        ids: Sequence[int],
        corpus: str,
        uses: Mapping[int, Uses] | None = None,
    ) -> Finding:
        chosen = list(ids[: self.examples])
        content = [subject.tokenizer.vocabulary.token_bytes[i] or b"" for i in chosen]
        texts = [one.decode("utf-8", "backslashreplace") for one in content]
        data: dict[str, object] = {
            "class": class_,
            "ids": chosen,
            "texts": texts,
            "total": len(ids),
        }
        if uses is not None:
            data["final"] = [uses[i].final for i in chosen]
            data["intermediate"] = [uses[i].intermediate for i in chosen]
        return Finding(
            kind="note",
            reason="examples",
            tokenizer=subject.key,
            corpus=corpus,
            message=f"{len(ids):,} entries ({class_.replace('_', ' ')}), such as "
            f"{', '.join(map(ascii, texts[:3]))}",
            data=data,
        )


def _reached(subject: Subject, texts: Mapping[int, str]) -> set[int]:
    """Return the entries that encoding their text gives."""
    answers = zip(texts, subject.ids(list(texts.values())), strict=True)
    return {i for i, ids in answers if ids == (i,)}


def _by_corpus(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.key.corpus, []).append(cell)
    return found


def _counts(cells: Sequence[Cell]) -> dict[int, int]:
    ids, counts = merged([cell.tally for cell in cells])
    return dict(zip(ids.tolist(), counts.tolist(), strict=True))


def _spread(n: int, most: int) -> IntArray:
    """Return up to so many rows, at equal distances.

    >>> _spread(10, 3).tolist(), _spread(2, 3).tolist()
    ([0, 4, 9], [0, 1])
    """
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _rank(cell: Cell) -> Measurement:
    counts = cell.tally.histogram_counts
    value = counted.average_rank(counts) if len(counts) else None
    why = None if len(counts) else Why("no_tokens", "")
    return row(
        cell, AVERAGE_TOKEN_RANK, value, n=int(counts.sum()), unit="tokens", why=why,
        params={"entries": len(counts)},
    )  # fmt: skip


def _languages(corpus: str, cells: Sequence[Cell]) -> Iterator[Measurement]:
    some = [c for c in cells if len(c.tally.histogram_ids)]
    why = Why("too_few_languages", "") if len(some) < 2 else None
    table = None if why else counted.shares(
        [(c.tally.histogram_ids, c.tally.histogram_counts) for c in some]
    )  # fmt: skip
    for metric, value in (
        (LANGUAGES_PER_ENTRY, counted.languages_per_entry),
        (USE_VARIATION, counted.use_variation),
    ):
        yield row(
            cells[0].key.tokenizer,
            metric,
            None if table is None else value(table),
            n=0 if table is None else table.shape[1],
            unit="entries",
            corpus=corpus,
            why=why,
            params={"languages": len(some)},
        )
