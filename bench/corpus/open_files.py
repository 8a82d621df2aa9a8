"""Opening files: unpacked, counted, and refused by name where they are not what they look like.

A pointer of Git LFS, an HTML page in place of a download, UTF-16 without a mark: each would be
read as some text or other, so the first bytes are checked beforehand.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from tokbench.bench.errors import CorpusError

if TYPE_CHECKING:  # tokenizers read files as well, in workers that need no models of corpora
    from tokbench.bench.corpus.budget import Budget
    from tokbench.bench.corpus.find_files import SourceFile

MARK = "\ufeff"
"""The byte order mark. It is dropped at the start of a file and content everywhere else."""

HEAD_BYTES = 4096

SUSPICIOUS_RATIO = 50
"""Unpacked ÷ packed bytes so far from which the whole file is unpacked before rows are read."""

_TELLING_BYTES = 2**23
"""Unpacked bytes from which the position in the packed file says how far it unpacks."""

_BLOCK = 2**20
_PACKED = {
    b"\x1f\x8b": "gzip (.gz)",
    b"BZh": "bzip2 (.bz2)",
    b"\xfd7zXZ\x00": "xz (.xz)",
    b"\x28\xb5\x2f\xfd": "Zstandard (.zst)",
    b"PK\x03\x04": "ZIP (.zip)",
    b"7z\xbc\xaf\x27\x1c": "7-Zip (.7z)",
    b"Rar!": "RAR (.rar)",
}
_OTHER = {b"PAR1": "Parquet; use `format: parquet`", b"%PDF": "PDF; convert it to text"}


@contextmanager
def opened(file: SourceFile, budget: Budget, *, markup: bool) -> Iterator[IO[bytes]]:
    """Give the unpacked bytes of a file; errors of unpacking become a `CorpusError`.

    `markup` says that an HTML page is content here and no mistake.
    """
    with unpacking(file), ExitStack() as stack:
        raw = stack.enter_context(file.path.open("rb"))
        head, plain = raw.read(HEAD_BYTES), file.packing is None
        refuse_pointer(head, file.part)
        if not plain and is_html(head):
            raise _html(file.part)
        size = raw.seek(0, io.SEEK_END)
        if not plain:
            _refuse_bomb(file, size, budget)
        raw.seek(0)
        inner = raw if plain else stack.enter_context(_unpacked(raw, file))
        counted = _Counted(inner, budget, file.part, size, packed=not plain)
        stream = stack.enter_context(io.BufferedReader(counted, _BLOCK))
        refuse_impostor(stream.peek(HEAD_BYTES)[:HEAD_BYTES], file.part, markup=markup)
        yield cast(IO[bytes], stream)


def _refuse_bomb(file: SourceFile, size: int, budget: Budget) -> None:
    """Unpack a suspicious file to its end first: reading its rows would take much longer."""
    done = 0
    if file.packing == "zip" and not _says_much(file):
        return
    with file.path.open("rb") as raw, _unpacked(raw, file) as inner:
        while block := inner.read(_BLOCK):
            done += len(block)
            budget.unpack(done, size, file.part)
            # what is read ahead of the first blocks says nothing of their ratio
            early = done < _TELLING_BYTES or file.packing == "zip"
            if not early and done < raw.tell() * SUSPICIOUS_RATIO:
                return


def _says_much(file: SourceFile) -> bool:
    """Whether a ZIP file declares a suspicious size; more than it declares is never unpacked."""
    with zipfile.ZipFile(file.path) as archive:
        info = archive.getinfo(_member(archive, file.part))
        return info.file_size > SUSPICIOUS_RATIO * info.compress_size


@contextmanager
def unpacking(file: SourceFile) -> Iterator[None]:
    """Map the errors of the libraries on a damaged file to `CorpusError`."""
    try:
        yield
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile, EOFError) as exc:
        raise CorpusError(f"{file.part} is truncated or not a {file.packing} file: {exc}") from exc
    except (RuntimeError, NotImplementedError) as exc:  # what zipfile says of passwords and methods
        if file.packing != "zip":
            raise
        raise CorpusError(f"{file.part} cannot be unpacked: {exc}; unpack it yourself") from exc
    except OSError as exc:
        if file.packing is not None and exc.errno is None:  # so do bz2 and Zstandard complain
            raise CorpusError(
                f"{file.part} is truncated or not a {file.packing} file: {exc}"
            ) from exc
        raise CorpusError(f"cannot read {file.part}: {exc.strerror or exc}") from exc


@contextmanager
def _unpacked(raw: IO[bytes], file: SourceFile) -> Iterator[Any]:
    if file.packing == "gzip":
        with gzip.GzipFile(fileobj=raw) as inner:
            yield inner
    elif file.packing == "bz2":
        with bz2.BZ2File(raw) as inner_bz2:
            yield inner_bz2
    elif file.packing == "xz":
        with lzma.LZMAFile(raw) as inner_xz:
            yield inner_xz
    elif file.packing == "zstd":
        import pyarrow as pa

        yield pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    else:
        with zipfile.ZipFile(raw) as archive:
            yield archive.open(_member(archive, file.part))


def format_suffix(file: SourceFile) -> str:
    """Return the suffix that names the format; in a ZIP file without one it is its member's."""
    if file.suffix or file.packing != "zip":
        return file.suffix
    with unpacking(file), zipfile.ZipFile(file.path) as archive:
        return PurePosixPath(_member(archive, file.part)).suffix.lower()


def _member(archive: zipfile.ZipFile, part: str) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise CorpusError(
            f"{part} holds {len(names):,} files; only an archive of one file can be read: unpack it"
        )
    return names[0]


class _Counted(io.RawIOBase):
    """Bytes counted as they are read; of a plain file, at most its size when it was opened."""

    def __init__(self, inner: Any, budget: Budget, part: str, size: int, *, packed: bool) -> None:
        self._inner = inner
        self._budget = budget
        self._part = part
        self._size = size
        self._packed = packed
        self._done = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into a buffer; return how many."""
        wanted = len(buffer) if self._packed else min(len(buffer), self._size - self._done)
        data = self._inner.read(wanted) if wanted else b""
        self._done += len(data)
        self._budget.spend(len(data), self._part)
        if self._packed:
            self._budget.unpack(self._done, self._size, self._part)
        buffer[: len(data)] = data
        return len(data)


def refuse_pointer(head: bytes, part: str) -> None:
    """Raise `CorpusError` if a file is a pointer of Git LFS or git-annex."""
    if head.startswith((b"version https://git-lfs.github.com/", b"version https://hawser.")):
        raise CorpusError(
            f"{part} is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
        )
    if b"annex/objects/" in head[:200] and head.startswith((b"/annex/", b"../", b".git/")):
        raise CorpusError(
            f"{part} is a git-annex pointer, not the file itself; fetch it with `git annex get`"
        )


def refuse_impostor(head: bytes, part: str, *, markup: bool) -> None:
    """Raise `CorpusError` if the first bytes are not those of text."""
    for start, name in _PACKED.items():
        if head.startswith(start):
            raise CorpusError(
                f"{part} is packed with {name}; add that suffix to its name, or unpack it"
            )
    for start, name in _OTHER.items():
        if head.startswith(start):
            raise CorpusError(f"{part} is {name}")
    refuse_other_text(head, part, markup=markup)


def refuse_other_text(head: bytes, part: str, *, markup: bool) -> None:
    """Raise `CorpusError` for a pointer, an HTML page, and UTF-16 without a mark."""
    refuse_pointer(head, part)
    if not markup and is_html(head):
        raise _html(part)
    if _is_wide(head) or _is_wide_text(head):
        raise CorpusError(
            f"{part} looks like UTF-16 or UTF-32 without a byte order mark; convert it to UTF-8"
        )


def _html(part: str) -> CorpusError:
    return CorpusError(
        f"{part} is an HTML page; download the file itself, or extract its text; to measure markup "
        "use `kind: code`"
    )


def is_html(head: bytes) -> bool:
    """Whether a file begins like an HTML page.

    >>> is_html(b"\\xef\\xbb\\xbf <!DOCTYPE html><html>"), is_html(b"<htmlish>")
    (True, False)
    """
    return re.match(rb"(?:\xef\xbb\xbf)?\s*(?:<!doctype\s+html|<html)[\s>]", head, re.I) is not None


def _is_wide_text(head: bytes) -> bool:
    """Whether bytes that are no UTF-8 text are text of any script as UTF-16 or UTF-32.

    Spaces, line feeds and ideographic punctuation tell it from other encodings, whose bytes may
    make letters by chance but not these.

    >>> _is_wide_text("你好，世界。\\n".encode("utf-16-le")), _is_wide_text("größer".encode("cp1252"))
    (True, False)
    """
    if _is_plain_text(head) or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    return any(
        _reads_as_text(head[: len(head) - len(head) % width], f"utf-{8 * width}-{order}")
        for width in (4, 2)
        for order in ("le", "be")
    )


def _is_plain_text(head: bytes) -> bool:
    if any(byte < 0x20 and byte not in b"\t\n\f\r" for byte in head):
        return False
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return True


_COMMON = frozenset(" \n\u3000\u3001\u3002\uff0c\uff0e")


def _reads_as_text(data: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return False
    odd = sum(unicodedata.category(c) in ("Cc", "Cn", "Co") and c not in "\t\n\f\r" for c in text)
    common = sum(c in _COMMON for c in text)
    return odd == 0 and common > 0 and common >= len(text) / 200


def _is_wide(head: bytes) -> bool:
    """Whether every second byte is the upper half of a 16-bit code unit, and so a control code."""
    if len(head) < 4 or head.startswith((b"\xff\xfe", b"\xfe\xff")):  # a mark has its own message
        return False
    controls = [byte < 0x20 for byte in head]
    less, more = sorted(sum(half) / len(half) for half in (controls[::2], controls[1::2]))
    if sum(byte < 0x20 and byte not in b"\t\n\r" for byte in head) < 0.02 * len(head):
        return False  # a table of single characters
    if head.count(0) >= 0.6 * len(head) or more >= 0.75:
        return True
    return len(head) >= 64 and more >= 0.5 and less <= 0.2  # in a few bytes that is chance
