"""The files of a budget: those of the working tree and of the base, paired by path or rename."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path, PurePosixPath

from tokbench.bench.commands.budget.git import Base
from tokbench.bench.commands.budget.schema import Group
from tokbench.bench.errors import UsageError

_LFS = b"version https://git-lfs.github.com/spec/"
_LOOKED_AT = 8000
"""Bytes in which a NUL makes a file binary, as git has it."""


@dataclass(frozen=True)
class Content:
    """The bytes of one file."""

    data: bytes
    fault: str | None = None
    """Why there are none."""

    @cached_property
    def sha256(self) -> str:
        """Hash of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def is_binary(self) -> bool:
        """Whether it is no text."""
        return b"\0" in self.data[:_LOOKED_AT]

    @property
    def text(self) -> str:
        """The text, without a byte order mark; raises `UnicodeDecodeError`."""
        return self.data.decode().removeprefix("\ufeff")

    @cached_property
    def why_not(self) -> str | None:
        """Why it has no text that can be counted; None where it has."""
        if self.fault is not None:
            return self.fault
        if self.data.startswith(_LFS):
            return "is a pointer of Git LFS; fetch the file itself (git lfs pull)"
        try:
            self.data.decode()
        except UnicodeDecodeError as exc:
            return f"is not UTF-8 (byte {exc.start + 1}); convert it, or exclude it"
        return None


@dataclass(frozen=True, kw_only=True)
class FilePair:
    """One file now and in the base; None where it is not there."""

    file: str
    """Path from the budget's folder."""
    base_file: str | None
    groups: tuple[str, ...]
    now: Content | None
    before: Content | None

    @property
    def is_binary(self) -> bool:
        """Whether either version is no text."""
        return any(one is not None and one.is_binary for one in (self.now, self.before))


@dataclass(frozen=True, kw_only=True)
class MatchedFiles:
    """What the patterns of a budget match."""

    pairs: tuple[FilePair, ...]
    skipped: tuple[str, ...]
    """Binary files, links and repositories inside, each with its reason."""
    unmatched: tuple[str, ...]
    """Patterns that match nothing, each as the beginning of a sentence."""


def collect(groups: Mapping[str, Group], folder: Path, base: Base | None) -> MatchedFiles:
    """Return the files of all groups, sorted by path.

    Raises `UsageError` for a pattern that leaves the folder.
    """
    here = dict(_walk(folder, _starts(groups)))
    members = {name: _Members(group) for name, group in groups.items()}

    def groups_of(*paths: str) -> tuple[str, ...]:
        # every path is tried, since a pattern that matches one has matched
        found = {name: [group.has(path) for path in paths] for name, group in members.items()}
        return tuple(name for name, hits in found.items() if any(hits))

    left_out = {p: why for p, why in here.items() if why is not None and groups_of(p)}
    present = {path for path, why in here.items() if why is None}
    wanted = [
        (path, former, inside)
        for path, former in _paired(present, base)
        if (inside := groups_of(path, former or path))
    ]
    contents = base.read(one for _, one, _ in wanted if one is not None) if base else {}
    pairs = [
        FilePair(
            file=path,
            base_file=former,
            groups=inside,
            now=_read(folder / path) if path in present else None,
            before=None if former is None else Content(contents[former]),
        )
        for path, former, inside in wanted
    ]
    left_out |= {pair.file: "is binary" for pair in pairs if pair.is_binary}
    return MatchedFiles(
        pairs=tuple(pair for pair in pairs if not pair.is_binary),
        skipped=tuple(f"{path}: {why}" for path, why in sorted(left_out.items())),
        unmatched=tuple(f"group {n}: {one!r}" for n, m in members.items() for one in m.unmatched),
    )


def _paired(present: Set[str], base: Base | None) -> list[tuple[str, str | None]]:
    """Return each path of the working tree or the base with its path in the base."""
    if base is None:
        return [(path, None) for path in sorted(present)]
    former = {path: base.renamed.get(path, path) for path in present}
    gone = base.blobs.keys() - present - set(former.values())
    pairs = {path: old if old in base.blobs else None for path, old in former.items()}
    return sorted([*pairs.items(), *((path, path) for path in gone)])


class _Members:
    """The patterns of one group, and those that have matched nothing yet."""

    def __init__(self, group: Group) -> None:
        self.unmatched = dict.fromkeys(group.files)
        self._files = {one: _parts(one) for one in group.files}
        self._exclude = [_parts(one) for one in group.exclude]

    def has(self, path: str) -> bool:
        parts = _parts(path)
        hits = [one for one, pattern in self._files.items() if matches(parts, pattern)]
        for one in hits:
            self.unmatched.pop(one, None)
        return bool(hits) and not any(matches(parts, pattern) for pattern in self._exclude)


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(unicodedata.normalize("NFC", path)).parts


def matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern; hidden ones only by their dot.

    >>> matches(("a", "b", "c.md"), ("a", "**", "*.md")), matches((".a", "c.md"), ("**", "*.md"))
    (True, False)
    """
    if not pattern:
        return not path
    if pattern[0] == "**":
        visible = bool(path) and not path[0].startswith(".")
        return matches(path, pattern[1:]) or (visible and matches(path[1:], pattern))
    if not path or (path[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatchcase(path[0], pattern[0]) and matches(path[1:], pattern[1:])


def _starts(groups: Mapping[str, Group]) -> set[str]:
    """Return the folders in which the patterns begin, without what lies in another one."""
    found = set()
    for name, group in groups.items():
        for pattern in group.files:
            parts = PurePosixPath(pattern).parts
            if not parts or PurePosixPath(pattern).is_absolute() or ".." in parts:
                raise UsageError(
                    f"groups.{name}.files: {pattern!r}: write a path below the budget's folder"
                )
            plain = next((i for i, p in enumerate(parts) if set(p) & set("*?[")), len(parts) - 1)
            found.add("/".join(parts[:plain]))
    return {one for one in found if not any(_inside(one, other) for other in found - {one})}


def _inside(one: str, other: str) -> bool:
    return not other or one.startswith(f"{other}/")


def _walk(folder: Path, starts: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield what lies below some folders, as paths from the first, and why it is left out."""
    for start in sorted(starts):
        for place, folders, names in os.walk(folder / start):
            here = Path(place)
            nested = {one for one in folders if (here / one / ".git").exists()}
            for name in nested:
                yield (here / name).relative_to(folder).as_posix(), "is a repository of its own"
            folders[:] = sorted({*folders} - nested - {".git"})
            for name in names:
                path = here / name
                if path.is_symlink() or path.is_file():
                    link = "is a symbolic link" if path.is_symlink() else None
                    yield path.relative_to(folder).as_posix(), link


def _read(path: Path) -> Content:
    try:
        return Content(path.read_bytes())
    except OSError as exc:
        return Content(b"", f"cannot be read: {exc.strerror or exc}")
