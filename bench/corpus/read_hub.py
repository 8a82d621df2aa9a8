"""Reading through `datasets`: data sets of the Hugging Face Hub, local folders, its own builders.

Code of a data set is never run. What the library says when something fails is turned into
words a user can act on: needs a login, needs access, does not exist, cannot be reached, was
made by a script, lacks a config, a split or a column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from tokbench.bench.config.corpora import NO_SCRIPTS, HuggingFaceCorpus
from tokbench.bench.config.languages import did_you_mean
from tokbench.bench.corpus.read_files import expand, file_sha256, table_rows
from tokbench.bench.corpus.rows import Reading, Row, columns_of, no_column
from tokbench.bench.errors import CorpusError, InputError
from tokbench.bench.paths import looking_at, user_path
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.hub_access import HubWaitError, chain, lock_threads_only, why_refused

BUILDERS = ("csv", "json", "parquet", "text", "arrow")
"""Names that `datasets` reads as a file format and not as a data set."""


def read(entry: HuggingFaceCorpus, key: str, folder: Path) -> Reading:
    """Open one language of a data set; rows are read as they are asked for."""
    with _in_words(entry, key, folder):
        builder = _builder(entry, key, folder)
        splits = _splits(entry, builder)
        streams = {split: _stream(builder, split, entry) for split in splits}
    return Reading(
        rows=_rows(streams, entry, key, folder),
        parts=splits,
        sources=_sources(entry, key, folder, builder, splits),
        unit="row",
        notes=_notes(entry, builder),
    )


def local_folder(entry: HuggingFaceCorpus, folder: Path) -> Path | None:
    """Return the folder an entry names, None for the Hub; raise where it must be one and is not."""
    if entry.path in BUILDERS:
        return None
    path = user_path(folder, entry.path)
    with looking_at(entry.path):
        if path.is_dir():
            return path
    if entry.path.startswith((".", "/", "~")) or entry.path.count("/") > 1:
        raise CorpusError(
            f"there is no folder {entry.path!r}; paths start from the config's folder"
        )
    return None


def local_sha256(entry: HuggingFaceCorpus, key: str, folder: Path) -> list[tuple[str, str]]:
    """Return name and SHA-256 of every local file that may be read, without `datasets`.

    Which files of a folder a config reads is known only to `datasets`, so all of them count.
    """
    if entry.path in BUILDERS:
        files = [found for one in _written_files(entry, key) for found in expand(one, folder)]
        return [(written, file_sha256(path)) for path, written in files]
    local = local_folder(entry, folder)
    return [] if local is None else list(_folder_sha256(local, _folder_state(local)))


def _folder_state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    files = (Path(root, name) for root, _, names in os.walk(folder) for name in names)
    visible = (f for f in files if not any(p.startswith(".") for p in f.relative_to(folder).parts))
    return tuple(
        sorted(
            (f.relative_to(folder).as_posix(), f.stat().st_size, f.stat().st_mtime_ns)
            for f in visible
        )
    )


@lru_cache(maxsize=64)
def _folder_sha256(
    folder: Path, state: tuple[tuple[str, int, int], ...]
) -> tuple[tuple[str, str], ...]:
    return tuple((name, file_sha256(folder / name)) for name, _, _ in state)


def _builder(entry: HuggingFaceCorpus, key: str, folder: Path) -> Any:
    import datasets

    lock_threads_only()
    datasets.disable_progress_bars()
    arguments: dict[str, Any] = {
        "path": _path(entry, folder),
        "name": entry.config_of(key),
        "revision": entry.revision,
        "data_dir": None if entry.data_dir is None else entry.data_dir.replace("{language}", key),
        "data_files": _data_files(entry, key, folder),
    }
    builder = datasets.load_dataset_builder(**arguments)
    if builder.__class__.__name__ != "Csv":
        return builder
    # pandas would read NA, null and nan as missing and 007 as a number; a converter keeps text
    converters = dict.fromkeys(columns_of(entry), str)
    return datasets.load_dataset_builder(**arguments, converters=converters, keep_default_na=False)


def _path(entry: HuggingFaceCorpus, folder: Path) -> str:
    local = local_folder(entry, folder)
    return entry.path if local is None else str(local)


def _written_files(entry: HuggingFaceCorpus, key: str) -> list[str]:
    files = entry.data_files
    if files is None:
        raise CorpusError(f"path {entry.path!r} is a file format; say which files in `data_files`")
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
        _check_columns(entry, known, split)
        stream = stream.select_columns(columns_of(entry))
    return stream.with_format("arrow")


def _check_columns(entry: HuggingFaceCorpus, known: list[str], split: str) -> None:
    for column in columns_of(entry):
        if column not in known:
            raise no_column(column, known, f"split {split!r} of {entry.path!r}")


def _rows(
    streams: Mapping[str, Any], entry: HuggingFaceCorpus, key: str, folder: Path
) -> Iterator[Row]:
    for split, stream in streams.items():
        number = 0
        with _in_words(entry, key, folder):
            for table in stream.iter(batch_size=1000):
                heartbeat.at("rows")
                _check_columns(entry, table.column_names, split)
                for row in table_rows(table, entry, split, number):
                    yield _empty_is_missing(row) if _is_csv(entry, stream) else row
                number += len(table)


def _is_csv(entry: HuggingFaceCorpus, stream: Any) -> bool:
    return bool(getattr(stream.info, "builder_name", None) == "csv")


def _empty_is_missing(row: Row) -> Row:
    return row._replace(text=None) if row.text == "" else row


def _sources(
    entry: HuggingFaceCorpus, key: str, folder: Path, builder: Any, splits: Sequence[str]
) -> tuple[dict[str, Any], ...]:
    files = [
        str(one) for split in splits for one in (builder.config.data_files or {}).get(split, ())
    ]
    local = local_folder(entry, folder)
    if local is not None:
        shown = ((Path(one), f"{entry.path.rstrip('/')}/{_relative(one, local)}") for one in files)
        return tuple({"path": name, "sha256": file_sha256(path)} for path, name in shown)
    if entry.path in BUILDERS:
        hashes = local_sha256(entry, key, folder)
        return tuple({"path": name, "sha256": digest} for name, digest in hashes)
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


@contextmanager
def _in_words(entry: HuggingFaceCorpus, key: str, folder: Path) -> Iterator[None]:
    """Turn what `datasets` raises into a `CorpusError` that says what to do."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as exc:
        if isinstance(exc, InputError) and not isinstance(exc, HubWaitError):
            raise
        message = _explain(exc, entry, key, folder)
        # The chain of causes may quote request headers: only this message goes further up.
        raise CorpusError(_tidy(message, entry, folder)) from None


def _explain(exc: Exception, entry: HuggingFaceCorpus, key: str, folder: Path) -> str:
    text = " ".join(str(one) for one in chain(exc))
    name = f"data set {entry.path!r}"
    if "scripts are no longer supported" in text:
        return f"{name} is made by a loading script; {NO_SCRIPTS}"
    if (bad := _slip_in_card(entry, folder)) is not None and isinstance(
        exc, TypeError | ValueError
    ):
        return bad
    if (config := _config_problem(text, entry, key)) is not None:
        return config
    if "Couldn't cast" in text:
        return _cast_problem(text, name, entry)
    if (refused := why_refused(exc, entry.revision)) is not None:
        return f"{name} {refused}"
    if (none := _no_files(text, name)) is not None:
        return none
    if "bool' is not iterable" in text:
        return f"the card (README.md) of {name} names a config without quotes, such as no; {_QUOTE}"
    return f"{name} cannot be read: {type(exc).__name__}: {exc}"


def _config_problem(text: str, entry: HuggingFaceCorpus, key: str) -> str | None:
    listed = re.search(
        r"(?:Please pick one among the available configs|Available): \[(.*?)\]", text
    )
    if listed is None:
        return None
    known = re.findall(r"'([^']*)'|\"([^\"]*)\"", listed.group(1))
    names = [one or other for one, other in known]
    config = entry.config_of(key)
    if config is not None:
        what = f"has no config {config!r}{did_you_mean(config, names)}"
    else:
        what = f"has several configs and none is chosen{did_you_mean(key, names)}"
    return (
        f"data set {entry.path!r} {what}; its configs are: {', '.join(names)}; name one in `config`, "
        'or `config: "{language}"` where they are called like the languages'
    )


def _no_files(text: str, name: str) -> str | None:
    if "Couldn't find any data file" in text or "No (supported) data files" in text:
        return (
            f"{name} has no data files that `datasets` can read; check `data_dir` and `data_files`"
        )
    return None


def _cast_problem(text: str, name: str, entry: HuggingFaceCorpus) -> str:
    schemas = re.search(r"Couldn't cast\n(.*?)\nto\n\{(.*?)\}", text, re.DOTALL)
    found = set(re.findall(r"^(\w+): ", schemas.group(1), re.MULTILINE)) if schemas else set()
    meant = set(re.findall(r"'(\w+)':", schemas.group(2))) if schemas else set()
    file = re.search(r"generating data using\s+(\S+)", text)
    differ = ", ".join(sorted(found ^ meant)) or "their types"
    return (
        f"the files of {name} have different columns ({differ})"
        f"{f', first in {file.group(1)}' if file else ''}, and `datasets` reads all of them alike; "
        f"use `source: files`, which reads only {' and '.join(columns_of(entry))}"
    )


_QUOTE = 'write `config_name: "no"` in the card'


def _slip_in_card(entry: HuggingFaceCorpus, folder: Path) -> str | None:
    """Name the value of a local card that YAML 1.1 reads as a boolean or a number."""
    card = (local_folder(entry, folder) or folder / "nowhere") / "README.md"
    if not card.is_file():
        return None
    for number, line in enumerate(
        card.read_text(encoding="utf-8", errors="replace").splitlines(), 1
    ):
        name = re.fullmatch(r"[\s-]*config_name:\s*([^\s'\"#]+)\s*(?:#.*)?", line)
        if name and re.fullmatch(r"(?i)y|n|yes|no|on|off|true|false|null|~|[\d._]+", name.group(1)):
            return (
                f"{entry.path.rstrip('/')}/README.md, line {number}: config_name {name.group(1)} is "
                f'not read as text; write `config_name: "{name.group(1)}"` in this card'
            )
    return None


def _tidy(message: str, entry: HuggingFaceCorpus, folder: Path) -> str:
    """Take tokens and places on this machine out of a message."""
    if (token := os.environ.get("HF_TOKEN")) and len(token) > 4:
        message = message.replace(token, "[token]")
    message = re.sub(r"\bhf_\w{6,}", "[token]", message)
    places = [str(folder.resolve()), str(folder)]
    with suppress(RuntimeError):  # a user without a home
        places.append(str(Path.home()))
    for place in places:
        message = message.replace(place + "/", "")
    return message
