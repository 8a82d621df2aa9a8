"""Cells on disk: a checksum, a JSON header, then the arrays as they lie in memory.

A cell's file is private to a run folder and read on the machine that wrote it. Large cells stay
there: `StoredTally` reads a column when it is asked for and keeps none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from tokbench.bench.count.tally import COLUMNS, Cell, CellKey, Tally, first_of_each, merge
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import cannot_write
from tokbench.bench.model import Finding, IntArray


def write_cell(path: Path, cell: Cell, identity: Mapping[str, str]) -> None:
    """Store a finished cell, or a part of one; `ResultsError` where it cannot be written.

    A write that is cut short needs no other name first: the checksum tells.
    """
    arrays = _arrays_of(cell.tally)
    header = {
        **identity,
        "status": cell.status,
        "reason": cell.reason,
        "detail": cell.detail,
        "failed_rows": list(cell.tally.failed_rows),
        "findings": _rows_of(cell.tally.findings),
        "arrays": {name: [values.dtype.str, len(values)] for name, values in arrays.items()},
    }
    head = json.dumps(header).encode()
    parts = [len(head).to_bytes(8, "little"), head, *(v.tobytes() for v in arrays.values())]
    payload = b"".join(parts)
    try:
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(xxhash.xxh3_128_digest(payload) + payload)
    except OSError as exc:
        raise cannot_write(path, exc) from exc


def _rows_of(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    if not findings:  # most cells have none, and the module of results costs a worker time
        return []
    from tokbench.bench.results.run_folder import finding_rows

    return finding_rows(findings)


def _arrays_of(tally: Tally) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {
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


def _open_cell(path: Path) -> tuple[memoryview, dict[str, Any], int] | None:
    """Return a stored cell's bytes, header and where its arrays start; None where damaged."""
    try:
        data = memoryview(path.read_bytes())
    except OSError:
        return None
    payload = data[16:]
    if xxhash.xxh3_128_digest(payload) != data[:16]:
        return None
    start = 8 + int.from_bytes(payload[:8], "little")
    return payload, json.loads(bytes(payload[8:start])), start


def is_intact(path: Path) -> bool:
    """Whether a stored cell is there and undamaged."""
    return _open_cell(path) is not None


def failed_rows_of(path: Path) -> list[int]:
    """Return the rows of a stored cell that could not be counted."""
    opened = _open_cell(path)
    return [] if opened is None else list(opened[1]["failed_rows"])


def read_cell(path: Path, key: CellKey, identity: Mapping[str, str]) -> Cell | None:
    """Return a stored cell, or None when it is missing, damaged or of other inputs."""
    opened = _open_cell(path)
    if opened is None:
        return None
    payload, header, start = opened
    if any(header.get(name) != value for name, value in identity.items()):
        return None
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (dtype, length) in header["arrays"].items():
        arrays[name] = np.frombuffer(payload, dtype, length, start)
        start += arrays[name].nbytes
    kept = None
    if "ids" in arrays:
        kept = tuple(np.split(arrays["ids"], np.cumsum(arrays["ids_lengths"])[:-1]))
    findings = [Finding(**{**row, "data": json.loads(row["data"])}) for row in header["findings"]]
    zeros = np.zeros(len(arrays["rows"]), np.int64)  # columns without any count are not stored
    return Cell(
        key=key,
        status=header["status"],
        reason=header["reason"],
        detail=header["detail"],
        tally=Tally(
            rows=arrays["rows"],
            documents={name: arrays.get(name, zeros) for name in COLUMNS},
            ids_hash=arrays["ids_hash"],
            histogram_ids=arrays["histogram_ids"],
            histogram_counts=arrays["histogram_counts"],
            ids=kept if len(arrays["rows"]) or kept is None else (),
            findings=tuple(findings),
            failed_rows=tuple(header["failed_rows"]),
        ),
    )


class StoredTally(Tally):
    """The tally of a large cell, whose arrays stay in the files of its parts.

    Every access reads from them: hold on to an array while it is needed, and no longer.
    """

    def __init__(
        self, paths: Sequence[Path], key: CellKey, identities: Sequence[Mapping[str, str]]
    ):
        rows, histogram = 0, np.zeros(0, np.int64)
        findings: list[Finding] = []
        failed: list[int] = []
        for path, identity in zip(paths, identities, strict=True):
            part = _intact(path, key, identity).tally
            rows += part.n
            n_ids = int(part.histogram_ids.max(initial=-1)) + 1
            histogram = np.pad(histogram, (0, max(0, n_ids - len(histogram))))
            histogram[part.histogram_ids] += part.histogram_counts
            findings += part.findings
            failed += part.failed_rows
        ids = np.flatnonzero(histogram)
        fields = {
            "_paths": tuple(paths),
            "_key": key,
            "_n": rows,
            "_totals": {},
            "histogram_ids": ids,
            "histogram_counts": histogram[ids],
            "findings": first_of_each(findings),
            "failed_rows": tuple(failed),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def n(self) -> int:
        """Documents counted."""
        return int(self._n)  # type: ignore[attr-defined]

    def parts(self) -> Iterator[Tally]:
        """Yield the tallies of its parts, in order."""
        for path in self._paths:  # type: ignore[attr-defined]
            yield _intact(path, self._key, {}).tally  # type: ignore[attr-defined]

    def gathered(
        self, column: Callable[[Tally], npt.NDArray[Any]], kind: type[np.generic]
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


def _intact(path: Path, key: CellKey, identity: Mapping[str, str]) -> Cell:
    cell = read_cell(path, key, identity)
    if cell is None:
        raise ResultsError(
            f"{path}: was written a moment ago and cannot be read back; check the disk, and run "
            "the same command again"
        )
    return cell


LARGE = 65_536
"""Documents above which a cell stays on disk."""


def stored_tally(
    paths: Sequence[Path], key: CellKey, identities: Sequence[Mapping[str, str]]
) -> Tally:
    """Return the tally of a cell from the files of its parts, in memory if it is small."""
    if len(paths) > 1:
        stored = StoredTally(paths, key, identities)
        if stored.n > LARGE:
            return stored
    return merge([_intact(p, key, i).tally for p, i in zip(paths, identities, strict=True)])
