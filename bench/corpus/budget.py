"""What reading one language of a corpus may take: bytes, time, and how far a file may unpack.

Each reading has one budget. Nothing sets it back, so a file that grows, that unpacks without
end or that has nothing but empty lines comes to an end like any other.
"""

from __future__ import annotations

import time

from tokbench.bench.config.limits import Limits
from tokbench.bench.errors import CorpusError
from tokbench.bench.workers import heartbeat

UNPACKED_PER_PACKED = 200
"""Highest ratio of unpacked to packed size, unless `limits.corpus_bytes` is set."""

SMALL_BYTES = 2**16
"""Unpacked data up to this size is always allowed."""


class Budget:
    """Counts the bytes and seconds of a reading; each method raises `CorpusError` above a limit.

    >>> from tokbench.bench.config.limits import Limits
    >>> Budget(Limits(corpus_bytes=10)).spend(11, "a.txt")
    Traceback (most recent call last):
    ...
    tokbench.bench.errors.CorpusError: a.txt: more than 10 bytes were read, which is `limits.corpus_bytes`; raise it, or take less of the corpus with `limit`
    """

    def __init__(self, limits: Limits) -> None:
        self._bytes = int(limits.corpus_bytes)
        self._seconds = limits.corpus_seconds
        self._checks_ratio = "corpus_bytes" not in limits.model_fields_set
        self._spent = 0
        self._started = time.monotonic()

    def spend(self, n_bytes: int, where: str) -> None:
        """Count some bytes, unpacked, of the file or split `where`."""
        self._spent += n_bytes
        if self._spent > self._bytes:
            raise CorpusError(
                f"{where}: more than {self._bytes:,} bytes were read, which is "
                "`limits.corpus_bytes`; raise it, or take less of the corpus with `limit`"
            )
        self.look(where)

    def look(self, where: str) -> None:
        """Check the time limit while a file is hashed; hashing does not count towards the byte limit."""
        heartbeat.at("rows")
        if time.monotonic() - self._started > self._seconds:
            raise CorpusError(
                f"{where}: timed out after {self._seconds:g} s of reading, which is "
                "`limits.corpus_seconds`; raise it, or take less of the corpus with `limit`"
            )

    def unpack(self, unpacked: int, packed: int, where: str) -> None:
        """Compare what a file has unpacked to so far, in bytes, with its size on disk."""
        too_much = unpacked > max(packed * UNPACKED_PER_PACKED, SMALL_BYTES)
        if self._checks_ratio and too_much:
            raise CorpusError(
                f"{where}: unpacks to more than {UNPACKED_PER_PACKED} times its {packed:,} bytes; "
                "if this is intended, set `limits.corpus_bytes` to its unpacked size"
            )
