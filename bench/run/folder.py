"""The folder of a run: chosen, locked, resumed.

One process at a time works in a folder; the lock is the system's own, so it is gone with the
process that held it, however that ended.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import filelock

from tokbench.bench.errors import ResultsError
from tokbench.bench.files import write_json
from tokbench.bench.paths import is_text
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.cell_files import failed_rows_of
from tokbench.bench.run.plan import Plan

Rerun = Literal["missing", "failed", "all"]
"""Cells to count again in the last run of a plan: missing, failed, or all."""

LOCK = ".lock"

PLAN_BYTES = 10**5
"""Maximum size of a plan.json."""


@contextmanager
def open_folder(
    output: Path, plan: Plan, *, new: bool = False, rerun: Rerun | None = None
) -> Iterator[Path]:
    """Yield the folder of a run, locked.

    It is the last run of the same plan if that is unfinished (or `rerun` is set), else a new one
    with the next free number. Raises `ResultsError` if another process uses it, or it cannot be
    written.
    """
    if not is_text(output.absolute()):
        raise ResultsError(f"{str(output)!r}: is not UTF-8; choose another --output")
    folder = _unfinished(output, plan, rerun=rerun) if not new else None
    if folder is None:
        folder = _next(output, plan.name)
    with _locked(folder):
        _clean(folder)
        _forget(folder, rerun)
        facts = {"plan": plan.sha256, "cells": len(plan.cells)}
        write_json(folder / "plan.json", {**facts, "finished": False})
        yield folder
        write_json(folder / "plan.json", {**facts, "finished": True})
        _clean(folder)


def _numbers(output: Path, name: str) -> list[int]:
    prefix = f"{name}-"
    found = (path.name[len(prefix) :] for path in output.glob(f"{prefix}*"))
    # digits of other scripts are digits too, and so is a number that no folder of ours reaches
    return sorted(int(number) for number in found if re.fullmatch(r"[0-9]{1,9}", number))


def _unfinished(output: Path, plan: Plan, *, rerun: Rerun | None) -> Path | None:
    numbers = _numbers(output, plan.name)
    if not numbers:
        return None
    last = output / f"{plan.name}-{numbers[-1]}"
    facts = _facts(last)
    whole = bool(facts.get("finished")) and (last / "run.json").exists()
    finished = whole and rerun is None
    if finished or facts.get("plan") != plan.sha256 or _has_links(last):
        return None
    return last


def _has_links(folder: Path) -> bool:
    """Whether somebody else made the folder: tokbench makes no links, and writes through none."""
    return any(path.is_symlink() for path in folder.iterdir())


def _facts(folder: Path) -> dict[str, Any]:
    """Return the plan of a run folder; empty if it cannot be read."""
    path = folder / "plan.json"
    try:
        if not path.is_file() or path.stat().st_size > PLAN_BYTES:
            return {}
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _next(output: Path, name: str) -> Path:
    """Create the folder with the next free number; safe against concurrent runs."""
    number = (_numbers(output, name) or [0])[-1] + 1
    while True:
        folder = output / f"{name}-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        except OSError as exc:
            raise ResultsError(
                f"{folder}: cannot be created: {exc.strerror or exc}; choose another --output"
            ) from exc
        else:
            return folder


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout as exc:
        raise ResultsError(
            f"{folder}: is in use by another process; wait until it has finished, or start a "
            "separate run with --new"
        ) from exc
    except OSError as exc:
        raise ResultsError(
            f"{folder}: cannot be written: {exc.strerror or exc}; choose another --output"
        ) from exc
    try:
        yield
    finally:
        lock.release()
        with contextlib.suppress(OSError):
            (folder / LOCK).unlink()


def _clean(folder: Path) -> None:
    """Remove temporary files of processes that were killed."""
    for path in folder.rglob(".*.tmp"):
        with contextlib.suppress(OSError):
            path.unlink()


def _forget(folder: Path, rerun: Rerun | None) -> None:
    for path in folder.glob("cells/*/*/*.cell") if rerun in ("failed", "all") else ():
        if rerun == "all" or failed_rows_of(path):
            path.unlink()


def remove_cells(folder: Path, results: Results) -> None:
    """Remove the counts of a finished run's cells where every one is complete.

    Of another, `--rerun` goes on from them.
    """
    if all(cell["status"] == "ok" for cell in results.run["cells"]):
        shutil.rmtree(folder / "cells", ignore_errors=True)
