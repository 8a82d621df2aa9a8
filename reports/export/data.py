"""All values of a run as CSV and as JSON."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import StringIO
from typing import Any

from tokbench.bench.markup import csv_cell, strict_json
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import MEASUREMENTS
from tokbench.reports.view import view_of


class CsvTable(ReportPlugin):
    """`measurements.csv`: every value, one row each, safe to open in a spreadsheet."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `measurements.csv`, in the columns of `measurements.parquet`."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(MEASUREMENTS.names)
        for row in view_of(results).rows:
            writer.writerow([_cell(row[name]) for name in MEASUREMENTS.names])
        return {"measurements.csv": out.getvalue()}


def _cell(value: Any) -> str:
    """Write a value; a number as it is, text without formulas, nothing for null.

    >>> _cell(0.1), _cell(None), _cell(True), _cell({"b": 1, "a": "x"}), _cell("=A1")
    ('0.1', '', 'true', '{"a": "x", "b": 1}', "'=A1")
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return strict_json(value, indent=None, sort_keys=True)
    return csv_cell(str(value))


class JsonTable(ReportPlugin):
    """`measurements.json`: every value and the definitions of the metrics, as strict JSON."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `measurements.json`."""
        view = view_of(results)
        data = {
            "name": view.run["name"],
            "digest": view.run["digest"],
            "metrics": view.run["metrics"],
            "measurements": view.rows,
        }
        return {"measurements.json": strict_json(data, sort_keys=True) + "\n"}
