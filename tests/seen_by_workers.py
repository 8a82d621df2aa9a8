"""Questions put to a worker process, which imports them by this name as it would a plug-in."""

from __future__ import annotations

import os
import sys


def search_path() -> list[str]:
    """Return where modules are looked for."""
    return list(sys.path)


def environment_of_python() -> tuple[str, str]:
    """Return the variables of the interpreter that decide what it imports."""
    return os.environ["PYTHONSAFEPATH"], os.environ["PYTHONPATH"]
