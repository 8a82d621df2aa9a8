"""Reading through `datasets`: data sets of the Hugging Face Hub, local folders, its own builders.

Code of a data set is never run. Cells are read as `source: files` reads them: local JSON files by
the same reader, in a column of JSON values a number is not text, and a byte order mark is dropped.
What `datasets`
prepares of local files lives no longer than the reading, because it is found again by name, size
and time, which a changed file may share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tokbench.bench.config.corpora import HuggingFaceCorpus
from tokbench.bench.corpus.budget import Budget
from tokbench.bench.corpus.file_state import KnownFile, Tick, file_sha256, known_file
from tokbench.bench.corpus.find_files import expand
from tokbench.bench.corpus.hub.words import BUILDERS, in_words, local_folder
from tokbench.bench.corpus.open_files import HEAD_BYTES, MARK, refuse_other_text, refuse_pointer
from tokbench.bench.corpus.read_files import JOINED_LINES, json_rows
from tokbench.bench.corpus.rows import Filter, Reading, Row, columns_of, no_column
from tokbench.bench.corpus.table_cells import column_names, heads, table_rows
from tokbench.bench.errors import CorpusError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import lock_threads_only


def read(
    entry: HuggingFaceCorpus, key: str, folder: Path, budget: Budget, scratch: Path
) -> Reading:
    """Open one language of a data set; rows are read lazily.

    `scratch` is a folder for the files that `datasets` derives from local ones.
    """
    with in_words(entry, key, folder):
        builder = _builder(entry, key, folder, scratch / "datasets")
        splits = _splits(entry, builder)
        _refuse_impostors(builder, splits, entry)
        local = _local_json(builder, splits)
        streams = {} if local else {split: _stream(builder, split, entry) for split in splits}
    taken = Filter(entry)
    return Reading(
        rows=json_rows(local, entry, taken, budget)
        if local
        else _rows(streams, entry, key, folder, taken, budget),
        parts=splits,
        sources=_sources(entry, key, folder, builder, splits),
        unit="row",
        notes=_notes(entry, builder),
        matched_by="row number" if entry.id is None else "id",
        offered=taken.offered,
    )


def known_paths(entry: HuggingFaceCorpus, key: str, folder: Path) -> list[tuple[Path, str]]:
    """Return every local file that may be read, and what to call it, without `datasets`.

    Which files of a folder a config reads is known only to `datasets`, so all of them count.
    """
    if entry.path in BUILDERS:
        return [found for one in _written_files(entry, key) for found in expand(one, folder)]
    local = local_folder(entry, folder)
    if local is None:
        return []
    files = (Path(root, name) for root, _, names in os.walk(local) for name in names)
    named = ((path.relative_to(local), path) for path in files if path.is_file())
    return sorted(
        (path, name.as_posix())
        for name, path in named
        if not any(part.startswith(".") for part in name.parts)
    )


def known_files(
    entry: HuggingFaceCorpus, key: str, folder: Path, tick: Tick | None = None
) -> list[KnownFile]:
    """Return what every local file that may be read is known by now."""
    return [known_file(path, name, tick) for path, name in known_paths(entry, key, folder)]


def _refuse_impostors(builder: Any, splits: Sequence[str], entry: HuggingFaceCorpus) -> None:
    text = builder.__class__.__name__ in ("Text", "Csv", "Json")
    for path in map(Path, _files_of(builder, splits)):
        if not path.is_file():  # on the Hub, or a member of an archive
            continue
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        refuse_pointer(head, path.name)
        if text:
            refuse_other_text(head, path.name, markup=entry.kind == "code")


def _local_json(builder: Any, splits: Sequence[str]) -> dict[str, list[Path]]:
    """Return the local JSON files of each split, nothing where rows must come from `datasets`.

    It finds a type for a whole column, so that 5 becomes text beside text, and "5" a number.
    """
    plain = builder.__class__.__name__ == "Json" and builder.config.field is None
    if not plain or builder.info.features is not None:
        return {}
    files = {split: [Path(one) for one in _files_of(builder, [split])] for split in splits}
    return files if all(one.is_file() for some in files.values() for one in some) else {}


def _files_of(builder: Any, splits: Sequence[str]) -> list[str]:
    files = builder.config.data_files or {}
    return [str(one) for split in splits for one in files.get(split, ())]


def _builder(entry: HuggingFaceCorpus, key: str, folder: Path, scratch: Path) -> Any:
    import datasets

    lock_threads_only()
    datasets.disable_progress_bars()
    arguments: dict[str, Any] = {
        "path": _path(entry, folder),
        "name": entry.config_of(key),
        "revision": entry.revision,
        "data_dir": None if entry.data_dir is None else entry.data_dir.replace("{language}", key),
        "data_files": _data_files(entry, key, folder),
        "cache_dir": str(scratch) if _is_local(entry, folder) else None,
    }
    builder = datasets.load_dataset_builder(**arguments)
    if builder.__class__.__name__ != "Csv":
        return builder
    # pandas would read NA, null and nan as missing and 007 as a number; a converter keeps text
    converters = dict.fromkeys(columns_of(entry), str)
    return datasets.load_dataset_builder(**arguments, converters=converters, keep_default_na=False)


def _is_local(entry: HuggingFaceCorpus, folder: Path) -> bool:
    return entry.path in BUILDERS or local_folder(entry, folder) is not None


def _path(entry: HuggingFaceCorpus, folder: Path) -> str:
    local = local_folder(entry, folder)
    return entry.path if local is None else str(local)


def _written_files(entry: HuggingFaceCorpus, key: str) -> list[str]:
    files = entry.data_files
    if files is None:
        raise CorpusError(f"path {entry.path!r} is a file format; name the files in `data_files`")
    groups = files.values() if isinstance(files, Mapping) else [files]
    return [one.replace("{language}", key) for group in groups for one in group]


def _data_files(entry: HuggingFaceCorpus, key: str, folder: Path) -> Any:
    def found(files: Sequence[str]) -> list[str]:
        written = [one.replace("{language}", key) for one in files]
        if entry.path not in BUILDERS:
            return written  # `datasets` looks for them in the data set
        return [str(path) for one in written for path, _ in expand(one, folder)]

    if entry.data_files is None:
        return None
    if isinstance(entry.data_files, Mapping):
        return {split: found(files) for split, files in entry.data_files.items()}
    return found(entry.data_files)


def _available_splits(builder: Any) -> list[str]:
    return [str(split) for split in (builder.config.data_files or builder.info.splits or ())]


def _splits(entry: HuggingFaceCorpus, builder: Any) -> tuple[str, ...]:
    available = _available_splits(builder)
    wanted = entry.wanted_splits()
    if not wanted and len(available) == 1:
        return tuple(available)
    if not wanted:
        raise CorpusError(
            f"data set {entry.path!r} has several splits: {', '.join(available)}; "
            "choose one with `split` or several with `splits`"
        )
    for split in wanted:
        if split not in available:
            raise CorpusError(
                f"data set {entry.path!r} has no split {split!r}{did_you_mean(split, available)}; "
                f"its splits are: {', '.join(available)}"
            )
    return wanted


def _stream(builder: Any, split: str, entry: HuggingFaceCorpus) -> Any:
    if entry.streaming:
        stream = builder.as_streaming_dataset(split=split)
    else:
        heartbeat.at("download")
        builder.download_and_prepare()
        stream = builder.as_dataset(split=split)
    known = stream.column_names
    if known is not None:  # a stream of JSON or CSV knows its columns only once it is read
        wanted = _heads(entry, known, split)
        if builder.__class__.__name__ == "Csv":
            _check_columns(entry, known, split, csv=True)
        stream = stream.select_columns(wanted)
    return stream.with_format("arrow")


def _heads(entry: HuggingFaceCorpus, known: list[str], split: str) -> list[str]:
    found = heads(columns_of(entry), known)
    for column in found:
        if column not in known:
            raise no_column(column, known, f"split {split!r} of {entry.path!r}")
    return found


def _check_columns(
    entry: HuggingFaceCorpus, known: list[str], split: str, *, csv: bool = False
) -> None:
    for column in columns_of(entry):
        if column not in known:
            raise no_column(column, known, f"split {split!r} of {entry.path!r}")
        if csv and f"{column}.1" in known:  # so the loader calls a second column of that name
            raise CorpusError(
                f"split {split!r} of {entry.path!r} has two columns {column!r}; rename one"
            )


def _rows(
    streams: Mapping[str, Any],
    entry: HuggingFaceCorpus,
    key: str,
    folder: Path,
    taken: Filter,
    budget: Budget,
) -> Iterator[Row]:
    for split, stream in streams.items():
        number, loader = 0, str(stream.info.builder_name)
        as_read = _READ_AS.get(loader, _as_it_is)
        with in_words(entry, key, folder):
            for table in stream.iter(batch_size=1000):
                budget.spend(table.nbytes, f"split {split!r} of {entry.path!r}")
                names = column_names(table.schema)
                _check_columns(entry, names, split, csv=loader == "csv")
                about = _schema_of(stream, table)
                for row in table_rows(table, entry, split, number, taken, about):
                    yield as_read(row)
                number += len(table)


def _schema_of(stream: Any, table: Any) -> Any:
    """Return the schema that holds the names of classes: the stream's, where it knows one."""
    features = getattr(stream, "features", None)
    return table.schema if features is None else features.arrow_schema


def _as_it_is(row: Row) -> Row:
    return row


def _from_csv(row: Row) -> Row:
    if row.text == "":
        return row._replace(text=None)
    joined = isinstance(row.text, str) and "\n" in row.text
    return row._replace(remark=JOINED_LINES) if joined else row


def _without_mark(row: Row) -> Row:
    # the text loader does not tell where a file begins
    return row._replace(text=row.text.removeprefix(MARK)) if isinstance(row.text, str) else row


_READ_AS = {"csv": _from_csv, "text": _without_mark}
"""What becomes of a row, by the loader of `datasets` that read it."""


def _sources(
    entry: HuggingFaceCorpus, key: str, folder: Path, builder: Any, splits: Sequence[str]
) -> tuple[dict[str, Any], ...]:
    files = _files_of(builder, splits)
    local = local_folder(entry, folder)
    if local is not None:
        shown = ((Path(one), f"{entry.path.rstrip('/')}/{_relative(one, local)}") for one in files)
        return tuple({"path": name, "sha256": file_sha256(path)} for path, name in shown)
    if entry.path in BUILDERS:
        known = known_files(entry, key, folder)
        return tuple({"path": file.name, "sha256": file.sha256} for file in known)
    source = {
        "hub": entry.path,
        "config": builder.config.name,
        "splits": list(splits),
        "revision": _revision(files),
    }
    return (source,)


def _relative(file: str, folder: Path) -> str:
    return os.path.relpath(file, folder.resolve()).replace(os.sep, "/")


def _revision(files: Sequence[str]) -> str | None:
    """Return the commit that `datasets` resolved, which it writes into the files' addresses."""
    commits = {m.group(1) for file in files if (m := re.search(r"@([0-9a-f]{40})(?:/|$)", file))}
    return commits.pop() if len(commits) == 1 else None


def _notes(entry: HuggingFaceCorpus, builder: Any) -> tuple[str, ...]:
    notes = []
    if builder.__class__.__name__ == "Text":
        notes.append(
            "read by the text loader of `datasets`, which ends lines at CR, LF and CR LF and drops "
            "the line ends; `source: files` keeps them"
        )
    on_hub = any(
        str(f).startswith("hf://") for fs in (builder.config.data_files or {}).values() for f in fs
    )
    if on_hub and not re.fullmatch(r"[0-9a-f]{40}", entry.revision or ""):
        notes.append("the config does not pin a revision; the one read is under sources")
    return tuple(notes)
