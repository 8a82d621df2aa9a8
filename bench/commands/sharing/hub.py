"""`tokbench export hub`: a run as a data set repository.

Parquet files below `data/`, a card that names each table as a config, and `provenance.json`, the
run's `run.json` without what is about its files. No text of a corpus leaves: stored documents, and
sentences that may quote one, are left out unless they are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tokbench.bench.commands.sharing.card import MADE_BY, CardPart, card, check_license
from tokbench.bench.errors import UsageError
from tokbench.bench.files import write_json, write_whole
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import write_parquet

NOT_QUOTING = ("refusal", "warning")
"""Kinds of findings whose message quotes no text."""

QUOTING = frozenset(
    {
        "corpus_failed",
        "tokenizer_failed",
        "training_failed",
        "documents_failed",
        "documents_lost",
        "worker_lost",
        "suite_failed",
        "timing_failed",
        "length_limit",
    }
)
"""Reasons whose detail is what a library said of a text."""

NOT_PROVENANCE = ("files", "seal")


class HubTable(NamedTuple):
    """A table of a data set: its config, its file, its rows."""

    config: str
    path: str
    table: pa.Table


@dataclass(frozen=True, kw_only=True)
class HubExport:
    """How a run is exported."""

    license_id: str = "unknown"
    citation: str | None = None
    texts: bool = False
    """Whether stored documents and quoted text go out too."""

    def write(self, results: Results, folder: Path) -> list[Path]:
        """Write the repository and return its files.

        Raises `UsageError` where the folder holds a card that is not tokbench's or text of an
        earlier export, and for a licence that cannot be one.
        """
        check_license(self.license_id)
        self._check(folder)
        parts: dict[str, CardPart] = {}
        written = []
        for config, path, table in tables(results, texts=self.texts):
            write_parquet(folder / path, table)
            before = parts.get(config, CardPart((), 0))
            parts[config] = CardPart((*before.paths, path), before.rows + table.num_rows)
            written.append(folder / path)
        text = card(results, parts, self.license_id, self.citation)
        write_json(folder / "provenance.json", provenance(results, texts=self.texts))
        write_whole(folder / "README.md", text)
        return [*written, folder / "provenance.json", folder / "README.md"]

    def _check(self, folder: Path) -> None:
        readme = folder / "README.md"
        if readme.exists() and MADE_BY not in readme.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(
                f"{readme}: was not written by `tokbench export hub`, so it is not overwritten; "
                "choose another folder with --output"
            )
        held = folder / "data" / "segments"
        if held.exists() and not self.texts:
            raise UsageError(
                f"{held}: holds text of an earlier export; remove it, or export with --texts"
            )


def tables(results: Results, *, texts: bool) -> Iterator[HubTable]:
    """Yield every table of a run that has rows."""
    for one in _tables(results, texts=texts):
        if one.table.num_rows:
            yield one


def _tables(results: Results, *, texts: bool) -> Iterator[HubTable]:
    run = results.run
    measurements, throughput = results.measurements, results.throughput
    findings = results.findings
    if not texts:
        measurements, throughput = map(without_details, (measurements, throughput))
        findings = without_quotes(findings)
    yield HubTable("measurements", "data/measurements.parquet", measurements)
    yield HubTable("findings", "data/findings.parquet", findings)
    yield HubTable("throughput", "data/throughput.parquet", throughput)
    yield HubTable("timings", "data/timings.parquet", results.timings)
    pairs = sorted({(cell["tokenizer"], cell["corpus"]) for cell in run["cells"] if cell["n"]})
    for tokenizer, corpus in pairs:
        path = f"data/documents/{tokenizer}@{corpus}.parquet"
        if (results.folder / path.removeprefix("data/")).exists():
            table = results.documents(tokenizer, corpus)
            yield HubTable("documents", path, _named(table, tokenizer=tokenizer, corpus=corpus))
    for name in run["tokenizers"]:
        if (results.folder / f"vocabulary/{name}.parquet").exists():
            table = _named(results.vocabulary(name), tokenizer=name)
            yield HubTable("vocabulary", f"data/vocabulary/{name}.parquet", table)
    if texts:
        yield from _segments(results)


def _segments(results: Results) -> Iterator[HubTable]:
    for corpus in results.run["corpora"]:
        if results.has_segments(corpus):
            table = _named(results.segments(corpus), corpus=corpus)
            yield HubTable("segments", f"data/segments/{corpus}.parquet", table)
    for name in results.run["tokenizers"]:
        if (results.folder / f"segments/tokens/{name}.parquet").exists():
            table = _named(results.segment_tokens(name), tokenizer=name)
            yield HubTable("segment_tokens", f"data/segments/tokens/{name}.parquet", table)


def _named(table: pa.Table, **names: str) -> pa.Table:
    """Return a table with columns before its own, the same value in every row."""
    for place, (column, value) in enumerate(names.items()):
        values = pa.array([value] * table.num_rows, pa.string())
        table = table.add_column(place, pa.field(column, pa.string()), values)
    return table


def without_quotes(findings: pa.Table) -> pa.Table:
    """Return findings without what may quote a text: `data`, and messages of most kinds."""
    kinds = findings["kind"].to_pylist()
    messages = [
        message if kind in NOT_QUOTING else ""
        for kind, message in zip(kinds, findings["message"].to_pylist(), strict=True)
    ]
    findings = _with_column(findings, "data", ["{}"] * len(kinds))
    return _with_column(findings, "message", messages)


def without_details(measurements: pa.Table) -> pa.Table:
    """Return measurements without the details that are what a library said of a text."""
    columns = (measurements[name].to_pylist() for name in ("detail", "reason"))
    details = [None if why in QUOTING else said for said, why in zip(*columns, strict=True)]
    return _with_column(measurements, "detail", details)


def _with_column(table: pa.Table, name: str, values: Sequence[str | None]) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(values, pa.string()))


def provenance(results: Results, *, texts: bool) -> dict[str, Any]:
    """Return what `run.json` says of the run; of cells without texts, no details."""
    run = {key: value for key, value in results.run.items() if key not in NOT_PROVENANCE}
    if not texts:
        run["cells"] = [{**cell, "detail": None} for cell in run["cells"]]
    return run
