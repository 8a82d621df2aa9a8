"""Finds the files that the paths and globs of a config name.

Globs leave hidden files and folders out unless a pattern names the dot, as shells do. Names are
compared as people see them: a decomposed name (macOS) is found by its composed spelling.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from tokbench.bench.config.bundled import text_path
from tokbench.bench.config.corpora import BuiltinCorpus, FilesCorpus
from tokbench.bench.errors import CorpusError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.paths import broken_link, is_text, looking_at, same_look, user_path

PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
"""How a file is compressed, by its last suffix."""


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file to read."""

    path: Path
    written: str
    """The path as the config wrote it; for a glob, the pattern's folder and the match."""
    part: str
    """Short name, in ids and messages; unique within the language."""

    @property
    def packing(self) -> str | None:
        """Compression of the file; None if uncompressed."""
        return PACKINGS.get(self.path.suffix.lower())

    @property
    def suffix(self) -> str:
        """The suffix that names the format, lower-case."""
        return Path(self.path.stem if self.packing else self.path.name).suffix.lower()


def source_files(entry: FilesCorpus | BuiltinCorpus, key: str, folder: Path) -> list[SourceFile]:
    """Return the files of one language in reading order; raise `CorpusError` where there are none."""
    if isinstance(entry, BuiltinCorpus):
        path = text_path(entry.dataset, key)
        return [SourceFile(path=path, written=f"{entry.dataset}/{path.name}", part=path.name)]
    found = {path: written for one in entry.paths_of(key) for path, written in expand(one, folder)}
    return named_parts(list(found.items()))


def expand(written: str, folder: Path) -> list[tuple[Path, str]]:
    """Return the files that match a path or glob, with a name for each; sorted per glob.

    Raises `InputError` where there are none, or the system does not let one look.
    """
    _refuse_address(written)
    exact = user_path(folder, written)
    with looking_at(written):
        if exact.is_file():
            return [(exact, written)]
        if exact.exists():
            raise _not_a_file(exact, written)
    parts = PurePosixPath(written).parts
    plain = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    if plain == len(parts):
        with looking_at(written):
            return [(_found_otherwise(exact, written), written)]
    base = user_path(folder, str(Path(*parts[:plain])))
    with looking_at(written):
        base = same_look(base) or base
        matches = _matches(base, parts[plain:], written)
    if (odd := next((path for path in matches if not is_text(path)), None)) is not None:
        raise CorpusError(f"{odd.name!r}: the file name is not UTF-8; rename the file")
    shown = PurePosixPath(*parts[:plain])
    return [(path, (shown / path.relative_to(base).as_posix()).as_posix()) for path in matches]


def _refuse_address(written: str) -> None:
    scheme, separator, _ = written.partition("://")
    if separator and scheme.isalnum():
        host = urlsplit(written).hostname or "the address"  # the rest may hold a password
        raise CorpusError(
            f"an address ({scheme}://{host}/...) is not a local file; download it, or use "
            "`source: huggingface` with the id of the data set"
        )


def _not_a_file(path: Path, written: str) -> CorpusError:
    if path.is_dir():
        inside = Counter(one.suffix for one in path.iterdir() if one.is_file() and one.suffix)
        suffix = min(inside, key=lambda s: (-inside[s], s), default=".txt")
        return CorpusError(f"{written!r} is a folder; use {written.rstrip('/')}/*{suffix}")
    mode = path.stat().st_mode
    kinds = {stat.S_ISFIFO: "a FIFO", stat.S_ISSOCK: "a socket"}
    kind = next((name for is_one, name in kinds.items() if is_one(mode)), "a device")
    return CorpusError(f"{written!r} is {kind}, not a regular file; write its content to a file")


def _found_otherwise(path: Path, written: str) -> Path:
    if (same := same_look(path)) is not None and same.is_file():
        return same
    if (why := broken_link(path, written)) is not None:
        raise CorpusError(why)
    names = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
    hint = did_you_mean(path.name, [name for name in names if is_text(Path(name))])
    raise CorpusError(
        f"file {written!r} does not exist{hint}; paths start from the config's folder"
    )


def _matches(base: Path, pattern: Sequence[str], written: str) -> list[Path]:
    """Return the files below a folder that match a pattern in any Unicode normal form."""
    found: list[Path] = []
    for form in (None, "NFC", "NFD"):
        parts = [unicodedata.normalize(form, p) if form else p for p in pattern]
        found = found or sorted(p for p in base.glob(str(Path(*parts))) if p.is_file())
    matches = [path for path in found if not _is_hidden(path.relative_to(base).parts, pattern)]
    if matches:
        return matches
    hidden = f"; {len(found):,} hidden files do; write the dot in the pattern" if found else ""
    raise CorpusError(f"no file matches {written!r}{hidden}; paths start from the config's folder")


def _is_hidden(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    dotted = [one for one in pattern if one.startswith(".")]
    return any(
        part.startswith(".") and not any(fnmatchcase(part, one) for one in dotted) for part in parts
    )


def named_parts(found: Sequence[tuple[Path, str]]) -> list[SourceFile]:
    """Name each file by the shortest unique end of its path: all names, else all paths."""
    names = [path.name for path, _ in found]
    if len(set(names)) < len(names):
        shared = os.path.commonpath([path.parent for path, _ in found])
        names = [path.relative_to(shared).as_posix() for path, _ in found]
    return [
        SourceFile(path=path, written=written, part=name)
        for (path, written), name in zip(found, names, strict=True)
    ]
