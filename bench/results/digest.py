"""One digest over the values of tables, independent of file format and row groups.

It is the SHA-256 of the XXH3-128 hashes of all columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash


class TableDigest:
    """The digest of one table, fed piece by piece.

    >>> def digest(*pieces):
    ...     one = TableDigest(pieces[0].schema)
    ...     for piece in pieces:
    ...         one.add(piece)
    ...     return one.hexdigest()
    >>> whole = pa.table({"a": ["x", None, "yz"], "n": [1, 2, None]})
    >>> digest(whole) == digest(whole.slice(0, 1), whole.slice(1))
    True
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._rows = 0
        self._columns = [[xxhash.xxh3_128() for _ in range(3)] for _ in schema]

    def add(self, table: pa.Table) -> None:
        """Add the next rows."""
        self._rows += table.num_rows
        for digests, column in zip(self._columns, table.columns, strict=True):
            for digest, part in zip(digests, _parts(column.combine_chunks()), strict=True):
                digest.update(part)

    def hexdigest(self) -> str:
        """Return the digest of all rows so far."""
        total = hashlib.sha256(str(self._rows).encode())
        for field, digests in zip(self._schema, self._columns, strict=True):
            total.update(f"\x1f{field.name}\x1f{_type_name(field.type)}\x1f".encode())
            for digest in digests:
                total.update(digest.digest())
        return total.hexdigest()


def _parts(column: pa.Array) -> tuple[Any, Any, Any]:
    """Return which values are there, how long each is, and the values, as buffers."""
    if column.null_count:
        there = column.is_valid().to_numpy(zero_copy_only=False)
    else:
        there = b"\1" * len(column)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return there, _lengths(pc.binary_length(column)), _text_bytes(column.drop_null())
    if pa.types.is_list(column.type):
        values = column.drop_null().flatten().to_numpy(zero_copy_only=False)
        return there, _lengths(pc.list_value_length(column)), values
    values = pc.fill_null(column, pa.scalar(0).cast(column.type)) if column.null_count else column
    return there, b"", values.to_numpy(zero_copy_only=False)


def _type_name(kind: pa.DataType) -> str:
    # Parquet calls the inside of a list `element`, Arrow calls it `item`
    return f"list<{kind.value_type}>" if pa.types.is_list(kind) else str(kind)


def _lengths(lengths: pa.Array) -> npt.NDArray[np.int64]:
    values: npt.NDArray[Any] = pc.fill_null(lengths, 0).to_numpy(zero_copy_only=False)
    return values.astype("<i8")


def _text_bytes(column: pa.Array) -> memoryview:
    """Return all texts of a column, one after the other, without making Python strings."""
    if not len(column):
        return memoryview(b"")
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])] if data else memoryview(b"")


def digest_of(tables: Mapping[str, pa.Table | str]) -> str:
    """Return one digest over several tables, or digests of tables, by name."""
    total = hashlib.sha256()
    for name in sorted(tables):
        table = tables[name]
        digest = table if isinstance(table, str) else table_digest(table)
        total.update(f"{name}\x1f{digest}\x1f".encode())
    return total.hexdigest()


def table_digest(table: pa.Table) -> str:
    """Return the digest of one whole table."""
    digest = TableDigest(table.schema)
    digest.add(table)
    return digest.hexdigest()
