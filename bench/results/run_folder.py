"""A run folder, read back; `tokbench.bench.results.schemas` has its tables.

Exact files (`measurements.parquet`, `documents/`, `findings.parquet`, `run.json`) hold no clock
and no host: the same inputs give the same bytes. `environment.json` holds the rest.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.bench.count.tally import CellKey
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json, read_bounded
from tokbench.bench.results.digest import digest_of, table_digest
from tokbench.bench.results.ranked import derived
from tokbench.bench.results.rows import (
    check_counted,
    check_documents,
    check_findings,
    check_measurements,
    check_vocabulary,
    documents_of,
)
from tokbench.bench.results.run_file import LARGEST, read_run_file
from tokbench.bench.results.schemas import (
    DOCUMENTS,
    FINDINGS,
    MEASUREMENTS,
    READABLE_VERSIONS,
    SCHEMA_VERSION,
    TIMINGS,
    VOCABULARY,
)
from tokbench.bench.results.seal import check_files
from tokbench.bench.results.segments import SEGMENT_TOKENS, SEGMENTS

if TYPE_CHECKING:
    import pandas as pd


def cell_path(folder: Path, key: CellKey) -> Path:
    """Return where a run folder keeps the counts of a cell.

    Tokenizers and corpora have names that can be file names; a language may have any.
    """
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_+#-]{0,79}", key.language)
    name = key.language if plain else hashlib.sha256(key.language.encode()).hexdigest()[:32]
    return folder / "cells" / key.tokenizer / key.corpus / f"{name}.cell"


_NOISY = ("throughput.parquet", "timings.parquet")
"""Tables outside the exact lane; no digest covers them."""


@dataclass(frozen=True, eq=False)
class Results:
    """A finished run, read from its folder; tables are read on access."""

    folder: Path

    @property
    def name(self) -> str:
        """Folder name, such as ``quick-3``."""
        return self.folder.name

    @cached_property
    def run(self) -> dict[str, Any]:
        """What `run.json` holds: config, tokenizers, corpora, cells, versions, digest.

        Its seal and shape are checked, the other files' digests by `load_results`.
        """
        return read_run_file(self.folder)

    @property
    def is_old(self) -> bool:
        """Whether the run was written in an older schema."""
        return bool(self.run.get("schema_version") != SCHEMA_VERSION)

    @property
    def environment(self) -> dict[str, Any]:
        """Clock, machine and CPU seconds, which come last; empty when the file is not there."""
        return self._json("environment.json") if (self.folder / "environment.json").exists() else {}

    @cached_property
    def measurements(self) -> pa.Table:
        """All exact measurements, one row per value."""
        table = self._table("measurements.parquet", MEASUREMENTS)
        path = self.folder / "measurements.parquet"
        return check_measurements(table, path)

    @cached_property
    def throughput(self) -> pa.Table:
        """Noisy measurements, in the same columns; empty when nothing was timed."""
        if not (self.folder / "throughput.parquet").exists():
            return MEASUREMENTS.empty_table()
        table = self._table("throughput.parquet", MEASUREMENTS)
        return check_measurements(table, self.folder / "throughput.parquet")

    @cached_property
    def timings(self) -> pa.Table:
        """Every raw sample; empty when nothing was timed."""
        if not (self.folder / "timings.parquet").exists():
            return TIMINGS.empty_table()
        return self._table("timings.parquet", TIMINGS)

    @cached_property
    def findings(self) -> pa.Table:
        """Witnesses, refusals, failures and warnings."""
        table = self._table("findings.parquet", FINDINGS)
        path = self.folder / "findings.parquet"
        return check_findings(table, path)

    def documents(
        self, tokenizer: str, corpus: str, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Counts per document of one tokenizer on one corpus; all columns, or those named."""
        name = f"documents/{tokenizer}@{corpus}.parquet"
        table = check_documents(self._table(name, DOCUMENTS, columns), self.folder / name)
        if "language" in table.column_names:
            check_counted(documents_of(table), self._counted(tokenizer, corpus), self.folder / name)
        return table

    def document_groups(
        self, tokenizer: str, corpus: str, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        """Yield what `documents` returns in tables of at most 65,536 rows, read one by one.

        `columns` name the language. That no document is missing is known after the last table.
        """
        name = f"documents/{tokenizer}@{corpus}.parquet"
        path, there = self.folder / name, Counter[str]()
        for table in self._groups(name, DOCUMENTS, columns):
            yield check_documents(table, path)
            there += documents_of(table)
        check_counted(there, self._counted(tokenizer, corpus), path)

    def _counted(self, tokenizer: str, corpus: str) -> dict[str, int]:
        return {
            cell["language"]: cell["n"]
            for cell in self.run["cells"]
            if (cell["tokenizer"], cell["corpus"]) == (tokenizer, corpus) and cell["n"]
        }

    def vocabulary(self, tokenizer: str) -> pa.Table:
        """Id, bytes and kind of the entries of a tokenizer, from a run that keeps ids."""
        name = f"vocabulary/{tokenizer}.parquet"
        n_ids = self.run["tokenizers"][tokenizer]["n_ids"]
        return check_vocabulary(self._table(name, VOCABULARY), n_ids, self.folder / name)

    def has_segments(self, corpus: str) -> bool:
        """Whether text of a corpus was stored and still exists."""
        name = f"segments/{corpus}.parquet"
        return name in self.run.get("files", ()) and (self.folder / name).is_file()

    def segments(self, corpus: str) -> pa.Table:
        """Text and tokens of the documents that were stored, in the schema `SEGMENTS`."""
        return self._table(f"segments/{corpus}.parquet", SEGMENTS)

    def segment_tokens(self, tokenizer: str) -> pa.Table:
        """Bytes and spelling of the ids in `segments`, in the schema `SEGMENT_TOKENS`."""
        return self._table(f"segments/tokens/{tokenizer}.parquet", SEGMENT_TOKENS)

    def to_pandas(self) -> pd.DataFrame:
        """Return exact and noisy measurements as one frame, with a column `run`.

        Counts are pandas' nullable Int64, text is string, so an absent value stays absent.
        """
        import pandas as pd

        table = pa.concat_tables([self.measurements, self.throughput])
        frame: pd.DataFrame = table.to_pandas(
            types_mapper={pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}.get
        )
        frame.insert(0, "run", self.name)
        return frame

    def check(self) -> None:
        """Raise `ResultsError` if an exact file was changed."""
        if "files" in self.run:
            check_files(self.folder, self.run["files"])
        else:  # an older run, whose tables are all there is to check
            self._check_digest()

    def _check_digest(self) -> None:
        names = ["measurements.parquet", "findings.parquet"]
        pairs = {(c["tokenizer"], c["corpus"]) for c in self.run["cells"] if c["n"]}
        names += [f"documents/{tokenizer}@{corpus}.parquet" for tokenizer, corpus in pairs]
        if self.run["config"].get("keep_ids"):
            names += [f"vocabulary/{name}.parquet" for name in {t for t, _ in pairs}]
        if digest_of({n: table_digest(self._whole(n)) for n in names}) != self.run["digest"]:
            raise ResultsError(
                f"{self.folder}: the digest of the tables is not the one in run.json: a file is "
                "damaged or was edited; restore the folder, or run its config again with --new"
            )

    @property
    def problems(self) -> list[str]:
        """What failed, one sentence each; empty when everything was measured.

        They are written with the clock and the machine. Where that file is gone, they are the
        reasons of the cells.
        """
        stored = self.environment.get("problems")
        if stored is not None:
            return [str(problem) for problem in stored]
        failed = [cell for cell in self.run["cells"] if cell["status"] in ("failed", "partial")]
        return [
            f"{cell['tokenizer']} on {cell['corpus']}, {cell['language']}: {cell['status']}: "
            f"{cell['detail']}"
            for cell in failed
        ]

    def table(
        self, metric: str, *, corpus: str | None = None, column: str = "value", **params: Any
    ) -> pd.DataFrame:
        """Return one metric as a frame, languages × tokenizers, in the order of the config.

        Rows are languages, below their corpus where there are several and none is named; metrics
        that are about a whole corpus have one row for each. Columns are tokenizers; parameters that
        distinguish several values are further levels (``class`` of ``round_trip``), and ``params``
        choose among them: ``class_="exact"`` is the parameter ``class``, None a value that it does
        not restrict. `column` may be any column of the measurements: ``ci_low``, ``n``, ``status``,
        ...

        Raises `UsageError` for a metric, corpus or parameter that is not there.
        """
        from tokbench.bench.results.frames import table_frame

        return table_frame(self, metric, corpus, column, params)

    def long(self, metric: str | None = None) -> pd.DataFrame:
        """Return one row per value of a metric, by default of all.

        The columns are those of `to_pandas`, but that each parameter has one of its own:
        ``params.class``, ``params.script``.
        """
        from tokbench.bench.results.frames import long_frame

        return long_frame(self, metric)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first metric of the run as a table, and problems."""
        from tokbench.bench.results.frames import html_summary

        return html_summary(self)

    def _json(self, name: str) -> dict[str, Any]:
        try:
            value = parse_json(read_bounded(self.folder / name, LARGEST))
        except ValueError as exc:
            raise ResultsError(f"{self.folder / name}: cannot be read ({exc})") from exc
        if not isinstance(value, dict):
            raise ResultsError(f"{self.folder / name}: is not a JSON object")
        return value

    def _table(
        self, name: str, schema: pa.Schema, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return a table as it is today, in one piece."""
        self._check_named(name)
        table = self._whole(name, None if self.is_old else columns)
        return self._as_today(name, table, schema, columns)

    def _groups(self, name: str, schema: pa.Schema, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yield the row groups of a table."""
        self._check_named(name)
        for table in self._read(name, None if self.is_old else columns, whole=False):
            yield self._as_today(name, table, schema, columns)

    def _check_named(self, name: str) -> None:
        if name not in _NOISY and name not in self.run.get("files", {name}):
            raise ResultsError(f"{self.folder / name}: is not among the files of run.json")

    def _as_today(
        self, name: str, table: pa.Table, schema: pa.Schema, columns: Sequence[str] | None
    ) -> pa.Table:
        try:
            if self.is_old and schema is MEASUREMENTS and "ranked" not in table.column_names:
                table = table.append_column("ranked", derived(table, self.run["policy"]))
            table = _in_schema(table, schema, old=self.is_old).select(columns or schema.names)
        except (pa.ArrowException, KeyError) as exc:
            raise ResultsError(f"{self.folder / name}: cannot be read ({exc})") from exc
        for field in table.schema:
            if field.type != schema.field(field.name).type:
                raise ResultsError(
                    f"{self.folder / name}: is damaged or was edited: {field.name} holds {field.type}"
                )
        return table

    def _whole(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        (table,) = self._read(name, columns, whole=True)
        return table

    def _read(self, name: str, columns: Sequence[str] | None, *, whole: bool) -> Iterator[pa.Table]:
        try:
            with pq.ParquetFile(self.folder / name) as file:  # `read_table` loads pyarrow.dataset
                if whole:
                    yield file.read(columns)
                    return
                for number in range(file.num_row_groups):
                    yield file.read_row_group(number, columns)
        except (OSError, pa.ArrowException) as exc:
            raise ResultsError(f"{self.folder / name}: cannot be read ({exc})") from exc


def _in_schema(table: pa.Table, schema: pa.Schema, *, old: bool) -> pa.Table:
    """Return a table with the columns of today; those that an old run has not are null."""
    for field in schema if old else ():
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def load_results(path: str | Path) -> Results:
    """Return the results of a run folder.

    Raises `ResultsError` if it is not a finished run, has another schema version, or when an
    exact file is not as it was written; the message names the file.
    """
    results = Results(Path(path))
    if not (results.folder / "run.json").exists():
        hint = (
            "; the run is not finished: run its config again to complete it"
            if (results.folder / "plan.json").exists()
            else ""
        )
        raise ResultsError(f"{path}: is not a finished run (run.json is missing){hint}")
    found = results.run.get("schema_version")
    if found not in READABLE_VERSIONS:
        raise ResultsError(
            f"{path}: has results schema {found}, this tokbench reads "
            f"{' and '.join(map(str, READABLE_VERSIONS))}; "
            "run it again or use the tokbench version named in run.json"
        )
    results.check()
    return results
