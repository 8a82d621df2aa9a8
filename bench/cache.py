"""The one folder where tokbench keeps what it can make again: slices, models, staged files."""

from __future__ import annotations

import os
from pathlib import Path

from tokbench.bench.errors import UsageError


def cache_folder(part: str) -> Path:
    """Return ``$TOKBENCH_CACHE/part``, else a folder of that name in the user's cache."""
    if given := os.environ.get("TOKBENCH_CACHE"):
        try:
            return Path(given).expanduser() / part
        except RuntimeError as exc:
            raise UsageError(f"TOKBENCH_CACHE={given}: {exc}") from exc
    import platformdirs

    return platformdirs.user_cache_path("tokbench", appauthor=False) / part
