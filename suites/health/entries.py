"""The entries of a vocabulary: as in the file, once each, and within reach of some text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tokbench.bench.markup import listed, percent, plural, word_for
from tokbench.bench.model import HasMerging, HasSpelling
from tokbench.bench.run.probe import Examination, Subject
from tokbench.suites.health.stored import Stored
from tokbench.suites.health.verdict import HealthFinding, quoted
from tokbench.suites.vocabulary import composition, merging, reachability

_PAGE = "docs/metrics.md, suite vocabulary"
_GLITCH = "their embeddings are hardly trained; shown to a model they can make it answer nonsense"


def check_file(subject: Subject, stored: Stored | None) -> HealthFinding:
    """Hold ids and entries against the file, read by other code than the library's."""
    vocabulary = subject.tokenizer.vocabulary
    size = f"{plural(vocabulary.n_entries, 'entry', 'entries')}, highest id {vocabulary.n_ids - 1}"
    holes = len(vocabulary.hole_ids)
    remarks = list(stored.remarks) if stored else []
    if holes:
        remarks.append(f"{plural(holes, 'id')} below the highest {word_for(holes, 'has', 'have')} "
                       "no entry")  # fmt: skip
    odd = _disagreeing(subject, stored) if stored else []
    if odd:
        return HealthFinding(
            name="entries",
            verdict="fail",
            text=f"{plural(len(odd), 'entry', 'entries')} {word_for(len(odd), 'differs', 'differ')} "
            f"from the file: {listed(odd, 3)}",
            cost="ids of this tokenizer are not those that the model was trained on",
            page=_PAGE,
        )
    read = "as in the file" if stored and stored.entries else "as the library reads the file"
    return HealthFinding(
        name="entries",
        verdict="warn" if remarks else "pass",
        text="; ".join([f"{size}, {read}", *remarks]),
        cost="an embedding needs a row for every id up to the highest" if holes else "",
        page=_PAGE if remarks else "",
    )


def _disagreeing(subject: Subject, stored: Stored) -> list[str]:
    tokenizer, vocabulary = subject.tokenizer, subject.tokenizer.vocabulary
    left_out = vocabulary.special_ids | vocabulary.unknown_ids  # spelled apart, to match nothing
    by_id = {
        i: one for i, one in stored.entries.items() if i < vocabulary.n_ids and i not in left_out
    }
    beyond = [f"id {i} is missing" for i in stored.entries if i >= vocabulary.n_ids]
    texts = {i: one for i, one in by_id.items() if isinstance(one, str)}
    found: dict[int, str | bytes | None] = {}
    if isinstance(tokenizer, HasSpelling):
        found = dict(zip(texts, tokenizer.spelling(list(texts)), strict=True))
    raw = {i: one for i, one in by_id.items() if isinstance(one, bytes)}
    found |= {i: vocabulary.token_bytes[i] for i in raw}
    odd = [i for i, one in found.items() if one != by_id[i] and one is not None]
    return beyond + [f"id {i} is {found[i]!r}, in the file {by_id[i]!r}" for i in odd]


def checks(examination: Examination, subject: Subject, *, search: bool) -> Iterator[HealthFinding]:
    """Return duplicates, entries that merging does not build, and those no text was found for."""
    candidates = reachability.candidates(subject.tokenizer.vocabulary)
    yield _duplicates(subject, candidates)
    yield _unmerged(subject)
    if search:
        yield _unreached(examination, subject, candidates)
    yield _residue(subject)


def _duplicates(subject: Subject, candidates: Mapping[int, bytes]) -> HealthFinding:
    equal = [i for group in composition.groups(candidates) for i in group]
    alone = dict(zip(equal, subject.texts([[i] for i in equal]), strict=True))
    groups = composition.groups({i: (candidates[i], alone[i][0]) for i in equal})
    texts = composition.texts_of(subject.tokenizer.vocabulary)
    same = {form: composition.surplus(composition.same_form(texts, form)) for form in ("NFC",)}
    if not groups and not any(same.values()):
        return HealthFinding(
            name="duplicates", verdict="pass", text="no two entries are the same text"
        )
    shown = [_named(subject, group) for group in groups]
    n_groups = len(groups)
    parts = [
        f"{plural(n_groups, 'group')} of entries {word_for(n_groups, 'decodes', 'decode')} to the "
        f"same text: {listed(shown, 3)}"
    ]
    if not groups:
        parts = []
    parts += [
        f"{plural(n, 'entry', 'entries')} {word_for(n, 'equals', 'equal')} another after {form}"
        for form, n in same.items()
        if n
    ]
    return HealthFinding(
        name="duplicates",
        verdict="warn",
        text="; ".join(parts),
        cost="one text has several lists of ids, and rows of the embedding are split between them",
        page=_PAGE,
    )


def _unmerged(subject: Subject) -> HealthFinding:
    tokenizer = subject.tokenizer
    rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
    if rules is None:
        text = "does not apply: not BPE, or its merges are not known"
        return HealthFinding(name="merges", verdict="pass", text=text)
    odd, of = merging.not_reached(rules)
    if not odd:
        text = f"merging builds each of {plural(of, 'entry', 'entries')}"
        return HealthFinding(name="merges", verdict="pass", text=text)
    return HealthFinding(
        name="merges",
        verdict="warn",
        text=f"{len(odd)} of {of} entries are not built by merging: {_named(subject, odd)}",
        cost=_GLITCH,
        page=_PAGE,
    )


def _unreached(
    examination: Examination, subject: Subject, candidates: Mapping[int, bytes]
) -> HealthFinding:
    cells = [c for c in examination.tallies.counted() if c.key.tokenizer == subject.key]
    ids = [c.tally.histogram_ids for c in cells]
    seen = frozenset(np.unique(np.concatenate(ids)).tolist()) if ids else frozenset()
    vocabulary = subject.tokenizer.vocabulary
    found, _ = reachability.not_reached(subject, candidates, seen)
    found = [i for i in found if not reachability.in_no_text(vocabulary, i)]
    of = len(candidates)
    if not found:
        text = f"a text was found for each of {plural(of, 'entry', 'entries')}"
        return HealthFinding(name="unreachable", verdict="pass", text=text)
    share = percent(len(found) / of, 2)
    return HealthFinding(
        name="unreachable",
        verdict="warn",
        text=f"no text was found for {len(found)} of {of} entries ({share}), such as "
        f"{_named(subject, found)}",
        cost=_GLITCH,
        page=_PAGE,
    )


def _residue(subject: Subject) -> HealthFinding:
    """Find entries that broken text left behind."""
    vocabulary = subject.tokenizer.vocabulary
    texts = composition.texts_of(vocabulary)
    odd = [i for i, text in texts.items() if i not in vocabulary.added_ids and _is_residue(text)]
    what = "U+FFFD, or a code point that is unassigned or for private use"
    if not odd:
        return HealthFinding(name="residue", verdict="pass", text=f"no entry holds {what}")
    holds = word_for(len(odd), "holds", "hold")
    return HealthFinding(
        name="residue",
        verdict="warn",
        text=f"{plural(len(odd), 'entry', 'entries')} {holds} {what}: {_named(subject, odd)}",
        cost="rows of the embedding that broken text took",
        page=_PAGE,
    )


def _is_residue(text: str) -> bool:
    return "\ufffd" in text or any(unicodedata.category(c) in ("Cn", "Co") for c in text)


def _named(subject: Subject, ids: Sequence[int]) -> str:
    contents = subject.tokenizer.vocabulary.token_bytes
    shown = [f"{i} {_shown(contents[i] or b'')}" for i in ids[:3]]
    return listed(shown) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")


def _shown(content: bytes) -> str:
    try:
        return quoted(content.decode())
    except UnicodeDecodeError:
        return f"bytes {content.hex(' ')}"
