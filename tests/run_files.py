"""The files of a run that are the same to the byte wherever and whenever it ran."""

from __future__ import annotations

from pathlib import Path

NAMES = ("measurements.parquet", "findings.parquet", "run.json")


def exact_files(run: Path, *more: str) -> dict[str, bytes]:
    """Return the content of the exact files of a run folder, and of `more`, by path."""
    paths = [*(run / name for name in (*NAMES, *more)), *sorted(run.glob("documents/*"))]
    return {str(path.relative_to(run)): path.read_bytes() for path in paths}
