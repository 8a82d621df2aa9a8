"""Limits held against the tokens of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tokbench.bench.commands.budget.counts import Start, TextCounts, count_all, entries_of
from tokbench.bench.commands.budget.git import Base, base_of
from tokbench.bench.commands.budget.lines import dearest
from tokbench.bench.commands.budget.outcome import (
    BudgetOutcome,
    FileTokens,
    LimitCheck,
    Status,
    total,
)
from tokbench.bench.commands.budget.schema import (
    BudgetTokenizer,
    LimitName,
    TokenBudget,
    TokenLimits,
)
from tokbench.bench.commands.budget.store import Store
from tokbench.bench.commands.budget.texts import Content, FilePair, MatchedFiles, collect
from tokbench.bench.results.costs import context_used, price

MOST_FILES = 5
"""Files whose lines are looked at."""


def check_budget(
    budget: TokenBudget, path: Path, revision: str | None, start: Start
) -> BudgetOutcome:
    """Count the files of a budget and hold its limits against them.

    Raises `UsageError` for an unknown tokenizer or a pattern that leaves the budget's folder, and
    `ResultsError` where the base cannot be read.
    """
    folder = path.parent.resolve()
    config, notes = entries_of(budget.tokenizers, folder)
    revision = revision or budget.base
    base = None if revision is None else base_of(revision, folder)
    files = collect(budget.groups, folder, base)
    with Store() as store:
        counts = count_all(config, _countable(files.pairs), store, start)
    tokens = [
        _file_tokens(pair, key, counts, base) for pair in files.pairs for key in budget.tokenizers
    ]
    checks = list(_checks(budget, tokens))
    worst = _worst(tokens, checks)
    texts = {pair.file: pair for pair in files.pairs}
    with start([c for one in worst for c in (texts[one.file].now,) if c]) as executor:
        lines = dearest(config, [(one.tokenizer, texts[one.file]) for one in worst], executor)
    return BudgetOutcome(
        budget=path.name,
        base=revision,
        base_commit=None if base is None else base.commit,
        currency=budget.currency,
        files=tuple(sorted(tokens, key=_by_growth)),
        checks=tuple(sorted(checks, key=lambda one: (one.passed, one.value is None))),
        lines=tuple(lines),
        problems=tuple(_problems(budget, files, tokens, counts, has_base=base is not None)),
        notes=(*notes, *files.skipped, *_notes(path, base)),
    )


def _countable(pairs: Iterable[FilePair]) -> list[Content]:
    both = [one for pair in pairs for one in (pair.now, pair.before)]
    return [one for one in both if one is not None and one.why_not is None]


def _by_growth(one: FileTokens) -> tuple[float, float, str, str]:
    return (-(one.growth or 0), -(one.tokens or 0), one.file, one.tokenizer)


def _file_tokens(pair: FilePair, key: str, counts: TextCounts, base: Base | None) -> FileTokens:
    now, reason = _tokens(pair.now, key, counts)
    before, reason_before = _tokens(pair.before, key, counts)
    return FileTokens(
        file=pair.file,
        base_file=pair.base_file,
        groups=pair.groups,
        tokenizer=key,
        status=None if base is None else _status(pair),
        tokens=now,
        base_tokens=None if base is None else before,
        reason=reason or (reason_before and f"in the base it {reason_before}"),
    )


def _tokens(content: Content | None, key: str, counts: TextCounts) -> tuple[int | None, str | None]:
    if content is None:
        return 0, None
    if content.why_not is not None:
        return None, content.why_not
    place = (key, content.sha256)
    if place in counts.tokens:
        return counts.tokens[place], None
    return None, f"cannot be encoded: {counts.failed.get(place, 'the tokenizer failed')}"


def _status(pair: FilePair) -> Status:
    if pair.now is None:
        return "deleted"
    if pair.before is None:
        return "new"
    if pair.base_file != pair.file:
        return "renamed"
    return "same" if pair.now.sha256 == pair.before.sha256 else "changed"


@dataclass(frozen=True)
class _Sum:
    """Tokens of some files together; None where one of them was not counted."""

    tokens: int | None
    base: int | None

    @classmethod
    def of(cls, files: Iterable[FileTokens]) -> _Sum:
        rows = list(files)
        return cls(total(one.tokens for one in rows), total(one.base_tokens for one in rows))


def _checks(budget: TokenBudget, files: Sequence[FileTokens]) -> Iterator[LimitCheck]:
    for key, costs in budget.tokenizers.items():
        mine = [one for one in files if one.tokenizer == key]
        for name, group in budget.groups.items():
            inside = [one for one in mine if name in one.groups]
            for one in inside:
                if one.status != "deleted":
                    yield from _held(group.each, "file", one.file, key, costs, _Sum.of([one]))
            if inside:
                yield from _held(group.whole, "group", name, key, costs, _Sum.of(inside))
        if mine:
            yield from _held(budget.total, "total", "", key, costs, _Sum.of(mine))


_APPLIES: Mapping[LimitName, Callable[[BudgetTokenizer, _Sum], bool]] = {
    "price": lambda costs, _: costs.input_per_million is not None,
    "context_used": lambda costs, _: costs.context is not None,
    "growth_percent": lambda _, measured: measured.base != 0,
}
"""Where a limit can hold: what is new has no growth in per cent."""


def _held(
    limits: TokenLimits,
    scope: Literal["file", "group", "total"],
    name: str,
    key: str,
    costs: BudgetTokenizer,
    measured: _Sum,
) -> Iterator[LimitCheck]:
    for limit, allowed in limits.given():
        if limit in _APPLIES and not _APPLIES[limit](costs, measured):
            continue
        value = _value(limit, measured, costs)
        yield LimitCheck(
            scope=scope,
            name=name,
            tokenizer=key,
            limit=limit,
            allowed=allowed,
            value=value,
            passed=value is not None and value <= allowed,
        )


def _value(limit: LimitName, measured: _Sum, costs: BudgetTokenizer) -> float | None:
    now, before = measured.tokens, measured.base
    if now is None:
        return None
    if limit == "tokens":
        return now
    if limit == "price":
        return price(now, costs.input_per_million)
    if limit == "context_used":
        return context_used(now, costs.context)
    if before is None:
        return None
    return now - before if limit == "growth_tokens" else 100 * (now / before - 1)


def _worst(files: Sequence[FileTokens], checks: Sequence[LimitCheck]) -> list[FileTokens]:
    """Return the files behind the exceeded limits: those that grew most, or are largest."""
    found: dict[tuple[str, str], FileTokens] = {}
    for one in checks:
        if one.passed or one.value is None:
            continue
        mine = [f for f in files if f.tokenizer == one.tokenizer and f.tokens and _in(f, one)]
        for file in sorted(mine, key=_by_growth)[:MOST_FILES]:
            found.setdefault((file.file, file.tokenizer), file)
    return sorted(found.values(), key=_by_growth)[:MOST_FILES]


def _in(file: FileTokens, one: LimitCheck) -> bool:
    names: Mapping[str, bool] = {
        "file": file.file == one.name,
        "group": one.name in file.groups,
        "total": True,
    }
    return names[one.scope]


def _problems(
    budget: TokenBudget,
    files: MatchedFiles,
    tokens: Sequence[FileTokens],
    counts: TextCounts,
    *,
    has_base: bool,
) -> Iterator[str]:
    yield from counts.problems
    yield from (f"{one} matches no file, so nothing of it is limited" for one in files.unmatched)
    if not any(limits.given() for limits in budget.limits()):
        yield "no limit is set, so nothing is gated"
    if budget.limits_growth and not has_base:
        yield "limits on growth need a base: give --base REVISION, or `base:` in the budget"
    needed = budget.limits_growth and has_base
    told: dict[str, str] = {}
    for one in tokens:
        failed = one.tokens is None or (needed and one.base_tokens is None)
        if failed and one.reason is not None and not counts.problems:
            told[f"{one.file}: {one.reason}"] = one.file
    yield from told


def _notes(path: Path, base: Base | None) -> Iterator[str]:
    if base is None:
        return
    yield f"base: {base.revision}, merge base {base.commit[:12]}"
    if path.name in base.blobs:
        if base.read([path.name])[path.name] != path.read_bytes():
            yield f"{path.name} itself differs from the base: read its limits too"
    else:
        yield f"{path.name} is not in the base"
