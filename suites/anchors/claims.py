"""Claims, checked: statements about tokenizers as data, and the page that says what is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from tokbench.api import load_tokenizer
from tokbench.bench.config.schema import load_options
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.corpus.slices import materialise
from tokbench.bench.errors import InputError
from tokbench.bench.markup import escape, markdown_table, number, percent, visible
from tokbench.bench.results.run_folder import Results
from tokbench.suites.anchors.measuring import pieces_of, results_of, values_of

CORPUS = "parallel"
Range = tuple[float, float]


class _Claim(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MetricClaim(_Claim):
    """A metric of some tokenizers in one language lies in a range."""

    kind: Literal["metric"]
    metric: str
    tokenizers: tuple[str, ...]
    language: str
    said: Range
    about: tuple[str, ...]
    """The tokenizers that the claim is about; the others are there to compare."""
    column: str = "tokens per word"
    """What the metric is called in the table."""


class PiecesClaim(_Claim):
    """Texts are cut into these pieces, a space before the first aside."""

    kind: Literal["pieces"]
    texts: tuple[str, ...]
    tokenizers: tuple[str, ...]
    said: tuple[str, ...]


class CountClaim(_Claim):
    """Texts are so many tokens."""

    kind: Literal["count"]
    texts: tuple[str, ...]
    tokenizers: tuple[str, ...]
    said: int


class SavingClaim(_Claim):
    """The second tokenizer of each pair saves a share of the first one's tokens."""

    kind: Literal["saving"]
    pairs: tuple[tuple[str, str], ...]
    languages: tuple[str, ...]
    said: Range
    about: tuple[str, ...]


class WhitespaceClaim(_Claim):
    """Tokens ÷ pieces between white space lie in a range."""

    kind: Literal["whitespace"]
    tokenizers: tuple[str, ...]
    languages: tuple[str, ...]
    said: Range
    about: tuple[str, ...]


class BytesClaim(_Claim):
    """The ratio of bytes to the pivot's is the premium, within an absolute difference."""

    kind: Literal["bytes"]
    tokenizers: tuple[str, ...]
    languages: tuple[str, ...]
    within: float


class WordLengthClaim(_Claim):
    """The mean length of a word in characters lies in a range."""

    kind: Literal["word_length"]
    languages: tuple[str, ...]
    said: Range
    about: tuple[str, ...]


class TrainingRun(_Claim):
    """One training, timed by hand: clocks are not part of what the page is rebuilt from."""

    trainer: str
    megabytes: float
    seconds: float


class TrainingClaim(_Claim):
    """At the rate of the runs that are written down, a gigabyte takes so many seconds."""

    kind: Literal["training"]
    runs: tuple[TrainingRun, ...]
    said: Range


Measure = Annotated[
    MetricClaim
    | PiecesClaim
    | CountClaim
    | SavingClaim
    | WhitespaceClaim
    | BytesClaim
    | WordLengthClaim
    | TrainingClaim,
    Field(discriminator="kind"),
]


class Claim(_Claim):
    """One statement, how it is measured, and what to know about it."""

    claim: str
    remark: str
    measure: Measure


class Claims(_Claim):
    """A page of claims; tokenizers and corpus are entries as in a run's config."""

    tokenizers: Mapping[str, Mapping[str, Any]]
    corpus: Mapping[str, Any]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, kw_only=True)
class Line:
    """One measured case: its cells, and whether the claim holds (None: it is there to compare)."""

    cells: tuple[str, ...]
    holds: bool | None


@dataclass(frozen=True, kw_only=True)
class _WordCounts:
    """Words (UAX #29) of a text, the characters inside them, and those of the whole text."""

    words: int
    inside: int
    characters: int


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    """What claims are measured on."""

    claims: Claims
    data: Path
    results: Results
    white_space_pieces: Mapping[str, int]
    words: Mapping[str, _WordCounts]

    def tokenizer(self, name: str) -> Any:
        return load_tokenizer(self.claims.tokenizers[name], folder=self.data)


def page(path: Path, data: Path) -> str:
    """Return the Markdown page of a claims file, measured on a data folder.

    Raises `ConfigError` for a mistake in the file and `InputError` where the data is missing.
    """
    claims = load_options(path, Claims)
    config = {
        "name": "claims",
        "corpora": {CORPUS: claims.corpus},
        "tokenizers": claims.tokenizers,
        "suites": ["efficiency", "multilingual"],
    }
    with results_of(config, data) as results:
        evidence = _Evidence(
            claims=claims,
            data=data,
            results=results,
            white_space_pieces=_white_space_pieces(claims, data),
            words=_words(claims, data),
        )
        sections = [_section(claim, evidence) for claim in claims.claims]
    return "\n\n".join([_HEAD, *sections]) + "\n"


_HEAD = """# Claims, checked

Statements that are often repeated about tokenizers, and what tokbench measures. This page is
generated from `claims.yaml` by `make claims`; text is FLORES-200 devtest where a language is
named. A verdict counts the cases that the claim is about; the other rows are there to compare."""


def _section(claim: Claim, evidence: _Evidence) -> str:
    header, lines = measured(claim.measure, evidence)
    judged = [line.holds for line in lines if line.holds is not None]
    held = sum(judged)
    verdict = "holds" if held == len(judged) else "does not hold" if not held else "holds in part"
    rows = [[*line.cells, {True: "yes", False: "no", None: ""}[line.holds]] for line in lines]
    return "\n\n".join(
        [
            f"## {claim.claim}",
            f"**It {verdict}** ({held} of {len(judged)} cases). {claim.remark.strip()}",
            markdown_table([*header, "as claimed"], rows),
        ]
    )


def measured(measure: Any, evidence: _Evidence) -> tuple[list[str], list[Line]]:
    """Return the header and the lines of one claim's table."""
    header, lines = _MEASURES[measure.kind]
    if isinstance(measure, MetricClaim):
        header = [*header[:-1], measure.column]
    return header, list(lines(measure, evidence))


def _inside(value: float | None, said: Range) -> bool:
    return value is not None and said[0] <= value <= said[1]


def _metric_lines(measure: MetricClaim, evidence: _Evidence) -> Iterator[Line]:
    values = values_of(evidence.results, measure.metric)
    for name in measure.tokenizers:
        value = values.get((name, measure.language))
        holds = _inside(value, measure.said) if name in measure.about else None
        yield Line(cells=(escape(name), measure.language, number(value)), holds=holds)


def _pieces_lines(measure: PiecesClaim, evidence: _Evidence) -> Iterator[Line]:
    for name in measure.tokenizers:
        tokenizer = evidence.tokenizer(name)
        for text in measure.texts:
            pieces = [piece for piece in pieces_of(tokenizer, text) if piece.strip()]
            bare = [piece.removeprefix(" ") for piece in pieces]
            cells = (escape(name), _code(text), " · ".join(_code(piece) for piece in pieces))
            yield Line(cells=cells, holds=bare == list(measure.said))


def _count_lines(measure: CountClaim, evidence: _Evidence) -> Iterator[Line]:
    for name in measure.tokenizers:
        tokenizer = evidence.tokenizer(name)
        for text in measure.texts:
            n = len(tokenizer.encode_batch([text])[0])
            yield Line(cells=(escape(name), _code(text), str(n)), holds=n == measure.said)


def _saving_lines(measure: SavingClaim, evidence: _Evidence) -> Iterator[Line]:
    tokens = values_of(evidence.results, "tokens")
    for before, after in measure.pairs:
        for language in measure.languages:
            saving = 1 - tokens[after, language] / tokens[before, language]
            holds = _inside(saving, measure.said) if language in measure.about else None
            pair = f"{_entries(evidence, before)} → {_entries(evidence, after)}"
            yield Line(cells=(pair, language, percent(saving)), holds=holds)


def _entries(evidence: _Evidence, name: str) -> str:
    return f"{escape(name)} ({evidence.results.run['tokenizers'][name]['n_entries']:,})"


def _whitespace_lines(measure: WhitespaceClaim, evidence: _Evidence) -> Iterator[Line]:
    tokens = values_of(evidence.results, "tokens")
    premiums = values_of(evidence.results, "premium")
    fertilities = values_of(evidence.results, "fertility")
    for name in measure.tokenizers:
        for language in measure.languages:
            value = tokens[name, language] / evidence.white_space_pieces[language]
            fertility = fertilities.get((name, language))
            cells = (
                escape(name),
                language,
                number(value),
                "undefined" if fertility is None else number(fertility),
                number(premiums[name, language]),
            )
            holds = _inside(value, measure.said) if language in measure.about else None
            yield Line(cells=cells, holds=holds)


def _bytes_lines(measure: BytesClaim, evidence: _Evidence) -> Iterator[Line]:
    premiums = values_of(evidence.results, "premium")
    texts = evidence.results.run["corpora"][CORPUS]
    pivot = str(evidence.claims.corpus["pivot"])
    for language in measure.languages:
        ratio = texts[language]["bytes"] / texts[pivot]["bytes"]
        for name in measure.tokenizers:
            premium = premiums[name, language]
            cells = (language, escape(name), percent(ratio - 1), percent(premium - 1))
            yield Line(cells=cells, holds=abs(ratio - premium) <= measure.within)


def _word_length_lines(measure: WordLengthClaim, evidence: _Evidence) -> Iterator[Line]:
    for language in measure.languages:
        found = evidence.words[language]
        cells = (
            language,
            number(found.inside / found.words),
            number(found.characters / found.words),
        )
        holds = _inside(found.inside / found.words, measure.said)
        yield Line(cells=cells, holds=holds if language in measure.about else None)


def _training_lines(measure: TrainingClaim, evidence: _Evidence) -> Iterator[Line]:
    for run in measure.runs:
        gigabyte = 1000 * run.seconds / run.megabytes
        cells = (
            escape(run.trainer),
            f"{run.megabytes:g} MB",
            f"{run.seconds:g} s",
            f"{gigabyte:,.0f} s",
        )
        yield Line(cells=cells, holds=_inside(gigabyte, measure.said))


_MEASURES: Mapping[str, tuple[list[str], Callable[[Any, _Evidence], Iterator[Line]]]] = {
    "metric": (["tokenizer", "language", "tokens per word"], _metric_lines),
    "pieces": (["tokenizer", "text", "pieces"], _pieces_lines),
    "count": (["tokenizer", "text", "tokens"], _count_lines),
    "saving": (["vocabularies", "language", "tokens saved"], _saving_lines),
    "whitespace": (
        ["tokenizer", "language", "tokens per white-space piece", "fertility", "premium"],
        _whitespace_lines,
    ),
    "bytes": (["language", "tokenizer", "bytes over English", "overhead"], _bytes_lines),
    "word_length": (
        ["language", "characters of a word", "characters of the text ÷ words"],
        _word_length_lines,
    ),
    "training": (["trainer", "text", "CPU", "a gigabyte at that rate"], _training_lines),
}


def _code(text: str) -> str:
    return f"<code>{escape(visible(text))}</code>"


def _white_space_pieces(claims: Claims, data: Path) -> dict[str, int]:
    """Count the pieces between white space of each language that a claim asks for."""
    return {
        language: sum(len(text.split()) for batch in part.batches() for text in batch.texts)
        for language, part in _slices(claims, data, WhitespaceClaim)
    }


def _words(claims: Claims, data: Path) -> dict[str, _WordCounts]:
    """Count the words of each language that a claim asks for."""
    return {
        language: _word_counts(part) for language, part in _slices(claims, data, WordLengthClaim)
    }


def _word_counts(part: Slice) -> _WordCounts:
    words = inside = characters = 0
    for batch in part.batches():
        if batch.word_starts is None or batch.word_ends is None:
            raise InputError(f"words are undefined in {part.meta.language}")
        # a character begins at every byte that is not a continuation, 0b10xxxxxx
        begins = np.concatenate([[0], np.cumsum((batch.buffer & 0xC0) != 0x80)])
        words += len(batch.word_starts)
        inside += int((begins[batch.word_ends] - begins[batch.word_starts]).sum())
        characters += int(begins[-1])
    return _WordCounts(words=words, inside=inside, characters=characters)


def _slices(
    claims: Claims, data: Path, kind: type[WhitespaceClaim | WordLengthClaim]
) -> Iterator[tuple[str, Slice]]:
    """Yield the text of each language that a kind of claim asks for."""
    from pydantic import TypeAdapter

    from tokbench.bench.config.corpora import CorpusEntry

    entry: Any = TypeAdapter(CorpusEntry).validate_python(dict(claims.corpus))
    for claim in claims.claims:
        if isinstance(claim.measure, kind):
            for language in claim.measure.languages:
                yield language, materialise(CORPUS, entry, language, data)
