"""Reading local files: text, JSON Lines, CSV, Parquet, row by row and nothing but what is needed.

Line ends are never translated: a line ends at LF or CR LF, and a lone CR, U+0085 or U+2028
stays in the text. CSV cells are text, so ``NA`` and ``007`` stay what they are.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal, cast

from tokbench.bench.config.bundled import text_path
from tokbench.bench.config.corpora import BuiltinCorpus, Corpus, FilesCorpus
from tokbench.bench.corpus.rows import Reading, Row, columns_of, matches, no_column
from tokbench.bench.errors import CorpusError
from tokbench.bench.paths import is_text, looking_at, user_path

Format = Literal["txt", "jsonl", "csv", "parquet"]

_FORMATS: dict[str, Format] = {
    ".txt": "txt",
    ".text": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file to read."""

    path: Path
    written: str
    """The path as the config wrote it; where it wrote a glob, the pattern's folder and the match."""
    part: str
    """Short name, in ids and messages; unique within the language."""

    @property
    def zipped(self) -> bool:
        """Whether the file is compressed with gzip."""
        return self.path.suffix == ".gz"

    @property
    def suffix(self) -> str:
        """The suffix that tells the format, lower-case."""
        return Path(self.path.stem if self.zipped else self.path.name).suffix.lower()


def source_files(entry: FilesCorpus | BuiltinCorpus, key: str, folder: Path) -> list[SourceFile]:
    """Return the files of one language in reading order; raise `CorpusError` where there are none."""
    if isinstance(entry, BuiltinCorpus):
        path = text_path(entry.dataset, key)
        return [SourceFile(path=path, written=f"{entry.dataset}/{path.name}", part=path.name)]
    found = {path: written for one in entry.paths_of(key) for path, written in expand(one, folder)}
    return named_parts(list(found.items()))


def expand(written: str, folder: Path) -> list[tuple[Path, str]]:
    """Return the files that a path or glob stands for, and how to call each; sorted per glob.

    Raises `InputError` where there are none, or the system does not let one look.
    """
    exact = user_path(folder, written)
    with looking_at(written):
        if exact.is_file():
            return [(exact, written)]
    parts = PurePosixPath(written).parts
    plain = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    base = user_path(folder, str(Path(*parts[:plain])))
    if plain == len(parts):
        raise CorpusError(f"there is no file {written!r}; paths start from the config's folder")
    with looking_at(written):
        found = base.glob(str(Path(*parts[plain:])))
        matches = sorted(path for path in found if path.is_file())
    if not matches:
        raise CorpusError(f"no file matches {written!r}; paths start from the config's folder")
    if (odd := next((path for path in matches if not is_text(path)), None)) is not None:
        raise CorpusError(f"{str(odd)!r}: this name is not UTF-8, and could not be told; rename it")
    shown = PurePosixPath(*parts[:plain])
    return [(path, (shown / path.relative_to(base).as_posix()).as_posix()) for path in matches]


def named_parts(found: Sequence[tuple[Path, str]]) -> list[SourceFile]:
    """Name each file by the shortest end of its path that tells them apart: all names, else all paths."""
    names = [path.name for path, _ in found]
    if len(set(names)) < len(names):
        shared = os.path.commonpath([path.parent for path, _ in found])
        names = [path.relative_to(shared).as_posix() for path, _ in found]
    return [
        SourceFile(path=path, written=written, part=name)
        for (path, written), name in zip(found, names, strict=True)
    ]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; read once per process as long as size and time are the same."""
    try:
        status = path.stat()
        return _file_sha256(path, status.st_size, status.st_mtime_ns)
    except OSError as exc:
        raise CorpusError(f"cannot read {path.name}: {exc.strerror}") from exc


@lru_cache(maxsize=100_000)
def _file_sha256(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read(entry: FilesCorpus | BuiltinCorpus, key: str, folder: Path) -> Reading:
    """Open the files of one language; rows are read as they are asked for."""
    files = source_files(entry, key, folder)
    formats = {_format(file, entry) for file in files}
    text = isinstance(entry, FilesCorpus) and formats == {"txt"}
    unzipped = not any(file.zipped or _format(file, entry) == "parquet" for file in files)
    return Reading(
        rows=(row for file in files for row in _rows(file, entry)),
        parts=tuple(file.part for file in files),
        sources=tuple({"path": f.written, "sha256": file_sha256(f.path)} for f in files),
        unit=entry.unit if text and isinstance(entry, FilesCorpus) else "row",
        line_ends=_line_ends(entry) if text and isinstance(entry, FilesCorpus) else None,
        bytes_in_files=sum(f.path.stat().st_size for f in files) if unzipped else None,
    )


def _line_ends(entry: FilesCorpus) -> str:
    return "keep" if entry.keeps_line_ends else "strip"


def _format(file: SourceFile, entry: Corpus) -> Format:
    given = entry.format if isinstance(entry, FilesCorpus) else None
    found = given or _FORMATS.get(file.suffix)
    if found is None:
        raise CorpusError(
            f"{file.part}: the suffix does not tell the format; "
            "say `format: txt` (or jsonl, csv, parquet)"
        )
    return found


def _rows(file: SourceFile, entry: FilesCorpus | BuiltinCorpus) -> Iterator[Row]:
    read_rows = _READERS[_format(file, entry)]
    try:
        yield from read_rows(file, entry)
    except (gzip.BadGzipFile, EOFError) as exc:
        raise CorpusError(f"{file.part} is not a whole gzip file: {exc}") from exc
    except OSError as exc:
        raise CorpusError(f"cannot read {file.part}: {exc.strerror or exc}") from exc


def _open(file: SourceFile) -> IO[bytes]:
    # GzipFile has the methods of a binary file, but typeshed does not call it one
    return cast(IO[bytes], gzip.open(file.path, "rb")) if file.zipped else file.path.open("rb")


_MARK = b"\xef\xbb\xbf"


def _lines(file: SourceFile) -> Iterator[str]:
    """Yield the lines of a file with their ends; the byte-order mark is no part of the text."""
    position = 0
    with _open(file) as stream:
        for number, line in enumerate(stream, start=1):
            text = line.removeprefix(_MARK) if number == 1 else line
            try:
                yield text.decode()
            except UnicodeDecodeError as exc:
                raise _not_utf8(file, number, position + len(line) - len(text), exc) from exc
            position += len(line)


def _not_utf8(file: SourceFile, line: int, start: int, exc: UnicodeDecodeError) -> CorpusError:
    byte = exc.object[exc.start]
    wide = line == 1 and exc.object[:2] in (b"\xff\xfe", b"\xfe\xff")
    return CorpusError(
        f"{file.part}, line {line} is not UTF-8: byte 0x{byte:02x} at byte {start + exc.start} of "
        f"the file; convert the file to UTF-8{' (it looks like UTF-16)' if wide else ''}"
    )


def _read_txt(file: SourceFile, entry: Corpus) -> Iterator[Row]:
    assert isinstance(entry, FilesCorpus)
    if entry.where:
        raise CorpusError(f"{file.part}: plain text has no columns that `where` could look at")
    keep = entry.keeps_line_ends
    for number, (line, unit) in enumerate(_UNITS[entry.unit](_lines(file))):
        text = unit if keep else _without_line_end(unit)
        yield Row(file.part, number, text, skip=None if text else f"empty {entry.unit}", line=line)


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


def _read_jsonl(file: SourceFile, entry: Corpus) -> Iterator[Row]:
    found: dict[str, None] = {}
    for number, line in enumerate(_lines(file)):
        if not line.strip():
            yield Row(file.part, number, None, skip="blank line", line=number + 1)
            continue
        cells = _json_object(line, file, number + 1)
        found.update(dict.fromkeys(cells))
        if not matches(cells, entry):
            continue
        text, id_, cluster = (cells.get(column or "") for column in _columns(entry))
        yield Row(file.part, number, text, id_, cluster, line=number + 1)
    # a row may lack a key; a column that no row has is a wrong name
    _check_columns(entry, list(found), file)


def _columns(entry: Corpus) -> tuple[str, str | None, str | None]:
    return entry.text, entry.id, entry.cluster


def _check_columns(entry: Corpus, known: list[str], file: SourceFile) -> None:
    for column in columns_of(entry):
        if column not in known:
            raise no_column(column, known, file.part)


def _json_object(line: str, file: SourceFile, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as exc:
        raise CorpusError(f"{file.part}, line {number} is not JSON: {exc}") from exc
    if not isinstance(value, dict):
        raise CorpusError(
            f"{file.part}, line {number} holds a {type(value).__name__}; "
            "in JSON Lines every line is one object"
        )
    return value


def _read_csv(file: SourceFile, entry: Corpus) -> Iterator[Row]:
    delimiter = entry.delimiter if isinstance(entry, FilesCorpus) else None
    # the module's limit of 131,072 characters a cell is less than many documents have
    csv.field_size_limit(2**31 - 1)
    cells = csv.reader(_lines(file), delimiter=delimiter or _usual_delimiter(file), strict=True)
    try:
        header = next(cells, [])
        _check_columns(entry, header, file)
        places = [None if c is None else header.index(c) for c in _columns(entry)]
        for number, row in enumerate(cells):
            if len(row) > len(header):
                raise CorpusError(
                    f"{file.part}, row {number} (line {cells.line_num}) has {len(row)} cells and "
                    f"the header {len(header)}; quote cells that hold the delimiter"
                )
            if not matches(dict(zip(header, row, strict=False)), entry):
                continue
            text, id_, cluster = (_cell(row, place) for place in places)
            yield Row(file.part, number, text, id_, cluster, line=cells.line_num)
    except csv.Error as exc:
        raise CorpusError(f"{file.part}, line {cells.line_num} is not CSV: {exc}") from exc


def _usual_delimiter(file: SourceFile) -> str:
    return "\t" if file.suffix == ".tsv" else ","


def _cell(row: list[str], place: int | None) -> str | None:
    """Return a cell, None where it is empty or not there: CSV cannot tell the two apart."""
    return None if place is None or place >= len(row) else row[place] or None


def _read_parquet(file: SourceFile, entry: Corpus) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file.path) as parquet:
            _check_columns(entry, list(parquet.schema_arrow.names), file)
            number = 0
            for batch in parquet.iter_batches(columns=columns_of(entry), batch_size=4096):
                yield from table_rows(batch, entry, file.part, number)
                number += batch.num_rows
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as exc:
        raise CorpusError(f"{file.part} cannot be read as Parquet: {exc}") from exc


def table_rows(table: Any, entry: Corpus, part: str, first: int) -> Iterator[Row]:
    """Yield the rows of an Arrow table or batch, the first of which has that number."""
    import pyarrow as pa

    numbers: Sequence[int] = range(first, first + table.num_rows)
    if entry.where:
        kept = _matching(table, entry, part, numbers)
        table, numbers = table.take(pa.array(kept, pa.int64())), [first + i for i in kept]
    texts = _cells(table, entry.text, part, numbers)
    ids = _cells(table, entry.id, part, numbers)
    clusters = _cells(table, entry.cluster, part, numbers)
    for number, text, id_, cluster in zip(numbers, texts, ids, clusters, strict=True):
        yield Row(part, number, text, id_, cluster)


def _matching(table: Any, entry: Corpus, part: str, numbers: Sequence[int]) -> list[int]:
    columns = {name: _cells(table, name, part, numbers) for name in entry.where or ()}
    rows = zip(*columns.values(), strict=True)
    return [i for i, row in enumerate(rows) if matches(dict(zip(columns, row, strict=True)), entry)]


def _cells(table: Any, name: str | None, part: str, numbers: Sequence[int]) -> list[Any]:
    if name is None:
        return [None] * len(numbers)
    column = table.column(name)
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        raise _bad_cell(column, name, part, numbers) from None


def _bad_cell(column: Any, name: str, part: str, numbers: Sequence[int]) -> CorpusError:
    """Find the cell that is not UTF-8, one by one, since only now it matters."""
    for number, cell in zip(numbers, column, strict=True):
        try:
            cell.as_py()
        except UnicodeDecodeError as exc:
            return CorpusError(
                f"{part}, row {number}, column {name!r} is not UTF-8: byte "
                f"0x{exc.object[exc.start]:02x} at byte {exc.start} of the cell; correct the file"
            )
    raise AssertionError("a column that cannot be read as a whole has a cell that cannot")


_READERS: dict[Format, Callable[[SourceFile, Corpus], Iterator[Row]]] = {
    "txt": _read_txt,
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
}
