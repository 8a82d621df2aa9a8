"""Cells of Arrow tables as rows: dotted columns, names of classes, values that are JSON.

`datasets` keeps the names of a class column, and which columns are JSON, beside the schema; both
are read from there, in Parquet files that it wrote too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokbench.bench.config.corpora import Corpus
from tokbench.bench.corpus.rows import Filter, Row
from tokbench.bench.errors import CorpusError


def table_rows(
    table: Any, entry: Corpus, part: str, first: int, taken: Filter, about: Any = None
) -> Iterator[Row]:
    """Yield the rows of an Arrow table or batch, the first of which has that number.

    `about` is the schema whose metadata holds the names of classes, if it is not the table's own.
    """
    import pyarrow as pa

    numbers: Sequence[int] = range(first, first + table.num_rows)
    if entry.where:
        labels = class_names(about or table.schema)
        kept = _matching(table, part, numbers, taken, labels)
        table, numbers = table.take(pa.array(kept, pa.int64())), [first + i for i in kept]
    texts = _cells(table, entry.text, part, numbers)
    ids = _cells(table, entry.id, part, numbers)
    clusters = _cells(table, entry.cluster, part, numbers)
    weights = _cells(table, entry.weight, part, numbers)
    columns = zip(numbers, texts, ids, clusters, weights, strict=True)
    for number, text, id_, cluster, weight in columns:
        yield Row(part, number, text, id_, cluster, weight=weight)


def class_names(schema: Any) -> dict[str, list[str]]:
    """Return the names behind the integers of each class column, as `datasets` stores them."""
    stored = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        features = json.loads(stored)["info"]["features"]
        return {
            name: [str(one) for one in feature["names"]]
            for name, feature in features.items()
            if feature.get("_type") == "ClassLabel"
        }
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def column_names(schema: Any) -> list[str]:
    """Return the columns of a schema, and the members of those that are structures, dotted."""
    import pyarrow as pa

    names = []
    for field in schema:
        names.append(field.name)
        if pa.types.is_struct(field.type):
            names += [
                f"{field.name}.{inner}" for inner in column_names(pa.schema(list(field.type)))
            ]
    return names


def heads(columns: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the columns of a table that hold some columns, dotted or not, each once."""
    found = (column if column in known else column.split(".")[0] for column in columns)
    return list(dict.fromkeys(found))


def _matching(
    table: Any,
    part: str,
    numbers: Sequence[int],
    taken: Filter,
    labels: Mapping[str, Sequence[str]],
) -> list[int]:
    columns = {name: _cells(table, name, part, numbers) for name in taken.wanted}
    rows = zip(*columns.values(), strict=True)
    return [i for i, row in enumerate(rows) if taken(dict(zip(columns, row, strict=True)), labels)]


def _cells(table: Any, name: str | None, part: str, numbers: Sequence[int]) -> list[Any]:
    if name is None:
        return [None] * len(numbers)
    column = _column(table, name)
    try:
        values = list(column.to_pylist())
    except (UnicodeDecodeError, ValueError, OverflowError):
        raise _bad_cell(column, name, part, numbers) from None
    if str(column.type) != "extension<arrow.json>":
        return values
    return [_parsed(v, name, part, n) for v, n in zip(values, numbers, strict=True)]


def _column(table: Any, name: str) -> Any:
    import pyarrow.compute as pc

    if name in table.schema.names:
        return table.column(name)
    head, *inner = name.split(".")
    column = table.column(head)
    for one in inner:
        column = pc.struct_field(column, one)
    return column


def _parsed(value: str | None, name: str, part: str, number: int) -> Any:
    """Return the value of a JSON cell: text stays text, and 5 is a number."""
    try:
        return None if value is None else json.loads(value)
    except (ValueError, RecursionError) as exc:
        raise CorpusError(f"{part}, row {number}, column {name!r} is not JSON: {exc}") from exc


def _bad_cell(column: Any, name: str, part: str, numbers: Sequence[int]) -> CorpusError:
    """Find the cell that has no value in Python, one by one, since only now it matters."""
    for number, cell in zip(numbers, column, strict=True):
        try:
            cell.as_py()
        except UnicodeDecodeError as exc:
            return CorpusError(
                f"{part}, row {number}, column {name!r} is not UTF-8: byte "
                f"0x{exc.object[exc.start]:02x} at byte {exc.start} of the cell; correct the file"
            )
        except (ValueError, OverflowError) as exc:  # such as a date beyond the year 9999
            return CorpusError(f"{part}, row {number}, column {name!r} cannot be read: {exc}")
    raise AssertionError("a column that cannot be read as a whole has a cell that cannot")
