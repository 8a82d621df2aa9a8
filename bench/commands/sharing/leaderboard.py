"""`tokbench leaderboard add`: one table of the values of many runs.

A cell is what a value is about: the tokenizer by its fingerprint, the text by its SHA-256, language,
metric and params. Equal cells have equal values, so a cell that comes again must agree with the one
that is there; a run that disagrees is refused whole, with every such cell named.

Only exact values count. Ranks are left out, since they depend on the other tokenizers of a run, and
so are values that an older schema defined otherwise.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import filelock
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import plural
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import REDEFINED, SCHEMA_VERSION, table_of, write_parquet

LEADERBOARD = pa.schema(
    [
        ("tokenizer", pa.string()),
        ("tokenizer_fingerprint", pa.string()),
        ("others_fingerprint", pa.string()),
        ("corpus", pa.string()),
        ("corpus_sha256", pa.string()),
        ("pivot_sha256", pa.string()),
        ("language", pa.string()),
        ("tag", pa.string()),
        ("script", pa.string()),
        ("kind", pa.string()),
        ("suite", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("direction", pa.string()),
        ("params", pa.string()),
        ("value", pa.float64()),
        ("ci_low", pa.float64()),
        ("ci_high", pa.float64()),
        ("n", pa.int64()),
        ("ranked", pa.bool_()),
        ("reason", pa.string()),
        ("run", pa.string()),
        ("run_digest", pa.string()),
        ("tokbench", pa.string()),
    ]
)
"""`others_fingerprint` names the tokenizers that params name; `pivot_sha256` is the pivot's text."""

KEY = (
    "tokenizer_fingerprint",
    "others_fingerprint",
    "corpus_sha256",
    "pivot_sha256",
    "language",
    "suite",
    "metric",
    "params",
)
LEFT_OUT = frozenset({"rank"})
LOCK_SECONDS = 60
SHOWN = 5

Row = dict[str, Any]


class LeaderboardConflict(NamedTuple):
    """A cell whose value in a run is not the one that the table has."""

    known: Row
    new: Row

    def in_words(self) -> str:
        """Return the cell, both values, and the runs they are from."""
        known, new = self
        where = " ".join(filter(None, (new["corpus"], new["language"])))
        on = f" on {where} (text {str(new['corpus_sha256'])[:12]})" if where else ""
        params = "" if new["params"] == "{}" else f" {new['params']}"
        return (
            f"{new['tokenizer']} (fingerprint {str(new['tokenizer_fingerprint'])[:12]}){on}, "
            f"{new['metric']}{params}: {known['value']!r} over {known['n']} in {known['run']}, "
            f"{new['value']!r} over {new['n']} in {new['run']}"
        )


@dataclass(frozen=True, kw_only=True)
class LeaderboardUpdate:
    """What adding a run did: cells that are new, cells that agreed, cells that did not."""

    added: int
    agreed: int
    total: int
    conflicts: Sequence[LeaderboardConflict] = ()

    @property
    def exit_code(self) -> int:
        """1 if a cell disagrees, and nothing was written; else 0."""
        return 1 if self.conflicts else 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "added": self.added,
            "agreed": self.agreed,
            "total": self.total,
            "conflicts": [conflict._asdict() for conflict in self.conflicts],
        }

    def in_words(self) -> str:
        """Return what was added, or which cells disagree."""
        if not self.conflicts:
            return (
                f"{plural(self.added, 'cell')} added, {self.agreed:,} agreed with the table; it "
                f"has {self.total:,}"
            )
        lines = [conflict.in_words() for conflict in self.conflicts[:SHOWN]]
        more = len(self.conflicts) - SHOWN
        lines += [f"and {more:,} more"] if more > 0 else []
        head = (
            f"refused: {plural(len(self.conflicts), 'cell')} of the table "
            f"{'has' if len(self.conflicts) == 1 else 'have'} another value; nothing was written"
        )
        return "\n  ".join([head, *lines])


def add(results: Results, path: Path) -> LeaderboardUpdate:
    """Add the values of a run to a table, which is made where it is not there.

    Raises `ResultsError` for a file that is not such a table.
    """
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    lock = Path(tempfile.gettempdir()) / f"tokbench-leaderboard-{place}.lock"
    try:
        with filelock.FileLock(lock, timeout=LOCK_SECONDS):
            known = read(path) if path.exists() else []
            update, rows = joined(known, rows_of(results))
            if not update.conflicts and (update.added or not path.exists()):
                write_parquet(path, table_of(rows, LEADERBOARD))
    except filelock.Timeout as exc:
        raise ResultsError(
            f"{path}: another process has been writing it for {LOCK_SECONDS} s; try again"
        ) from exc
    return update


def read(path: Path) -> list[Row]:
    """Return the rows of a table; raise `ResultsError` if the file is not one."""
    try:
        table = pq.ParquetFile(path, memory_map=False).read()
    except (OSError, pa.ArrowException) as exc:
        raise ResultsError(f"{path}: cannot be read ({exc})") from exc
    if not table.schema.equals(LEADERBOARD):
        raise ResultsError(
            f"{path}: is not a leaderboard of this version of tokbench; name another file with --to"
        )
    found: list[Row] = table.to_pylist()
    return found


def joined(known: Sequence[Row], new: Iterable[Row]) -> tuple[LeaderboardUpdate, list[Row]]:
    """Return what happens when rows are added, and the rows of the grown table, sorted."""
    cells = {_key(row): row for row in known}
    conflicts, agreed = [], 0
    for row in new:
        there = cells.setdefault(_key(row), row)
        if there is row:
            continue
        if (there["value"], there["n"]) == (row["value"], row["n"]):
            agreed += 1
        else:
            conflicts.append(LeaderboardConflict(there, row))
    rows = sorted(cells.values(), key=lambda row: [row[name] or "" for name in _ORDER])
    added = len(cells) - len(known)
    total = len(known) if conflicts else len(cells)
    update = LeaderboardUpdate(
        added=0 if conflicts else added, agreed=agreed, total=total, conflicts=conflicts
    )
    return update, rows


_ORDER = ("corpus_sha256", "language", "suite", "metric", "params", "tokenizer_fingerprint", *KEY)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def rows_of(results: Results) -> list[Row]:
    """Return the rows that a run adds: every plain exact value of a tokenizer."""
    run = results.run
    redefined = _redefined_since(run["schema_version"]) | LEFT_OUT
    made_by = {
        "run": results.name,
        "run_digest": run["digest"],
        "tokbench": run["versions"].get("tokbench"),
    }
    texts = {corpus: _text_hash(metas) for corpus, metas in run["corpora"].items()}
    found = []
    for row in results.measurements.to_pylist():
        if row["value"] is None or row["status"] != "ok" or row["metric"] in redefined:
            continue
        if row["tokenizer_fingerprint"] is None:
            continue
        metas = run["corpora"].get(row["corpus"] or "", {})
        found.append(
            {name: row[name] for name in LEADERBOARD.names if name in row}
            | made_by
            | {
                "corpus_sha256": row["corpus_sha256"] or texts.get(row["corpus"] or ""),
                "pivot_sha256": _pivot_hash(metas),
                "others_fingerprint": _others(row, run["tokenizers"]),
            }
        )
    return found


def _redefined_since(schema: int) -> frozenset[str]:
    """Return the metrics that meant something else in an older schema."""
    later = (names for version, names in REDEFINED.items() if schema < version <= SCHEMA_VERSION)
    return frozenset().union(*later)


def _text_hash(metas: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a hash of all languages of a corpus, for values over all of them."""
    text = json.dumps(sorted((language, meta["sha256"]) for language, meta in metas.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _pivot_hash(metas: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the hash of the pivot's text where the corpus is parallel: premiums depend on it."""
    first: Mapping[str, Any] = next(iter(metas.values()), {})
    pivot = metas.get(first.get("pivot") or "") if first.get("parallel") else None
    return None if pivot is None else str(pivot["sha256"])


def _others(row: Row, tokenizers: Mapping[str, Any]) -> str | None:
    """Return the fingerprints of the tokenizers that a row's params name."""
    params = json.loads(row["params"])
    named = {
        str(tokenizers[value]["fingerprint"])
        for value in params.values()
        if isinstance(value, str) and value in tokenizers
    }
    return ",".join(sorted(named)) or None
