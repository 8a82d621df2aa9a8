"""`tokbench clean`: what tokbench keeps and can make again, listed and removed.

Only places that tokbench itself made are looked at: the parts of its cache, and folders that hold a
`plan.json`. Links are never followed, and a run folder or slice that a process works in stays.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import filelock

from tokbench.bench.cache import OLD_SECONDS, cache_folder
from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import table
from tokbench.bench.results.run_folder import load_results

Kind = Literal["caches", "half-built", "cells"]
KINDS: tuple[Kind, ...] = ("caches", "half-built", "cells")

CACHES = {
    "slices": "texts as they are measured",
    "models": "tokenizers trained by configs",
    "budget": "tokens of files that budgets counted",
}
"""Parts of the cache, and what is in them; all are made again when they are needed."""

OLD_RUN_SECONDS = 7 * 24 * 3600
"""Age at which the cells of a run that was never finished are old."""


@dataclass(frozen=True, kw_only=True)
class Removable:
    """One file or folder that can go."""

    path: Path
    kind: Kind
    what: str
    bytes: int


def removable(runs: Path, kinds: Iterable[Kind] = KINDS) -> list[Removable]:
    """Return what can go: in the cache, and in the run folders below `runs`."""
    wanted = set(kinds)
    found = [*_half_built()] if wanted & {"half-built", "caches"} else []
    if "caches" in wanted:
        half = {one.path for one in found}
        found += [one for one in _caches() if one.path not in half]
    found = [one for one in found if one.kind in wanted]
    return found + (list(_cells(runs)) if "cells" in wanted else [])


def remove(found: Sequence[Removable]) -> list[str]:
    """Remove them; return one sentence for each that could not be."""
    problems = []
    for one in found:
        try:
            if one.path.is_dir() and not one.path.is_symlink():
                shutil.rmtree(one.path)
            else:
                one.path.unlink()
        except OSError as exc:
            problems.append(f"{one.path}: cannot be removed: {exc.strerror or exc}")
    return problems


def _half_built() -> Iterator[Removable]:
    for part in CACHES:
        for path in _entries(cache_folder(part)):
            if path.name.startswith(".") and not _in_use(path):
                what = f"half-built, in {part}"
                yield Removable(path=path, kind="half-built", what=what, bytes=size_of(path))


def _caches() -> Iterator[Removable]:
    for part, what in CACHES.items():
        for path in _entries(cache_folder(part)):
            if not path.name.startswith("."):
                yield Removable(path=path, kind="caches", what=what, bytes=size_of(path))


def _cells(runs: Path) -> Iterator[Removable]:
    for folder in _entries(runs):
        cells = folder / "cells"
        if folder.is_symlink() or cells.is_symlink() or not (folder / "plan.json").is_file():
            continue
        if cells.is_dir() and not _is_locked(folder / ".lock") and (what := _why_old(folder)):
            yield Removable(path=cells, kind="cells", what=what, bytes=size_of(cells))


def _why_old(folder: Path) -> str | None:
    """Return why the cells of a run can go, None where somebody may go on from them."""
    try:
        statuses = {cell["status"] for cell in load_results(folder).run["cells"]}
    except ResultsError:
        if _age(folder / "plan.json") > OLD_RUN_SECONDS:
            return "cells of a run that was not finished in a week"
        return None
    if statuses <= {"ok"}:
        return "cells of a finished run"
    return "cells of a run in which some failed (`--rerun failed` would count all again)"


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _in_use(path: Path) -> bool:
    """Whether a process holds it, or is just making it."""
    if (path / ".lock").exists():
        return _is_locked(path / ".lock")
    return _age(path) < OLD_SECONDS


def _is_locked(lock: Path) -> bool:
    if not lock.exists():
        return False
    try:
        with filelock.FileLock(lock, timeout=0):
            return False
    except (filelock.Timeout, OSError):
        return True


def _age(path: Path) -> float:
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder; links count for themselves."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            state = (Path(folder) / name).lstat()
            total += state.st_size if stat.S_ISREG(state.st_mode) else 0
    return total


def megabytes(n: int) -> str:
    """Return bytes as people read them.

    >>> megabytes(1_234_567), megabytes(999)
    ('1.2 MB', '0.0 MB')
    """
    return f"{n / 1e6:,.1f} MB"


def render(found: Sequence[Removable], *, removed: bool) -> str:
    """Return what can go, by place and kind, with sizes; or what went."""
    groups: dict[tuple[str, str], list[Removable]] = {}
    for one in found:
        place = one.path if one.kind == "cells" else one.path.parent
        groups.setdefault((str(place), one.what), []).append(one)
    rows = [
        [megabytes(sum(one.bytes for one in some)), str(len(some)), what, place]
        for (place, what), some in groups.items()
    ]
    total = megabytes(sum(one.bytes for one in found))
    if not found:
        return "nothing to remove"
    end = f"removed {total}" if removed else f"{total} can be removed: add --yes"
    return "\n".join([table(["size", "entries", "what", "where"], rows, right=[0, 1]), end])
