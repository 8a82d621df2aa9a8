"""`tokbench export hub`: a run as a data set repository.

Parquet files below `data/`, a card that names each table as a config, and the run's `run.json`.
No text of a corpus leaves: stored documents, and what findings quote, are left out unless they are
wanted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tokbench.bench.commands.sharing.card import MADE_BY, CardPart, card, check_license
from tokbench.bench.errors import UsageError
from tokbench.bench.files import read_bounded, write_whole
from tokbench.bench.results.run_file import LARGEST
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import write_parquet

QUOTING = ("refusal", "warning")
"""Kinds of findings whose message quotes no text."""


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
        write_whole(folder / "run.json", read_bounded(results.folder / "run.json", LARGEST))
        write_whole(folder / "README.md", text)
        return [*written, folder / "run.json", folder / "README.md"]

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
    yield HubTable("measurements", "data/measurements.parquet", results.measurements)
    findings = results.findings if texts else without_quotes(results.findings)
    yield HubTable("findings", "data/findings.parquet", findings)
    yield HubTable("throughput", "data/throughput.parquet", results.throughput)
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
    for corpus in run_corpora(results):
        if results.has_segments(corpus):
            table = _named(results.segments(corpus), corpus=corpus)
            yield HubTable("segments", f"data/segments/{corpus}.parquet", table)
    for name in results.run["tokenizers"]:
        if (results.folder / f"segments/tokens/{name}.parquet").exists():
            table = _named(results.segment_tokens(name), tokenizer=name)
            yield HubTable("segment_tokens", f"data/segments/tokens/{name}.parquet", table)


def run_corpora(results: Results) -> list[str]:
    """Return the corpora of a run that were read."""
    return list(results.run["corpora"])


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
        message if kind in QUOTING else ""
        for kind, message in zip(kinds, findings["message"].to_pylist(), strict=True)
    ]
    for name, values in (("message", messages), ("data", ["{}"] * len(kinds))):
        place = findings.schema.get_field_index(name)
        field = findings.schema.field(place)
        findings = findings.set_column(place, field, pa.array(values, pa.string()))
    return findings
