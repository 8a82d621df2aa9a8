"""How tokens cut source code: lines, identifiers, operators, indentation, told apart by Pygments.

Each slice of a code corpus is lexed once; positions are bytes of its documents' joined UTF-8, and
every tokenizer is laid over the same positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tokbench.bench.corpus.slice_file import SliceBatch
from tokbench.bench.count.encoded import Encoded
from tokbench.bench.count.words import Boundaries
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Finding, IntArray, Measurement, MetricSpec, Place
from tokbench.bench.reasons import Why
from tokbench.bench.run.probe import Examination, Subject
from tokbench.suites.probes.specs import (
    CODE_METRICS,
    CUT_AT_PARTS,
    INDENT_LEVEL,
    ISOLATED_OPERATORS,
    TOKENS_PER_LINE,
    WHOLE_IDENTIFIERS,
)
from tokbench.suites.rows import row

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_INDENT = re.compile(rb"^[ \t]+(?=[^\s])", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class CodeText:
    """Lexed documents of one slice."""

    corpus: str
    language: str
    texts: list[str]
    lines: int
    """Lines that are not blank."""
    names: IntArray
    """First and one-past-last byte of each identifier; shape (n, 2)."""
    parts: tuple[frozenset[int], ...]
    """For each identifier the bytes at which it may be cut between parts."""
    operators: IntArray
    """Shape (n, 2)."""
    indents: IntArray
    """Shape (n, 2)."""
    levels: int


def code_texts(examination: Examination, n_bytes: int) -> list[CodeText]:
    """Lex the first documents of every code slice, up to so many bytes each."""
    return [
        _lexed(corpus, language, _first_documents(examination, corpus, language, n_bytes))
        for (corpus, language), facts in examination.tallies.corpora.items()
        if facts.kind == "code"
    ]


def _first_documents(
    examination: Examination, corpus: str, language: str, n_bytes: int
) -> list[str]:
    texts: list[str] = []
    total = 0
    for batch in examination.slices[Place(corpus, language)].batches():
        for text, size in zip(batch.texts, np.diff(batch.offsets).tolist(), strict=True):
            if total >= n_bytes:
                return texts
            texts.append(text)
            total += size
    return texts


def _lexed(corpus: str, language: str, texts: list[str]) -> CodeText:
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(language)
    found = _Found()
    base = 0
    for text in texts:
        _lex_one(lexer, text, base, found)
        base += len(text.encode())
    return CodeText(
        corpus=corpus,
        language=language,
        texts=texts,
        lines=sum(bool(line.strip()) for text in texts for line in text.split("\n")),
        names=_spans(found.names),
        parts=tuple(found.parts),
        operators=_spans(found.operators),
        indents=_spans(found.indents),
        levels=found.levels,
    )


class _Found:
    """Spans collected while documents are lexed."""

    def __init__(self) -> None:
        self.names: list[tuple[int, int]] = []
        self.parts: list[frozenset[int]] = []
        self.operators: list[tuple[int, int]] = []
        self.indents: list[tuple[int, int]] = []
        self.levels = 0


def _lex_one(lexer: Any, text: str, base: int, found: _Found) -> None:
    from pygments.token import Name, Operator

    at = base
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        size = len(value.encode())
        if kind in Name and value.strip() == value and value:
            found.names.append((at, at + size))
            found.parts.append(frozenset(at + cut for cut in part_cuts(value)))
        elif kind in Operator and value.strip() == value and not value.isalnum():
            found.operators.append((at, at + size))
        at += size
    data = text.encode()
    spans = [match.span() for match in _INDENT.finditer(data)]
    found.indents += [(base + start, base + end) for start, end in spans]
    found.levels += _levels([data[start:end] for start, end in spans])


def _levels(indents: Sequence[bytes]) -> int:
    """Add up levels: one for each tab, and spaces by the smallest indent of spaces.

    >>> _levels([b"    ", b"        ", b"\\t\\t"])
    5
    """
    spaces = [indent.count(b" ") for indent in indents]
    # one space beside a comment's star is no level
    unit = min((n for n in spaces if n > 1), default=1)
    tabs = sum(indent.count(b"\t") for indent in indents)
    return tabs + sum(round(n / unit) for n in spaces)


def part_cuts(name: str) -> set[int]:
    """Return the bytes at which an identifier may be cut between its parts.

    >>> sorted(part_cuts("getHTTPResponse")), sorted(part_cuts("max_len")), part_cuts("word")
    ([3, 7], [3, 4], set())
    """
    matches = list(_PART.finditer(name))
    if len(matches) < 2:
        return set()
    edges = {edge for match in matches for edge in match.span()} - {0, len(name)}
    return {len(name[:edge].encode()) for edge in edges}


def _spans(spans: list[tuple[int, int]]) -> IntArray:
    return np.array(spans, np.int64).reshape(-1, 2)


def code_measurements(
    examination: Examination, subject: Subject, code: Sequence[CodeText]
) -> Iterator[Measurement | Finding]:
    """Yield the metrics of one tokenizer on each lexed slice."""
    for one in code:
        try:
            laid = subject.cuts(one.texts)
        except TokenizerError as exc:
            yield Finding(
                kind="warning",
                reason="tokenizer_failed",
                tokenizer=subject.key,
                corpus=one.corpus,
                language=one.language,
                message=f"no probes of its code: {exc}",
            )
            continue
        yield from _measurements(subject, one, *laid)


def _measurements(
    subject: Subject, code: CodeText, batch: SliceBatch, encoded: Encoded, boundaries: Boundaries
) -> Iterator[Measurement]:
    per_line = len(encoded.ids) / code.lines if code.lines else None
    none = None if code.lines else Why("no_text", "no lines: nothing to divide by")
    yield _one(subject, code, TOKENS_PER_LINE, per_line, code.lines, "lines", none)
    if not boundaries.known.all():
        why = Why("places_unknown", "where its tokens lie is not known in every document")
        for metric in CODE_METRICS[1:]:
            yield _one(subject, code, metric, None, 0, "documents", why)
        return
    some = boundaries.ends > boundaries.starts
    tokens = np.stack([boundaries.starts[some], boundaries.ends[some]], axis=1)
    tokens = tokens[np.argsort(tokens[:, 0], kind="stable")]
    yield _whole(subject, code, WHOLE_IDENTIFIERS, code.names, tokens, batch, "identifiers")
    yield _at_parts(subject, code, tokens)
    yield _whole(subject, code, ISOLATED_OPERATORS, code.operators, tokens, batch, "operators")
    yield _indentation(subject, code, tokens)


def _whole(
    subject: Subject,
    code: CodeText,
    metric: MetricSpec,
    spans: IntArray,
    tokens: IntArray,
    batch: SliceBatch,
    unit: str,
) -> Measurement:
    n = len(spans)
    value = float(covered(spans, tokens, batch).mean()) if n and len(tokens) else None
    why = None if n else Why("nothing_found", f"the lexer found no {unit}")
    if n and not len(tokens):
        why = Why("no_tokens", "no token lies in the text")
    return _one(subject, code, metric, value, n, unit, why)


def covered(spans: IntArray, tokens: IntArray, batch: SliceBatch) -> Any:
    """Say of each span whether one token covers it and only white space before it, shape (n,)."""
    place = np.maximum(np.searchsorted(tokens[:, 0], spans[:, 0], "right") - 1, 0)
    start, end = tokens[place, 0], tokens[place, 1]
    white = np.isin(batch.buffer, np.frombuffer(b" \t\r\n", np.uint8))
    running = np.concatenate([[0], np.cumsum(~white)])
    only_space = running[spans[:, 0]] - running[np.minimum(start, spans[:, 0])] == 0
    return (start <= spans[:, 0]) & (end == spans[:, 1]) & only_space


def _at_parts(subject: Subject, code: CodeText, tokens: IntArray) -> Measurement:
    edges = np.unique(tokens)
    first = np.searchsorted(edges, code.names[:, 0], "right")
    last = np.searchsorted(edges, code.names[:, 1], "left")
    cut = good = 0
    for name in np.flatnonzero(last > first).tolist():
        if code.parts[name]:
            cut += 1
            good += set(edges[first[name] : last[name]].tolist()) <= code.parts[name]
    why = None if cut else Why("nothing_found", "no identifier with several parts is cut")
    return _one(
        subject,
        code,
        CUT_AT_PARTS,
        good / cut if cut else None,
        cut,
        "cut names with parts",
        why,
    )


def _indentation(subject: Subject, code: CodeText, tokens: IntArray) -> Measurement:
    first = np.searchsorted(tokens[:, 0], code.indents[:, 0], "left")
    last = np.searchsorted(tokens[:, 0], code.indents[:, 1], "left")
    n_tokens = int((last - first).sum())
    value = n_tokens / code.levels if code.levels and n_tokens else None
    why = None
    if value is None:
        why = Why("text_dropped", "no token covers indentation")
    if not code.levels:
        why = Why("nothing_found", "no line is indented")
    return _one(subject, code, INDENT_LEVEL, value, code.levels, "levels", why)


def _one(
    subject: Subject,
    code: CodeText,
    metric: MetricSpec,
    value: float | None,
    n: int,
    unit: str,
    why: Why | None = None,
) -> Measurement:
    return row(
        subject.key,
        metric,
        value,
        n=n,
        unit=unit,
        params={"documents": len(code.texts)},
        why=why,
        corpus=code.corpus,
        language=code.language,
    )
