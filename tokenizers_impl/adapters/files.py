"""Reading the files a config names."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tokbench.bench.errors import TokenizerError


def read_file(path: Path, shown: str) -> bytes:
    """Return a file's content, decompressed where its name ends in `.gz`.

    `shown` is the path as the user wrote it, for the error.
    """
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise TokenizerError(
            f"{shown} cannot be read: {reason}; relative paths start at the config's folder"
        ) from exc
