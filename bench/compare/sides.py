"""Reads both sides that a user names, compares and explains them, and adds notes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tokbench.bench.compare import baseline
from tokbench.bench.compare.baseline_file import MOST_BYTES
from tokbench.bench.compare.causes import changed_versions
from tokbench.bench.compare.comparison import Comparison, compare
from tokbench.bench.compare.explain import explain, without_ids
from tokbench.bench.compare.side_by_side import text_pairs
from tokbench.bench.compare.snapshot import Snapshot, snapshot_of
from tokbench.bench.compare.stored_speed import stored_timing
from tokbench.bench.config.gate import Gate, Rule
from tokbench.bench.config.schema import Config
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.files import read_bounded
from tokbench.bench.markup import one_line, strict_json
from tokbench.bench.privacy import stored
from tokbench.bench.results.run_folder import Results, load_results


@dataclass(frozen=True, kw_only=True)
class SideInput:
    """BASE or CANDIDATE: a snapshot, and the run folder if it comes from one."""

    snapshot: Snapshot
    results: Results | None = None
    path: Path | None = None
    """The baseline file, None for a run folder and for a file at a revision."""

    @property
    def place(self) -> Path | None:
        """The file that identifies a side."""
        return self.results.folder / "run.json" if self.results else self.path


def load_side(name: str | Path, folder: Path | None = None) -> SideInput:
    """Read a run folder, a baseline file, or a baseline at a git revision (``REVISION:FILE``).

    Paths start from `folder`, by default the working folder. Raises `ResultsError` if it does
    not exist or cannot be read.
    """
    path = (folder or Path()) / name
    # a title that goes into comments and summaries
    shown = one_line(str(stored(str(path), Path.cwd())))
    if path.is_dir():
        return side_of(load_results(path), shown)
    if path.exists():
        data = read_bounded(path, MOST_BYTES)
        return SideInput(snapshot=baseline.parse(data, shown), path=path)
    revision, colon, file = str(name).partition(":")
    if colon and len(revision) > 1 and file:
        shown = one_line(str(name))
        data = _at_revision(revision, file, shown, folder or Path())
        return SideInput(snapshot=baseline.parse(data, shown))
    raise ResultsError(
        f"{shown}: no such run folder or baseline, so there is nothing to compare; "
        "save a baseline with: tokbench baseline save RUN FILE"
    )


def load_pair(names: Sequence[str], config: Config | None) -> tuple[SideInput, SideInput]:
    """Return base and candidate; a missing base is taken from the config's gate.

    Raises `UsageError` for more or fewer names.
    """
    if len(names) == 2:
        return _told_apart(load_side(names[0]), load_side(names[1]), names)
    if len(names) != 1 or config is None:
        raise UsageError(
            "compare requires BASE and CANDIDATE, or CANDIDATE with --config CONFIG whose `gate:` "
            "block names the baseline"
        )
    return load_gate_base(config), load_side(names[0])


def load_gate_base(config: Config) -> SideInput:
    """Return the baseline that a config's gate names; its path starts from the config's folder.

    Raises `UsageError` if the gate names none, `ResultsError` if it cannot be read.
    """
    name = config.run.gate.baseline
    if name is None:
        raise UsageError(
            f"{config.path}: its `gate:` block names no baseline; add `gate: {{baseline: FILE}}`, "
            "or pass BASE on the command line"
        )
    return load_side(name, config.folder)


def _told_apart(
    base: SideInput, candidate: SideInput, names: Sequence[str]
) -> tuple[SideInput, SideInput]:
    """Return two sides whose titles differ: with as many folders of their paths as that takes."""
    if base.snapshot.name != candidate.snapshot.name:
        return base, candidate
    parts = [Path(name).parts for name in names]
    k = next((k for k in range(1, 5) if parts[0][-k:] != parts[1][-k:]), 1)
    shown = [f"…/{'/'.join(one[-k:])}" for one in parts]
    return _named(base, shown[0]), _named(candidate, shown[1])


def _named(side: SideInput, name: str) -> SideInput:
    return replace(side, snapshot=replace(side.snapshot, name=one_line(name)))


def side_of(results: Results, name: str) -> SideInput:
    """Return a run as a side, under the name a reader of the comparison knows it by."""
    return SideInput(snapshot=replace(snapshot_of(results), name=name), results=results)


def _at_revision(revision: str, file: str, shown: str, folder: Path) -> bytes:
    """Return a file as it was at a revision; its path starts from a folder."""
    relative = file if file.startswith(("/", "./", "../")) else f"./{file}"
    if revision.startswith("-"):
        raise ResultsError(f"{shown}: is not a git revision")
    # Plumbing alone: no filter, no hook and no monitor of the repository's config is run.
    command = ["git", "-c", "core.fsmonitor=false", "cat-file", "blob", f"{revision}:{relative}"]
    try:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder
        ) as git:
            assert git.stdout is not None
            data = git.stdout.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                git.kill()
            _, said = git.communicate(timeout=60)
    except (OSError, subprocess.SubprocessError) as exc:
        raise ResultsError(f"{shown}: cannot be read from git: {exc}") from exc
    if len(data) > MOST_BYTES:
        raise ResultsError(f"{shown}: is larger than {MOST_BYTES:,} bytes")
    if git.returncode:
        why = one_line(said.decode(errors="replace").strip().replace(f"{Path.cwd()}{os.sep}", ""))
        raise ResultsError(
            f"{shown}: git has no such file ({why}), so there is nothing to compare; in CI, fetch that revision first "
            "(actions/checkout with fetch-depth: 0)"
        )
    return data


def gate_of(candidate: SideInput) -> Gate:
    """Return the gate with the rules that a side was made under."""
    return Gate(rules=candidate.snapshot.rules)


Whose = Literal["base", "candidate"]


def compare_sides(
    base: SideInput, candidate: SideInput, gate: Gate, *, rules: Whose = "base"
) -> Comparison:
    """Return the comparison of two sides with its explanation and remarks.

    `gate` holds the candidate's rules. Those of the base decide where it has any, unless `rules`
    is "candidate". Raises `ResultsError` when a side would be compared with itself.
    """
    _refuse_itself(base, candidate)
    whose: Whose = "base" if rules == "base" and base.snapshot.rules else "candidate"
    chosen = base.snapshot.rules if whose == "base" else gate.rules
    comparison = compare(base.snapshot, candidate.snapshot, Gate(rules=chosen))
    comparison = replace(
        comparison, rules_from=whose if base.snapshot.rules != gate.rules else None
    )
    if base.results and candidate.results:
        explanations, unexplained = explain(base.results, candidate.results, comparison)
        texts = tuple(text_pairs(base.results, candidate.results, comparison))
    else:
        baselines = [s.snapshot.name for s in (base, candidate) if s.results is None]
        explanations, unexplained, texts = (), without_ids(comparison, baselines), ()
    return replace(
        comparison,
        texts=texts,
        explanations=explanations,
        unexplained=unexplained,
        on_rules=tuple(_on_rules(comparison, base.snapshot.rules, gate.rules)),
        notes=(*comparison.notes, *_remarks(comparison, base.results, candidate.results)),
    )


def _refuse_itself(base: SideInput, candidate: SideInput) -> None:
    """Raise `ResultsError` if both sides are the same file: it always equals itself."""
    if base.place is None or candidate.place is None:
        return
    if base.place.samefile(candidate.place):
        raise ResultsError(
            f"{candidate.snapshot.name}: is both base and candidate, so there is nothing to compare; name the baseline, or another "
            "run, as base (or in `gate.baseline`)"
        )


def _on_rules(
    comparison: Comparison, base: Sequence[Rule], candidate: Sequence[Rule]
) -> Iterator[str]:
    """Yield whose rules decided, how the other side's differ, and the verdict under those."""
    if tuple(base) == tuple(candidate):
        return
    whose = comparison.rules_from
    if not base:
        yield "The base has no rules: those of the candidate apply."
    only = [
        f"only in the {name}: {_listed([rule for rule in mine if rule not in others])}"
        for name, mine, others in (("base", base, candidate), ("candidate", candidate, base))
        if any(rule not in others for rule in mine)
    ]
    yield f"The rules of the two sides differ; {'; '.join(only) or 'their order does'}."
    other = candidate if whose == "base" else base
    second = replace(
        compare(comparison.base, comparison.candidate, Gate(rules=tuple(other))), rules_from=None
    )
    named = "without rules" if not other else f"under the rules of the {_other(whose)}"
    yield (
        f"Under the rules of the {whose}, which decide here: {comparison.sentence()} "
        f"{named[0].upper()}{named[1:]}: {second.sentence()}"
    )


def _other(whose: Whose | None) -> str:
    return "candidate" if whose == "base" else "base"


def _listed(rules: Sequence[Rule]) -> str:
    return ", ".join(
        strict_json(rule.model_dump(mode="json", exclude_none=True), indent=None) for rule in rules
    )


def _remarks(
    comparison: Comparison, base: Results | None, candidate: Results | None
) -> Iterator[str]:
    versions = changed_versions(comparison)
    if versions:
        yield f"library versions: {', '.join(versions)}"
    yield from stored_timing(base, candidate)
