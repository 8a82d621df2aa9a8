"""Where a run happened and where its time went: written apart from the exact results."""

from __future__ import annotations

import gc
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

LIBRARIES = (
    "tokbench",
    "tiktoken",
    "tokenizers",
    "sentencepiece",
    "transformers",
    "datasets",
    "numpy",
    "pyarrow",
    "regex",
)


class Stopwatch:
    """CPU seconds of this process by section; a section inside another is taken off the outer.

    >>> watch = Stopwatch()
    >>> with watch.section("encode"):
    ...     pass
    >>> sorted(watch.seconds)
    ['encode', 'other']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"other": 0.0}
        self._stack = ["other"]
        self._since = time.process_time()

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Count the CPU time of the block under a name."""
        self._switch()
        self._stack.append(name)
        try:
            yield
        finally:
            self._switch()
            self._stack.pop()

    def _switch(self) -> None:
        now = time.process_time()
        name = self._stack[-1]
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._since
        self._since = now

    @contextmanager
    def processes(self, name: str) -> Iterator[None]:
        """Count the CPU time of processes that start and end inside the block under a name.

        They are those that the system charges to this one when they end; none on Windows.
        """
        before = _of_ended_processes()
        try:
            yield
        finally:
            spent = _of_ended_processes() - before
            self.seconds[name] = self.seconds.get(name, 0.0) + spent

    def stop(self) -> dict[str, float]:
        """Return the seconds of each section up to now."""
        self._switch()
        return dict(self.seconds)

    def start_of_process(self) -> None:
        """Count everything before now, since the process began, as imports."""
        now = time.process_time()
        self.seconds["imports"] = self.seconds.get("imports", 0.0) + now
        self.seconds["other"] = 0.0
        self._since = now

    def take(self, seconds: Mapping[str, float], *, process: int) -> None:
        """Take over the sections of another stopwatch; in this very process, as part of ours."""
        self._switch()
        for name, value in seconds.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + value
        if process == os.getpid():
            self.seconds[self._stack[-1]] -= sum(seconds.values())


def _of_ended_processes() -> float:
    charged = os.times()
    return charged.children_user + charged.children_system


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keep the cyclic collector from walking millions of short-lived ids inside the block."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def library_versions(names: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the version of each installed library."""
    return {name: found for name in names if (found := version_of(name)) is not None}


@cache
def version_of(name: str) -> str | None:
    """Return the installed version of a library; reading it takes milliseconds, so it is kept."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def describe(started: datetime) -> dict[str, Any]:
    """Return clock, machine, interpreter and source state, for `environment.json`."""
    return {
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "cpu_count": os.cpu_count(),
        "threads": {
            name: os.environ[name]
            for name in ("TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS", "OMP_NUM_THREADS")
            if name in os.environ
        },
        "ci": bool(os.environ.get("CI")),
        "git": git_state(),
    }


def peak_bytes() -> int:
    """Return the highest resident memory of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux hands getrusage's figure on from the parent, where it was larger
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8"))
        if found:
            return int(found.group(1)) * 1024
    try:
        import resource
    except ImportError:  # Windows
        import psutil

        return int(psutil.Process().memory_info().peak_wset)  # type: ignore[attr-defined,unused-ignore]
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def cpu_model() -> str:
    """Return the processor's name, if the system reports one."""
    info = Path("/proc/cpuinfo")
    if sys.platform == "linux" and info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def git_state() -> dict[str, Any] | None:
    """Return commit and whether the work tree is clean, None outside a repository.

    A repository's own settings may name commands (fsmonitor, hooks, filters, pagers); none is run.
    """
    try:
        commit = _git("rev-parse", "HEAD")
        own = _git("config", "--local", "--name-only", "--get-regexp", r"^filter\.", codes=(0, 1))
        filters = [f"{name}=" for name in own.splitlines() if not name.endswith(".required")]
        filters += [f"{name}=false" for name in own.splitlines() if name.endswith(".required")]
        changed = _git("status", "--porcelain", "--ignore-submodules=dirty", settings=filters)
        return {"commit": commit, "dirty": bool(changed)}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str, settings: Sequence[str] = (), codes: Sequence[int] = (0,)) -> str:
    every = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", *settings)
    command = ["git", "--no-pager", *(one for name in every for one in ("-c", name)), *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=10,
        env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
    )
    if done.returncode not in codes:
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout.strip()
