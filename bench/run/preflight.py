"""Checks before a run: local files that are missing or of the wrong kind.

Only names and first bytes are checked, not whether the rest can be read.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.config.corpora import FilesCorpus
from tokbench.bench.config.mistakes import Mistake, error
from tokbench.bench.config.schema import Config, TrainEntry
from tokbench.bench.config.yaml_file import Loc
from tokbench.bench.corpus.find_files import source_files
from tokbench.bench.corpus.open_files import HEAD_BYTES, is_html, refuse_pointer
from tokbench.bench.corpus.read_files import look
from tokbench.bench.errors import CorpusError, InputError
from tokbench.bench.markup import did_you_mean, plural
from tokbench.bench.paths import broken_link, looking_at
from tokbench.bench.plugins import LoadContext, TokenizerPlugin

MOST_FILES = 1000
"""Number of files per language whose first bytes are checked."""


@dataclass(frozen=True, kw_only=True)
class Lack:
    """An unusable input."""

    place: Loc
    """Place in the config."""
    text: str
    whole: str | None
    """The corpus or tokenizer that is unusable, as `corpora.news`; None if only partly."""


def lacks(config: Config) -> list[Lack]:
    """Return every local input of a config that is missing or of the wrong kind."""
    found = [lack for name in config.run.corpora for lack in _of_corpus(config, name)]
    for key, entry in config.tokenizers.items():
        if not isinstance(entry, TrainEntry):
            found += _of_tokenizer(config, key, entry)
    return found


def told(config: Config, found: list[Lack]) -> str:
    """Return unusable inputs as messages, each with its line of the config if there is one."""
    if config.file is None:
        return "\n".join(f"{'.'.join(map(str, one.place))}: {one.text}" for one in found)
    return error(mistake(config, one) for one in found).shown


def mistake(config: Config, lack: Lack) -> Mistake:
    """Return an unusable input as a mistake with a place in the config file."""
    assert config.file is not None
    return config.file.mistake(lack.place, lack.text)


def refuse_hopeless(config: Config) -> None:
    """Raise `InputError` if every corpus, or every tokenizer, is unusable."""
    found = lacks(config)
    gone = {one.whole for one in found if one.whole is not None}
    corpora = {f"corpora.{name}" for name in config.run.corpora}
    tokenizers = {f"tokenizers.{key}" for key in config.tokenizers}
    if corpora <= gone or tokenizers <= gone:
        kind = "corpus" if corpora <= gone else "tokenizer"
        raise InputError(f"nothing to measure: no {kind} can be read\n{told(config, found)}")


def _of_corpus(config: Config, name: str) -> Iterator[Lack]:
    entry = config.run.corpora[name]
    if not isinstance(entry, FilesCorpus):
        return
    wrong: dict[str, str] = {}
    for key in entry.options():
        try:
            files = source_files(entry, key, config.folder)
            for file in files[:MOST_FILES]:
                look(file, entry, config.run.limits)
            if all(file.path.stat().st_size == 0 for file in files):
                raise CorpusError(f"{files[0].part} is empty")
        except InputError as exc:
            wrong[key] = str(exc)
    whole = f"corpora.{name}" if len(wrong) == len(entry.options()) else None
    shared = whole is not None and bool(entry.path)
    if shared:
        first, *others = wrong.values()
        more = f" (the same for {plural(len(others), 'other language')})" if others else ""
        yield Lack(place=("corpora", name, "path"), text=first + more, whole=whole)
        return
    for key, text in wrong.items():
        place: Loc = ("corpora", name, "languages", key)
        yield Lack(place=place if entry.languages else place[:2], text=text, whole=whole)


def _of_tokenizer(config: Config, key: str, entry: TokenizerPlugin) -> Iterator[Lack]:
    folder = config.homes.get(key, config.folder)
    for option in ("file", "spec"):
        written = getattr(entry, option, None)
        if not isinstance(written, str):
            continue
        try:
            path = LoadContext(folder=folder).resolve(written)
            with looking_at(written):
                why = _missing(path, written) or _misfit(path, written, entry, option)
        except InputError as exc:
            why = str(exc)
        if why is not None:
            place = ("tokenizers", config.origins.get(key, key), option)
            yield Lack(place=place, text=why, whole=f"tokenizers.{key}")


def _missing(path: Path, written: str) -> str | None:
    if path.is_file():
        return None
    if path.is_dir():
        return f"{written!r} is a folder; give the path of the file in it"
    if path.exists():
        return f"{written!r} is not a regular file"
    if (why := broken_link(path, written)) is not None:
        return why
    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = did_you_mean(path.name, names)
    return f"file {written!r} does not exist{hint}; paths start from the config's folder"


def _misfit(path: Path, written: str, entry: TokenizerPlugin, option: str) -> str | None:
    """Return the problem with the first bytes of a tokenizer's file."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (gzip.BadGzipFile, zlib.error, EOFError) as exc:
        return f"{written!r} is truncated or not a gzip file: {exc}"
    except OSError as exc:
        return f"{written!r} cannot be read: {exc.strerror or exc}"
    refuse_pointer(head, written)
    if not head.strip():
        return f"{written!r} is empty"
    if is_html(head):
        return f"{written!r} is an HTML page; download the file itself"
    why = entry.misfit(option, head)
    return None if why is None else f"{written!r} {why}"
