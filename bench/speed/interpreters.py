"""Two Python interpreters that take turns: their workers need the library but not tokbench.

Each side is `bench/timing/standalone_worker.py`, run by the interpreter of its environment. A pair is a track of
`tokbench.bench.timing.race`: the parent asks one side for a lap, then the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tokbench.bench.errors import TokbenchError, UsageError
from tokbench.bench.timing import standalone_worker
from tokbench.bench.timing.cases import Case
from tokbench.bench.timing.race import SIDES, Side, Workload
from tokbench.bench.workers.process import timed_out

LOAD_SECONDS = 300
LAP_SECONDS = 120

_PINNED = {
    "TOKENIZERS_PARALLELISM": "false",
    "RAYON_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_BUILD = ("python", "implementation", "compiler", "machine", "debug")


@dataclass(frozen=True, kw_only=True)
class Library:
    """One side: its interpreter, and the library that its worker loads."""

    python: Path
    spec: Mapping[str, Any]


def write_texts(path: Path, cases: Sequence[Case]) -> None:
    """Write the cases in the format of a bare worker."""
    cells = [
        {
            "phase": case.phase,
            "batch_size": 1 if case.call == "single" else case.batch_size,
            "documents": list(case.blocks[0]),
        }
        for case in cases
    ]
    path.write_text(json.dumps(cells), encoding="utf-8")


class BareWorker:
    """One side's process."""

    def __init__(self, library: Library, texts: Path) -> None:
        self._python = library.python
        try:
            self._process = subprocess.Popen(
                [str(library.python), "-I", "-X", "utf8", str(Path(standalone_worker.__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env={**os.environ, **_PINNED},
            )
        except OSError as exc:
            raise UsageError(f"{library.python}: cannot be started: {exc.strerror or exc}") from exc
        load = {"do": "load", "spec": dict(library.spec), "texts": str(texts)}
        try:
            hello = self.ask(load, LOAD_SECONDS)
        except TokbenchError:
            self.stop()
            raise
        self.facts: dict[str, Any] = hello["facts"]
        self.encoders: list[str] = hello["encoders"]

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """Return the answer to a request; a process that does not answer in time is killed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        alarm = threading.Timer(seconds, self._process.kill)
        alarm.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            in_time = alarm.is_alive()
            alarm.cancel()
        if not line:
            code = self._process.wait()
            what = f"ended (exit code {code})" if in_time else timed_out(seconds)
            raise TokbenchError(f"{self._python}: its worker {what}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise TokbenchError(f"{self._python}: {answer['error']}")
        return answer

    def stop(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()


class BarePair:
    """A fresh pair of workers, one a side, that call the library in the same way."""

    def __init__(self, base: Library, candidate: Library, texts: Path) -> None:
        self._workers: dict[Side, BareWorker] = {}
        try:
            self._workers["base"] = BareWorker(base, texts)
            self._workers["candidate"] = BareWorker(candidate, texts)
            self.encoder = self._common_encoder()
        except TokbenchError:
            self.stop()
            raise

    def _common_encoder(self) -> str:
        """Return the fastest call that both libraries have."""
        base, candidate = (self._workers[side].encoders for side in SIDES)
        return next(name for name in base if name in candidate)

    def obstacle(self) -> str | None:
        """Return why the two must not be compared; None if they may be."""
        base, candidate = (self._workers[side].facts for side in SIDES)
        differ = [f"{n} {base[n]} → {candidate[n]}" for n in _BUILD if base[n] != candidate[n]]
        return f"the builds of Python differ: {', '.join(differ)}" if differ else None

    def versions(self) -> tuple[str, str]:
        """Return the library's version in each environment."""
        return self._workers["base"].facts["version"], self._workers["candidate"].facts["version"]

    def remarks(self) -> tuple[str, ...]:
        """Return notes on the call."""
        wished = {self._workers[side].encoders[0] for side in SIDES}
        if wished == {self.encoder}:
            return ()
        return (f"timed by {self.encoder}, the fastest call that both versions have",)

    def lap(self, side: Side, case: int, load: Workload) -> tuple[float, float]:
        """Ask one side for a lap."""
        request = {
            "do": "lap",
            "cell": case,
            "encoder": self.encoder,
            "stride": load.stride,
            "passes": load.passes,
        }
        answer = self._workers[side].ask(request, LAP_SECONDS)
        return answer["wall"], answer["cpu"]

    def ids(self, side: Side) -> list[str]:
        """Ask one side for a hash of its ids by case."""
        hashes: list[str] = self._workers[side].ask(
            {"do": "ids", "encoder": self.encoder}, LOAD_SECONDS
        )
        return hashes

    def stop(self) -> None:
        """End both processes."""
        for worker in self._workers.values():
            worker.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
