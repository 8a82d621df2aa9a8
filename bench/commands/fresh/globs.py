"""Many files without a language in their names that are one corpus, and the glob that names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tokbench.bench.commands.fresh.text_files import TextFile

MANY = 5
"""The least number of files that a glob stands in for."""

_PLAIN = re.compile(r"[\w./ -]+")


def globs(folder: Path, texts: Sequence[TextFile]) -> dict[str, str]:
    """Return the glob of each file, by path, that shares one with others; it matches just them."""
    alone = [one for one in texts if one.pattern is None and one.kind != "code"]
    found: dict[str, str] = {}
    for glob_of in (_numbered, _beside):
        left = [one.written for one in alone if one.written not in found]
        for glob, written in _grouped(left, glob_of).items():
            matched = {path.relative_to(folder).as_posix() for path in folder.glob(glob)}
            if len(written) >= MANY and matched == set(written):
                found |= dict.fromkeys(written, glob)
    return found


def _grouped(paths: Iterable[str], glob_of: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        if _PLAIN.fullmatch(path):
            groups.setdefault(glob_of(path), []).append(path)
    return groups


def _numbered(path: str) -> str:
    """Return the glob of files that differ by numbers.

    >>> _numbered("logs/part-00012.txt"), _numbered("2024/a.txt")
    ('logs/part-*.txt', '2024/a.txt')
    """
    folder, slash, name = path.rpartition("/")
    return folder + slash + re.sub(r"\d+", "*", name)


def _beside(path: str) -> str:
    """Return the glob of files of one kind in a folder.

    >>> _beside("books/emma.txt"), _beside("a.jsonl.gz")
    ('books/*.txt', '*.jsonl.gz')
    """
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}*{''.join(Path(name).suffixes)}"
