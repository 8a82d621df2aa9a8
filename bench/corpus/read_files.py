"""Reading local files: text, JSON Lines, CSV, Parquet, row by row and nothing but what is needed.

Line ends are never translated: a line ends at LF or CR LF, and a lone CR, U+0085 or U+2028
stays in the text. CSV cells are text, so ``NA`` and ``007`` stay what they are.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from tokbench.bench.config.corpora import BuiltinCorpus, Corpus, FilesCorpus
from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.file_state import KnownFile, Tick, file_sha256, known_file
from tokbench.bench.corpus.find_files import PACKINGS, SourceFile, source_files
from tokbench.bench.corpus.open_files import (
    HEAD_BYTES,
    MARK,
    format_suffix,
    is_html,
    opened,
    refuse_pointer,
    unpacking,
)
from tokbench.bench.corpus.rows import Filter, Reading, Row, cell, columns_of, names_in, no_column
from tokbench.bench.corpus.table_cells import column_names, heads, table_rows
from tokbench.bench.errors import CorpusError
from tokbench.bench.files import unique_keys

Format = Literal["txt", "jsonl", "json", "csv", "parquet"]

_FORMATS: dict[str, Format] = {
    ".txt": "txt",
    ".text": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}


_ARCHIVES = (".7z", ".rar", ".tar", ".tgz", ".tbz2", ".txz", ".lz4", ".br", ".lzma")


@dataclass(frozen=True, kw_only=True)
class _Job:
    """What readers need besides the file."""

    entry: Corpus
    taken: Filter
    budget: Budget
    lengths: dict[SourceFile, int] = field(default_factory=dict)
    """Rows of the JSON files that were read completely, sampled or not."""

    @property
    def columns(self) -> tuple[str, str | None, str | None, str | None]:
        """The columns of text, id, cluster and weight."""
        return self.entry.text, self.entry.id, self.entry.cluster, self.entry.weight

    @property
    def markup(self) -> bool:
        """Whether HTML is content here."""
        return self.entry.kind == "code"


def read(
    entry: FilesCorpus | BuiltinCorpus, key: str, folder: Path, budget: Budget | None = None
) -> Reading:
    """Open the files of one language; rows are read lazily."""
    files = source_files(entry, key, folder)
    formats = {_format(file, entry) for file in files}
    text = isinstance(entry, FilesCorpus) and formats == {"txt"}
    unzipped = not any(file.packing or _format(file, entry) == "parquet" for file in files)
    job = _Job(entry=entry, taken=Filter(entry), budget=budget or Budget(Limits()))
    unit = entry.unit if text and isinstance(entry, FilesCorpus) else "row"
    return Reading(
        rows=(row for file in files for row in _rows(file, job)),
        parts=tuple(file.part for file in files),
        sources=tuple({"path": f.written, "sha256": file_sha256(f.path)} for f in files),
        unit=unit,
        line_ends=_line_ends(entry) if text and isinstance(entry, FilesCorpus) else None,
        bytes_in_files=sum(f.path.stat().st_size for f in files) if unzipped else None,
        matched_by="id" if entry.id is not None else f"{unit} number",
        offered=job.taken.offered,
    )


def json_rows(
    parts: Mapping[str, Sequence[Path]], entry: Corpus, taken: Filter, budget: Budget
) -> Iterator[Row]:
    """Yield the rows of JSON files, lists or JSON Lines, counted from 0 in each part."""
    job = _Job(entry=entry, taken=taken, budget=budget)
    for part, paths in parts.items():
        before = 0
        for path in paths:
            file = SourceFile(path=path, written=path.name, part=path.name)
            with unpacking(file):
                for row in _read_json(file, job):
                    yield row._replace(part=part, number=before + row.number)
            before += job.lengths[file]


def known_files(
    entry: FilesCorpus | BuiltinCorpus, key: str, folder: Path, tick: Tick | None = None
) -> list[KnownFile]:
    """Return what the files of one language are known by now, in reading order."""
    files = source_files(entry, key, folder)
    return [known_file(file.path, file.written, tick) for file in files]


def _line_ends(entry: FilesCorpus) -> str:
    return "keep" if entry.keeps_line_ends else "strip"


def look(file: SourceFile, entry: FilesCorpus, limits: Limits) -> None:
    """Check the first bytes of a file; `CorpusError` where it is not what it should be."""
    if _format(file, entry) != "parquet":
        with unpacking(file), opened(file, Budget(limits), markup=entry.kind == "code") as stream:
            # a limit may end the reading before a damaged row, but never before the first
            lines = [stream.readline(HEAD_BYTES)] if entry.limit else _head(stream)
        _refuse_other_bytes(file, lines)
        return
    with unpacking(file), file.path.open("rb") as raw:
        head = raw.read(HEAD_BYTES)
    refuse_pointer(head, file.part)
    if not head.startswith(b"PAR1"):
        raise CorpusError(f"{file.part} is not a Parquet file (it does not begin with PAR1)")


def _head(stream: IO[bytes]) -> list[bytes]:
    """Return the first lines of a file, the last one perhaps in part."""
    return stream.read(HEAD_BYTES).splitlines(keepends=True)


def _refuse_other_bytes(file: SourceFile, lines: Sequence[bytes]) -> None:
    """Raise `CorpusError` where lines are not UTF-8; the last one may end in half a character."""
    position = 0
    for number, line in enumerate(lines, start=1):
        try:
            codecs.getincrementaldecoder("utf-8")().decode(line, final=number < len(lines))
        except UnicodeDecodeError as exc:
            raise _not_utf8(file, number, position, exc) from exc
        position += len(line)


def _format(file: SourceFile, entry: Corpus) -> Format:
    given = entry.format if isinstance(entry, FilesCorpus) else None
    suffix = format_suffix(file)
    if suffix in _ARCHIVES:
        packings = ", ".join(PACKINGS)
        raise CorpusError(
            f"{file.part}: {suffix} files are not supported, only {packings}; unpack it, or "
            "compress it again"
        )
    found = given or _FORMATS.get(suffix)
    if found is None:
        raise CorpusError(
            f"{file.part}: unknown format; rename the file or set `format: txt` (or "
            "jsonl, json, csv, parquet)"
        )
    if found == "parquet" and file.packing is not None:
        raise CorpusError(f"{file.part}: Parquet is compressed inside already; unpack this file")
    return found


def _rows(file: SourceFile, job: _Job) -> Iterator[Row]:
    read_rows = _READERS[_format(file, job.entry)]
    with unpacking(file):
        yield from read_rows(file, job)


def _lines(file: SourceFile, job: _Job) -> Iterator[str]:
    """Yield the lines of a file with their ends; the byte order mark is not part of the text."""
    position = 0
    with opened(file, job.budget, markup=job.markup) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(_MARK) if number == 1 else line
            try:
                yield text.decode()
            except UnicodeDecodeError as exc:
                raise _not_utf8(file, number, position + len(line) - len(text), exc) from exc
            position += len(line)


_MARK = MARK.encode()


def _not_utf8(file: SourceFile, line: int, start: int, exc: UnicodeDecodeError) -> CorpusError:
    byte = exc.object[exc.start]
    wide = line == 1 and exc.object[:2] in (b"\xff\xfe", b"\xfe\xff")
    return CorpusError(
        f"{file.part}, line {line} is not UTF-8: byte 0x{byte:02x} at byte {start + exc.start} of "
        f"the file; convert the file to UTF-8{' (it looks like UTF-16)' if wide else ''}"
    )


def _read_txt(file: SourceFile, job: _Job) -> Iterator[Row]:
    entry = job.entry
    assert isinstance(entry, FilesCorpus)
    if entry.where:
        raise CorpusError(f"{file.part}: `where` requires columns, which plain text does not have")
    keep = entry.keeps_line_ends
    for number, (line, unit) in enumerate(_UNITS[entry.unit](_lines(file, job))):
        text = unit if keep else _without_line_end(unit)
        skip, stripped = None if text else f"empty {entry.unit}", len(unit) - len(text)
        yield Row(file.part, number, text, skip=skip, line=line, stripped=stripped)


def _without_line_end(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _as_lines(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    return enumerate(lines, start=1)


def _as_document(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    yield 1, "".join(lines)


def _as_paragraphs(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
    """Yield paragraphs with all their line ends; blank lines part them and belong to none."""
    paragraph: list[str] = []
    first = 1
    for number, line in enumerate(lines, start=1):
        if line.strip():
            first = first if paragraph else number
            paragraph.append(line)
        elif paragraph:
            yield first, "".join(paragraph)
            paragraph = []
    if paragraph:
        yield first, "".join(paragraph)


_UNITS: dict[str, Callable[[Iterator[str]], Iterator[tuple[int, str]]]] = {
    "line": _as_lines,
    "paragraph": _as_paragraphs,
    "document": _as_document,
}


def _read_jsonl(file: SourceFile, job: _Job) -> Iterator[Row]:
    columns, number = _KnownColumns(job.entry), -1
    for number, line in enumerate(_lines(file, job)):
        if not line.strip():
            yield Row(file.part, number, None, skip="blank line", line=number + 1)
            continue
        cells = _json_object(line, file, number + 1)
        columns.look_at(cells)
        if job.taken(cells):
            yield _row_of(cells, file, number, job, line=number + 1)
    job.lengths[file] = number + 1
    columns.check(file)


class _KnownColumns:
    """Columns seen so far: one object may lack a key, but a key missing from all is an error."""

    def __init__(self, entry: Corpus) -> None:
        self._missing = dict.fromkeys(columns_of(entry))
        self._known: dict[str, None] = {}

    def look_at(self, cells: Mapping[str, object]) -> None:
        """Add one object."""
        if not self._missing:
            return
        self._known.update(dict.fromkeys(names_in(cells)))
        for column in [one for one in self._missing if one in self._known]:
            del self._missing[column]

    def check(self, file: SourceFile) -> None:
        """Raise `CorpusError` for the first column that no object had."""
        for column in self._missing:
            raise no_column(column, list(self._known), file.part)


def _row_of(
    cells: Mapping[str, object], file: SourceFile, number: int, job: _Job, line: int | None = None
) -> Row:
    text, id_, cluster, weight = (None if c is None else cell(cells, c) for c in job.columns)
    return Row(file.part, number, text, id_, cluster, line=line, weight=weight)


def _check_columns(entry: Corpus, known: list[str], file: SourceFile) -> None:
    for column in columns_of(entry):
        if column not in known:
            raise no_column(column, known, file.part)
        if known.count(column) > 1:
            raise CorpusError(
                f"{file.part} has {known.count(column)} columns {column!r}; rename one"
            )


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)
"""Refuses a key that occurs twice in one object: readers differ on which value it has."""


def _json_object(line: str, file: SourceFile, number: int) -> dict[str, Any]:
    try:
        value = _DECODER.decode(line)
    except ValueError as exc:
        raise CorpusError(f"{file.part}, line {number} is not JSON: {exc}") from exc
    except RecursionError as exc:
        raise CorpusError(f"{file.part}, line {number} is nested too deeply") from exc
    if not isinstance(value, dict):
        hint = "; for a file that is one list use `format: json`" if isinstance(value, list) else ""
        raise CorpusError(
            f"{file.part}, line {number} holds a {type(value).__name__}; "
            f"in JSON Lines every line is one object{hint}"
        )
    return value


def _read_json(file: SourceFile, job: _Job) -> Iterator[Row]:
    """Read a list of objects; a file that begins with an object is read as JSON Lines."""
    with opened(file, job.budget, markup=job.markup) as stream:
        lines = stream.peek(1) if isinstance(stream, io.BufferedReader) else b""
        is_list = lines.removeprefix(_MARK).lstrip()[:1] == b"["
    if not is_list:
        yield from _read_jsonl_or_say(file, job)
        return
    columns, number = _KnownColumns(job.entry), -1
    for number, cells in enumerate(_list_items("".join(_lines(file, job)), file)):
        columns.look_at(cells)
        if job.taken(cells):
            yield _row_of(cells, file, number, job)
    job.lengths[file] = number + 1
    columns.check(file)


def _read_jsonl_or_say(file: SourceFile, job: _Job) -> Iterator[Row]:
    rows = _read_jsonl(file, job)
    try:
        first = next(rows, None)
    except CorpusError as exc:
        if isinstance(exc.__cause__, json.JSONDecodeError) and ", line 1 " in str(exc):
            raise CorpusError(
                f"{file.part} is neither a list of objects nor JSON Lines; write its rows as "
                '`[{"text": ...}, ...]`, or one object a line'
            ) from exc
        raise
    if first is not None:
        yield first
    yield from rows


def _list_items(text: str, file: SourceFile) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON list one by one, so that an error has its row."""
    space = re.compile(r"[ \t\r\n]*")
    place, number = _after(space, text, 0) + 1, 0
    end = _after(space, text, place)
    if closed := text[end : end + 1] == "]":
        place = end + 1
    while not closed:
        try:
            value, place = _DECODER.raw_decode(text, _after(space, text, place))
        except ValueError as exc:
            raise CorpusError(f"{file.part}, row {number} is not JSON: {exc}") from exc
        except RecursionError as exc:
            raise CorpusError(f"{file.part}, row {number} is nested too deeply") from exc
        if isinstance(value, str):
            value = {"text": value}
        if not isinstance(value, dict):
            what = type(value).__name__
            raise CorpusError(f"{file.part}, row {number} is a {what}; every row is one object")
        yield value
        place, number = _after(space, text, place) + 1, number + 1
        if text[place - 1 : place] not in (",", "]"):
            raise CorpusError(f"{file.part}, row {number} is missing: the list does not end")
        closed = text[place - 1] == "]"
    if text[place:].strip():
        raise CorpusError(f"{file.part}: text follows the end of the list; remove it")


def _after(space: re.Pattern[str], text: str, place: int) -> int:
    found = space.match(text, place)
    return found.end() if found else place


def _read_csv(file: SourceFile, job: _Job) -> Iterator[Row]:
    given = job.entry if isinstance(job.entry, FilesCorpus) else None
    delimiter = (given and given.delimiter) or _usual_delimiter(file)
    quote = (given and given.quote) or ("none" if format_suffix(file) == ".tsv" else '"')
    rows = _split_rows if quote == "none" else partial(_csv_rows, quote=quote)
    cells = rows(_lines(file, job), delimiter, file)
    before, header = next(cells, (0, []))
    _check_columns(job.entry, header, file)
    places = [None if c is None else header.index(c) for c in job.columns]
    for number, (line, row) in enumerate(cells):
        if len(row) > len(header):
            raise CorpusError(
                f"{file.part}, row {number} (line {line}) has {len(row)} cells and the header "
                f"{len(header)}; quote cells that hold the delimiter, or set `delimiter` or `quote`"
            )
        several, before = line > before + 1, line
        if job.taken(dict(zip(header, row, strict=False))):
            text, id_, cluster, weight = (_cell(row, place) for place in places)
            remark = JOINED_LINES if several else None
            yield Row(
                file.part, number, text, id_, cluster, line=line, remark=remark, weight=weight
            )


JOINED_LINES = "rows with line ends inside a quoted cell (see `quote`)"


def _csv_rows(
    lines: Iterator[str], delimiter: str, file: SourceFile, *, quote: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, each with the number of its last line."""
    # the module's limit of 131,072 characters a cell is less than many documents have
    csv.field_size_limit(2**31 - 1)
    cells = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
    try:
        for row in cells:
            yield cells.line_num, row
    except csv.Error as exc:
        raise CorpusError(
            f"{file.part}, line {cells.line_num} is not CSV: {exc}; if quotation marks are part of "
            "the text, set `quote: none`"
        ) from exc


def _split_rows(
    lines: Iterator[str], delimiter: str, file: SourceFile
) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, start=1):
        text = _without_line_end(line)
        yield number, text.split(delimiter) if text else []


def _usual_delimiter(file: SourceFile) -> str:
    return "\t" if format_suffix(file) == ".tsv" else ","


def _cell(row: list[str], place: int | None) -> str | None:
    """Return a cell, None if it is empty or missing: CSV cannot distinguish the two."""
    return None if place is None or place >= len(row) else row[place] or None


def _read_parquet(file: SourceFile, job: _Job) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with file.path.open("rb") as raw:
        head = raw.read(HEAD_BYTES)
        refuse_pointer(head, file.part)
        if is_html(head):
            raise CorpusError(f"{file.part} is an HTML page, not Parquet; download the file itself")
    try:
        with pq.ParquetFile(file.path) as parquet:
            schema, size = parquet.schema_arrow, file.path.stat().st_size
            _check_columns(job.entry, column_names(schema), file)
            columns = heads(columns_of(job.entry), schema.names)
            number = unpacked = 0
            for batch in parquet.iter_batches(columns=columns, batch_size=4096):
                unpacked += batch.nbytes
                job.budget.spend(batch.nbytes, file.part)
                job.budget.unpack(unpacked, size, file.part)
                yield from table_rows(batch, job.entry, file.part, number, job.taken, schema)
                number += batch.num_rows
    except (pa.ArrowException, OSError) as exc:
        raise CorpusError(f"{file.part} cannot be read as Parquet: {exc}") from exc


_READERS: dict[Format, Callable[[SourceFile, _Job], Iterator[Row]]] = {
    "txt": _read_txt,
    "jsonl": _read_jsonl,
    "json": _read_json,
    "csv": _read_csv,
    "parquet": _read_parquet,
}
