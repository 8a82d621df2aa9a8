"""One config in two Python environments, to compare two releases of a library.

Each environment runs its own tokbench in a process of its own and leaves a run folder; ids are
kept, so that the comparison can say why something moved. Slices are shared through the cache.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.compare.sides import SideInput, side_of
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.results.run_folder import Results, load_results

Say = Callable[[str], None]

_HIDES = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__")
"""Variables that would make one environment import from another."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One side: which interpreter, and the folder its runs go to."""

    python: Path
    output: Path


def run_both(
    config: str,
    base_python: Path,
    candidate_python: Path,
    runs: Path,
    overrides: Sequence[str],
    *,
    say: Say,
) -> tuple[SideInput, SideInput]:
    """Run a config in two environments, one after the other, and return both sides."""
    base = Environment(python=base_python, output=runs / "base")
    candidate = Environment(python=candidate_python, output=runs / "candidate")
    first, second = (run_in(side, config, overrides, say=say) for side in (base, candidate))
    names = [_shown(python) for python in (base_python, candidate_python)]
    return side_of(first, names[0]), side_of(second, names[1])


def _shown(python: Path) -> str:
    """Return an interpreter's path as a title: environment and name, ``old/bin/python``."""
    parts = python.parts if not python.is_absolute() else python.parts[1:][-3:]
    return Path(*parts).as_posix()


def run_in(environment: Environment, config: str, overrides: Sequence[str], *, say: Say) -> Results:
    """Run a config in an environment and return the results.

    Raises `UsageError` if the interpreter or tokbench is missing or the config is wrong, and
    `ResultsError` if the run left no results.
    """
    _check(environment.python)
    command = ["-m", "tokbench", "run", config, "--new", "--quiet"]
    command += ["--output", str(environment.output), "--set", "keep_ids=true"]
    for override in overrides:
        command += ["--set", override]
    say(f"running {config} with {environment.python}")
    done = _python(environment.python, command)
    if done.returncode == 2:
        raise UsageError(f"{environment.python}: {done.stderr.strip()}")
    folder = _newest(environment.output)
    if done.returncode not in (0, 3) or folder is None:
        raise ResultsError(
            f"{environment.python}: the run ended with exit code {done.returncode} and left no "
            f"results: {done.stderr.strip()[-2000:]}"
        )
    return load_results(folder)


def _check(python: Path) -> None:
    try:
        done = _python(python, ["-c", "import tokbench.bench.cli, tokbench.bench.config.gate"])
    except OSError as exc:
        raise UsageError(f"{python}: cannot be started: {exc.strerror or exc}") from exc
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise UsageError(
            f"{python}: cannot import tokbench ({last}); install it: "
            f"{python} -m pip install tokbench"
        )


def _python(python: Path, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run an interpreter with its own packages only: no PYTHONPATH, no working folder."""
    variables = {name: value for name, value in os.environ.items() if name not in _HIDES}
    return subprocess.run(
        [str(python), "-P", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**variables, "PYTHONUTF8": "1"},
        check=False,
    )


def _newest(output: Path) -> Path | None:
    finished = [path.parent for path in output.glob("*/run.json")]
    return max(finished, key=lambda path: (path / "run.json").stat().st_mtime_ns, default=None)
