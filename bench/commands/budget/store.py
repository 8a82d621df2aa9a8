"""Counts that were made before: a small database in the cache folder."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from tokbench.bench.cache import cache_folder

_TABLE = """
create table if not exists counts (
    tokenizer text, text text, tokens integer not null, used integer not null,
    primary key (tokenizer, text)
) without rowid
"""
_MOST = 900
"""Values of one query; older versions of SQLite take 999."""
_DAY = 24 * 3600
_KEPT = 90 * _DAY
"""Seconds for which a count is kept that is not used."""


class Store:
    """Counts by tokenizer and text. A store that cannot be used is an empty one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = (folder or cache_folder("budget")) / "counts.sqlite"
        self._database: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        """Open the database; a damaged one is made anew."""
        for _ in range(2):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._database = sqlite3.connect(self._path, timeout=5)
                self._database.execute(_TABLE)
                return self
            except (OSError, sqlite3.Error) as exc:
                self._close()
                if isinstance(exc, sqlite3.OperationalError | OSError):
                    return self  # locked, read-only or full
                with suppress(OSError):
                    self._path.unlink()
        return self

    def __exit__(self, *_: object) -> None:
        """Forget what nobody asked for, and close."""
        if self._database is not None:
            old = int(time.time()) - _KEPT
            with suppress(sqlite3.Error), self._database:
                self._database.execute("delete from counts where used < ?", [old])
        self._close()

    def _close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None

    def read(self, tokenizer: str | None, texts: Iterable[str]) -> dict[str, int]:
        """Return the known counts of texts, given by their hashes, and note that they were used."""
        found: dict[str, int] = {}
        wanted = list(texts)
        if self._database is None or tokenizer is None:
            return found
        now = int(time.time())
        for start in range(0, len(wanted), _MOST):
            some = wanted[start : start + _MOST]
            marks = ",".join("?" * len(some))
            query = f"select text, tokens from counts where tokenizer = ? and text in ({marks})"
            with suppress(sqlite3.Error):
                found |= dict(self._database.execute(query, [tokenizer, *some]).fetchall())
            touch = (
                f"update counts set used = ? where used < ? and tokenizer = ? and text in ({marks})"
            )
            with suppress(sqlite3.Error), self._database:
                self._database.execute(touch, [now, now - _DAY, tokenizer, *some])
        return found

    def write(self, tokenizer: str | None, counts: Mapping[str, int]) -> None:
        """Keep counts."""
        if self._database is None or tokenizer is None:
            return
        now = int(time.time())
        rows = [(tokenizer, text, n, now) for text, n in counts.items()]
        with suppress(sqlite3.Error), self._database:
            self._database.executemany("insert or replace into counts values (?, ?, ?, ?)", rows)
