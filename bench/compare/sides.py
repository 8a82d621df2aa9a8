"""From what a user names to a comparison: read both sides, compare, explain, add remarks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tokbench.bench.compare import baseline
from tokbench.bench.compare.causes import changed_versions
from tokbench.bench.compare.comparison import Comparison, compare
from tokbench.bench.compare.explain import explain, without_ids
from tokbench.bench.compare.snapshot import Snapshot, snapshot_of
from tokbench.bench.compare.stored_speed import stored_timing
from tokbench.bench.config.gate import Gate
from tokbench.bench.config.schema import Config
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.privacy import stored
from tokbench.bench.results.run_folder import Results, load_results


@dataclass(frozen=True, kw_only=True)
class SideInput:
    """What BASE or CANDIDATE names: always a snapshot, and its run folder where it is one."""

    snapshot: Snapshot
    results: Results | None = None


def load_side(name: str | Path) -> SideInput:
    """Read a run folder, a baseline file, or a baseline at a git revision (``REVISION:FILE``).

    Raises `ResultsError` when there is nothing of that name or it cannot be read.
    """
    path = Path(name)
    shown = str(stored(str(name), Path.cwd()))  # a title that goes into comments and summaries
    if path.is_dir():
        return side_of(load_results(path), shown)
    if path.is_file():
        return SideInput(snapshot=baseline.parse(_read(path), shown))
    revision, colon, file = str(name).partition(":")
    if colon and len(revision) > 1 and file:
        return SideInput(snapshot=baseline.parse(_at_revision(revision, file), str(name)))
    raise ResultsError(
        f"{name}: there is no such run folder or baseline, so there is nothing to compare; "
        "make a baseline with: tokbench baseline save RUN FILE"
    )


def load_pair(names: Sequence[str], config: Config | None) -> tuple[SideInput, SideInput]:
    """Return base and candidate; where only one is named, the config's gate names the base.

    Raises `UsageError` when there are more or fewer.
    """
    if len(names) == 2:
        return load_side(names[0]), load_side(names[1])
    if len(names) != 1 or config is None:
        raise UsageError(
            "compare takes BASE and CANDIDATE, or CANDIDATE with --config CONFIG whose `gate:` "
            "block names the baseline"
        )
    path = baseline.baseline_path(config.folder, config.run.gate.baseline, config.path)
    return load_side(path), load_side(names[0])


def side_of(results: Results, name: str) -> SideInput:
    """Return a run as a side, under the name a reader of the comparison knows it by."""
    return SideInput(snapshot=replace(snapshot_of(results), name=name), results=results)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ResultsError(f"{path}: cannot be read: {exc}") from exc


def _at_revision(revision: str, file: str) -> str:
    """Return a file as it was at a revision; its path starts from the working folder."""
    relative = file if file.startswith(("/", "./", "../")) else f"./{file}"
    if revision.startswith("-"):
        raise ResultsError(f"{revision}:{file}: is no git revision")
    try:
        done = subprocess.run(
            ["git", "show", f"{revision}:{relative}"], capture_output=True, timeout=60, check=True
        )
        return done.stdout.decode()
    except subprocess.CalledProcessError as exc:
        said = exc.stderr.decode(errors="replace").strip()
        raise ResultsError(
            f"{revision}:{file}: git has no such file there ({said}), so there is nothing to "
            "compare; in CI, fetch that revision first (actions/checkout with fetch-depth: 0)"
        ) from exc
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as exc:
        raise ResultsError(f"{revision}:{file}: cannot be read from git: {exc}") from exc


def gate_of(candidate: SideInput) -> Gate:
    """Return the gate of the config that a run was made with; the strict one for a baseline."""
    if candidate.results is None:
        return Gate()
    return Gate.model_validate(candidate.results.run["config"].get("gate", {}))


def compare_sides(base: SideInput, candidate: SideInput, gate: Gate) -> Comparison:
    """Return the comparison of two sides with its explanation and remarks."""
    comparison = compare(base.snapshot, candidate.snapshot, gate)
    if base.results and candidate.results:
        explanations, unexplained = explain(base.results, candidate.results, comparison)
    else:
        baselines = [s.snapshot.name for s in (base, candidate) if s.results is None]
        explanations, unexplained = (), without_ids(comparison, baselines)
    return replace(
        comparison,
        explanations=explanations,
        unexplained=unexplained,
        notes=(*comparison.notes, *_remarks(comparison, base.results, candidate.results)),
    )


def _remarks(
    comparison: Comparison, base: Results | None, candidate: Results | None
) -> Iterator[str]:
    versions = changed_versions(comparison)
    if versions:
        yield f"library versions: {', '.join(versions)}"
    yield from stored_timing(base, candidate)
