"""Paths as users write them: relative to the config's folder, with ~, possibly invalid."""

from __future__ import annotations

import errno
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.bench.errors import InputError


def user_path(folder: Path, written: str) -> Path:
    """Return a path that can be opened; relative ones start from `folder`.

    Raises `InputError` for an invalid path, such as the home of a user who does not exist.
    """
    with looking_at(written):
        return folder / Path(written).expanduser()


def is_text(path: Path) -> bool:
    """Whether a path can be written as text: a name on disk may be any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def same_look(path: Path) -> Path | None:
    """Return the one that exists of the paths that look like this one, None where there is none.

    A name may be composed (``é`` as one code point) or decomposed, as macOS writes it; they look
    the same and are two names.
    """
    found = Path(path.anchor)
    for part in path.parts[len(found.parts) :]:
        here = found / part
        if not here.exists():
            if not found.is_dir():
                return None
            look = unicodedata.normalize("NFC", part)
            names = (one.name for one in found.iterdir())
            same = sorted(n for n in names if unicodedata.normalize("NFC", n) == look)
            if not same:
                return None
            here = found / same[0]
        found = here
    return found


def broken_link(path: Path, written: str) -> str | None:
    """Say why a symbolic link leads to nothing; None if the path is no symbolic link."""
    if not path.is_symlink():
        return None
    try:
        path.stat()
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            return f"{written!r} is not a valid path: its symbolic links form a loop"
    return f"{written!r} is a symbolic link to a file that does not exist"


@contextmanager
def looking_at(written: str) -> Iterator[None]:
    """Turn the system's errors about a path in the block into an `InputError` that names it.

    `written` is the path as the user wrote it.
    """
    try:
        yield
    except OSError as exc:  # no permission on the way to it, a name that is too long, a loop
        raise InputError(f"{written!r} cannot be read: {exc.strerror or exc}") from exc
    except RuntimeError as exc:  # what pathlib says of ~nobody and of a loop, with whole paths
        why = "its symbolic links form a loop" if "loop" in str(exc) else "no such home folder"
        raise InputError(f"{written!r} is not a valid path: {why}") from exc
    except ValueError as exc:  # U+0000
        raise InputError(f"{written!r} is not a valid path: {exc}") from exc
