"""Cells on disk: their header and arrays in a file of `tokbench.bench.count.arrays_file`.

Large cells stay there: `StoredTally` reads a column when it is asked for and keeps none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.count import arrays_file
from tokbench.bench.count.neighbours import Neighbours
from tokbench.bench.count.tally import (
    COLUMNS,
    ArrayTally,
    Cell,
    CellKey,
    Sums,
    Tally,
    first_of_each,
    merge,
)
from tokbench.bench.errors import ResultsError
from tokbench.bench.model import Finding, IntArray


def write_cell(path: Path, cell: Cell, identity: Mapping[str, str]) -> None:
    """Store a finished cell, or a part of one; `ResultsError` where it cannot be written."""
    header: dict[str, Any] = {
        **identity,
        "status": cell.status,
        "detail": cell.detail,
        "failed_rows": list(cell.tally.failed_rows),
        "findings": _rows_of(cell.tally.findings),
    }
    if cell.tally.neighbours is not None:
        header["neighbours"] = asdict(cell.tally.neighbours)
    arrays_file.write(path, header, _arrays_of(cell.tally))


def _rows_of(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    if not findings:  # most cells have none, and the module of results costs a worker time
        return []
    from tokbench.bench.results.schemas import finding_rows

    return finding_rows(findings)


def _arrays_of(tally: Tally) -> arrays_file.Arrays:
    arrays: arrays_file.Arrays = {
        "rows": tally.rows,
        **{name: values for name, values in tally.documents.items() if values.any()},
        "ids_hash": tally.ids_hash,
        "histogram_ids": tally.histogram_ids,
        "histogram_counts": tally.histogram_counts,
    }
    if tally.ids is not None:
        arrays["ids_lengths"] = np.array([len(ids) for ids in tally.ids], np.int64)
        arrays["ids"] = np.concatenate([np.zeros(0, np.uint32), *tally.ids])
    return arrays


def is_intact(path: Path) -> bool:
    """Whether a stored cell is there and undamaged."""
    return arrays_file.read(path) is not None


def failed_rows_of(path: Path) -> list[int]:
    """Return the rows of a stored cell that failed."""
    stored = arrays_file.read(path)
    return [] if stored is None else list(stored[0]["failed_rows"])


def read_cell(path: Path, key: CellKey, identity: Mapping[str, str]) -> Cell | None:
    """Return a stored cell, or None when it is missing, damaged or of other inputs."""
    stored = _read(path, identity)
    if stored is None:
        return None
    header, tally = stored
    return Cell(key=key, status=header["status"], detail=header["detail"], tally=tally)


def _read(path: Path, identity: Mapping[str, str]) -> tuple[dict[str, Any], ArrayTally] | None:
    stored = arrays_file.read(path)
    if stored is None or any(stored[0].get(name) != value for name, value in identity.items()):
        return None
    header, arrays = stored
    kept = None
    if "ids" in arrays:
        kept = tuple(np.split(arrays["ids"], np.cumsum(arrays["ids_lengths"])[:-1]))
    findings = [Finding(**{**row, "data": json.loads(row["data"])}) for row in header["findings"]]
    zeros = np.zeros(len(arrays["rows"]), np.int64)  # columns without any count are not stored
    return header, ArrayTally(
        rows=arrays["rows"],
        documents={name: arrays.get(name, zeros) for name in COLUMNS},
        ids_hash=arrays["ids_hash"],
        histogram_ids=arrays["histogram_ids"],
        histogram_counts=arrays["histogram_counts"],
        ids=kept if len(arrays["rows"]) or kept is None else (),
        findings=tuple(findings),
        failed_rows=tuple(header["failed_rows"]),
        neighbours=Neighbours(**found) if (found := header.get("neighbours")) else None,
    )


class StoredTally(Sums):
    """The tally of a large cell, whose arrays stay in the files of its parts.

    Every access reads from them: hold on to an array while it is needed, and no longer.
    """

    def __init__(self, paths: Sequence[Path], identities: Sequence[Mapping[str, str]]) -> None:
        self._paths = tuple(paths)
        self.n = 0
        histogram = np.zeros(0, np.int64)
        findings: list[Finding] = []
        failed: list[int] = []
        self.neighbours: Neighbours | None = None
        for path, identity in zip(paths, identities, strict=True):
            part = _intact(path, identity)
            self.n += part.n
            n_ids = int(part.histogram_ids.max(initial=-1)) + 1
            histogram = np.pad(histogram, (0, max(0, n_ids - len(histogram))))
            histogram[part.histogram_ids] += part.histogram_counts
            findings += part.findings
            failed += part.failed_rows
            self.neighbours = self.neighbours or part.neighbours
            for column in COLUMNS:
                self._totals[column] = self._totals.get(column, 0) + part.total(column)
        self.histogram_ids: IntArray = np.flatnonzero(histogram)
        self.histogram_counts: IntArray = histogram[self.histogram_ids]
        self.findings = first_of_each(findings)
        self.failed_rows = tuple(failed)

    def parts(self) -> Iterator[ArrayTally]:
        """Yield the tallies of its parts, in order."""
        for path in self._paths:
            yield _intact(path, {})

    def round_trip_count(self, kind: int) -> int:
        """Documents of one round-trip class."""
        return sum(part.round_trip_count(kind) for part in self.parts())

    def gathered(
        self, column: Callable[[ArrayTally], npt.NDArray[Any]], kind: type[np.generic]
    ) -> npt.NDArray[Any]:
        """Return one array of all parts, which is all of them that is held at a time."""
        whole, filled = np.empty(self.n, kind), 0
        for part in self.parts():
            whole[filled : filled + part.n] = column(part)
            filled += part.n
        return whole

    @property
    def rows(self) -> IntArray:
        """Row numbers of its documents."""
        return self.gathered(lambda part: part.rows, np.int64)

    @property
    def ids_hash(self) -> npt.NDArray[np.uint64]:
        """Hash of each document's ids."""
        return self.gathered(lambda part: part.ids_hash, np.uint64)

    @property
    def ids(self) -> tuple[npt.NDArray[np.uint32], ...] | None:
        """The ids of each document, when the config keeps them."""
        return merge(list(self.parts())).ids

    @property
    def documents(self) -> Mapping[str, IntArray]:
        """The columns, read one at a time."""
        return _StoredColumns(self)


class _StoredColumns(Mapping[str, IntArray]):
    """The columns of a stored tally; each look-up reads the files."""

    def __init__(self, tally: StoredTally) -> None:
        self._tally = tally

    def __getitem__(self, name: str) -> IntArray:
        if name not in COLUMNS:
            raise KeyError(name)
        return self._tally.gathered(lambda part: part.documents[name], np.int64)

    def __iter__(self) -> Iterator[str]:
        return iter(COLUMNS)

    def __len__(self) -> int:
        return len(COLUMNS)


def _intact(path: Path, identity: Mapping[str, str]) -> ArrayTally:
    stored = _read(path, identity)
    if stored is None:
        raise ResultsError(
            f"{path}: cannot be read back after it was written; check the disk, and run the same "
            "command again"
        )
    return stored[1]


LARGE = 65_536
"""Documents above which a cell stays on disk."""


def stored_tally(paths: Sequence[Path], identities: Sequence[Mapping[str, str]]) -> Tally:
    """Return the tally of a cell from the files of its parts, in memory if it is small."""
    if len(paths) > 1:
        stored = StoredTally(paths, identities)
        if stored.n > LARGE:
            return stored
    return merge([_intact(path, one) for path, one in zip(paths, identities, strict=True)])
