"""Jobs that take a while, which worker processes import by this name as they would a plug-in."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.environment import Stopwatch
from tokbench.bench.workers.job import Job


@dataclass(frozen=True, kw_only=True)
class Slow(Job[None]):
    """Writes a file when it begins and another when it is done."""

    folder: Path
    number: int

    @property
    def group(self) -> str:
        """One worker for all."""
        return "slow"

    def run(self, watch: Stopwatch) -> None:
        """Take a third of a second."""
        (self.folder / f"{self.number}.begun").touch()
        time.sleep(0.3)
        (self.folder / f"{self.number}.done").touch()
