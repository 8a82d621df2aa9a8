"""Versions of a package, and an environment of its own for each: pip finds and installs them.

pip's own settings hold (index, proxy, certificates), since it is pip that is run. An environment has
the package, what it depends on, and nothing of tokbench.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tokbench.bench.errors import InputError, TokbenchError, UsageError
from tokbench.bench.files import write_json
from tokbench.bench.markup import suggest
from tokbench.bench.workers.process import timed_out

INSTALL_SECONDS = 900
INDEX_SECONDS = 300
_QUIET = ("--disable-pip-version-check", "--no-input", "--no-color")
_HIDES = ("PYTHONPATH", "PYTHONHOME", "__PYVENV_LAUNCHER__", "PIP_REQUIRE_VIRTUALENV")


class NotInstalled(TokbenchError):  # noqa: N818 - a state of a version, which is then skipped
    """A version cannot be had for this Python; the message says why."""


class VersionEnvironments:
    """Makes environments below a folder, and finds those that are there from before."""

    def __init__(
        self, folder: Path, package: str, *, extra: Sequence[str] = (), source: bool = False
    ) -> None:
        if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", package):
            raise UsageError(f"--package {package}: write the name of a package")
        self._folder, self._package = folder, package
        self._extra, self._source = tuple(extra), source
        self._pip: list[str] | None = None

    def between(self, good: str, bad: str, *, pre: bool = False) -> list[str]:
        """Return the versions of the index from good to bad, oldest first.

        Pre-releases between them count where they are wanted, or where one of the two is one.
        Raises `InputError` if the index does not answer, and `UsageError` for a version that it
        does not have for this Python.
        """
        from packaging.version import InvalidVersion, Version

        try:
            first, last = Version(good), Version(bad)
        except InvalidVersion as exc:
            raise UsageError(f"--good and --bad: {exc}") from exc
        if first >= last:
            raise UsageError(f"--good {good} must be older than --bad {bad}")
        pre = pre or first.is_prerelease or last.is_prerelease
        known = {Version(one): one for one in self._known(pre=pre)}
        for option, given in (("--good", first), ("--bad", last)):
            if given not in known:
                raise UsageError(
                    f"{option} {given}: the index has no such version of {self._package} for this "
                    f"Python{suggest(str(given), known.values())}"
                )
        return [known[one] for one in sorted(known) if first <= one <= last]

    def _known(self, *, pre: bool) -> list[str]:
        command = ["index", "versions", self._package, *(["--pre"] if pre else [])]
        done = self._run_pip(["--python", sys.executable, *command], INDEX_SECONDS)
        found = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
        if done.returncode or found is None:
            raise InputError(
                f"the package index gave no versions of {self._package}: {_last_error(done)}; "
                "check the name and pip's settings (pip config list)"
            )
        return [version.strip() for version in found[1].split(",")]

    def make(self, version: str) -> Path:
        """Return the interpreter of the environment with a version, made where it is missing.

        Raises `NotInstalled` where pip cannot install it.
        """
        place = self._folder / f"{self._package}-{version}"
        python = _interpreter(place)
        wanted = {"package": self._package, "version": version, "extra": sorted(self._extra)}
        done = place / "tokbench.json"
        if done.exists() and python.exists():
            if json.loads(done.read_text(encoding="utf-8")) == wanted:
                return python
            raise UsageError(f"{place}: holds another environment; choose another --environments")
        _venv(place, "--without-pip")
        options = [] if self._source else ["--only-binary", ":all:"]
        packages = [f"{self._package}=={version}", *self._extra]
        arguments = ["--python", str(python), "install", "--quiet", *options, *packages]
        installed = self._run_pip(arguments, INSTALL_SECONDS)
        if installed.returncode:
            raise NotInstalled(f"cannot be installed: {_last_error(installed)}")
        write_json(done, wanted)
        return python

    def _run_pip(
        self, arguments: Sequence[str], seconds: float
    ) -> subprocess.CompletedProcess[str]:
        try:
            return _run([*self._found_pip(), *_QUIET, *arguments], seconds)
        except subprocess.TimeoutExpired as exc:
            raise NotInstalled(f"pip {timed_out(seconds)}") from exc

    def _found_pip(self) -> list[str]:
        """Return how pip is run: that of this environment, or one that is made for it."""
        if self._pip is None:
            own = [sys.executable, "-m", "pip"]
            if _run([*own, "--version"], INDEX_SECONDS).returncode:
                place = self._folder / "pip"
                if not _interpreter(place).exists():
                    _venv(place)
                own = [str(_interpreter(place)), "-m", "pip"]
            self._pip = own
        return self._pip


def _venv(place: Path, *options: str) -> None:
    """Make an environment, also over one that was left half-made, but over nothing else."""
    if place.exists() and any(place.iterdir()) and not (place / "pyvenv.cfg").exists():
        raise UsageError(f"{place}: is not an environment; choose another folder: --environments")
    done = _run([sys.executable, "-m", "venv", "--clear", *options, str(place)], INDEX_SECONDS)
    if done.returncode:
        raise InputError(
            f"{place}: cannot make an environment: {_last_error(done)}; install the modules venv "
            f"and ensurepip of Python {sys.version_info.major}.{sys.version_info.minor}"
        )


def _interpreter(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _run(command: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in _HIDES}
    return subprocess.run(
        command,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        env={**variables, "PYTHONUTF8": "1"},
        timeout=seconds,
        check=False,
    )


def _last_error(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last line that says what is wrong, shortened."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if line.upper().startswith("ERROR")]
    last = (errors or lines or [f"exit code {done.returncode}"])[-1]
    return last.removeprefix("ERROR: ")[:300]
