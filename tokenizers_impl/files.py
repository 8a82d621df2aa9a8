"""Reading the files a config names: bounded, unpacked, and only if they are what they look like."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tokbench.bench.corpus.open_files import HEAD_BYTES, is_html, refuse_impostor
from tokbench.bench.errors import CorpusError, TokenizerError

MOST_BYTES = 1 << 30
"""Of a tokenizer file, unpacked; the largest published ones have 35 MB."""
MOST_IDS = 1 << 24
"""Of a vocabulary: more than sixty times the largest published one."""

MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError)
"""What code that walks through a foreign file raises where the file has another shape."""


def read_file(path: Path, shown: str, *, binary: bool = False) -> bytes:
    """Return a file's content, decompressed where its name ends in `.gz`.

    `shown` is the path as the user wrote it, for errors. Raises `TokenizerError` for what cannot
    be read, has more than 1 GB, is empty, or is something else than a tokenizer: a Git LFS
    pointer, an HTML page, another packing, UTF-16 (unless `binary`).
    """
    try:
        if path.exists() and not path.is_file():
            what = "a folder; name a file in it" if path.is_dir() else "not a regular file"
            raise TokenizerError(f"{shown} is {what}")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content: bytes = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise TokenizerError(
            f"{shown} cannot be read: {reason}; relative paths start at the config's folder"
        ) from exc
    if len(content) > MOST_BYTES:
        raise TokenizerError(f"{shown} holds more than 1 GB, so it is not a tokenizer")
    if not content:
        raise TokenizerError(f"{shown} is empty; copy or download it again")
    refuse_other_kinds(content, shown, binary=binary)
    return content


def refuse_other_kinds(content: bytes, shown: str, *, binary: bool = False) -> None:
    """Raise `TokenizerError` for content that is known to be something else, by its name."""
    head = content[:HEAD_BYTES]
    if is_html(head):
        raise TokenizerError(
            f"{shown} is an HTML page; download the file itself (on the Hub: `resolve` in its "
            "address in place of `blob`)"
        )
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TokenizerError(f"{shown} is UTF-16 or UTF-32; convert it to UTF-8")
    try:
        # in a binary file every second byte may well be a control character
        refuse_impostor(head[:200].split(b"\n")[0] if binary else head, shown, markup=True)
    except CorpusError as exc:
        raise TokenizerError(str(exc)) from None


def text_of(content: bytes, shown: str, hint: str = "") -> str:
    """Return content as text; raise `TokenizerError` where it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        raise TokenizerError(f"{shown} is not UTF-8 text (byte {exc.start}){hint}") from exc


def json_of(content: bytes | str, shown: str, hint: str = "") -> dict[str, Any]:
    """Return the JSON object in some content; `hint` ends the error of what is not one."""
    text = content if isinstance(content, str) else text_of(content, shown, hint)
    try:
        spec = json.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except json.JSONDecodeError as exc:
        where = f"{shown}:{exc.lineno}:{exc.colno}"
        raise TokenizerError(f"{where}: not JSON: {exc.msg}{hint}") from exc
    except ValueError as exc:  # an integer of thousands of digits
        raise TokenizerError(f"{shown}: not JSON: {exc}{hint}") from exc
    except RecursionError:
        raise TokenizerError(
            f"{shown} is JSON nested too deeply to be a tokenizer; check where it comes from"
        ) from None
    if not isinstance(spec, dict):
        raise TokenizerError(f"{shown} is not a JSON object but {type(spec).__name__}{hint}")
    return spec


@contextmanager
def well_formed(shown: str, what: str) -> Iterator[None]:
    """Turn what a file of another shape makes code raise into a `TokenizerError`."""
    try:
        yield
    except TokenizerError:
        raise
    except RecursionError:
        raise TokenizerError(f"{shown} is nested too deeply to be {what}") from None
    except MALFORMED as exc:
        raise TokenizerError(f"{shown} is not {what} ({type(exc).__name__}: {exc})") from exc


def bounded(n_ids: int, shown: str) -> int:
    """Return a number of ids; raise `TokenizerError` for more than a vocabulary can have.

    One id that is far too high would take gigabytes for the ids below it.
    """
    if n_ids > MOST_IDS:
        raise TokenizerError(
            f"{shown} declares the id {n_ids - 1}; more than {MOST_IDS:,} ids are not supported: "
            "the file is damaged"
        )
    return n_ids
