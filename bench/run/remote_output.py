"""Run folders on an object store: `--output s3://bucket/folder`, or any other that fsspec opens.

The run works in a folder of the cache; every few seconds what is finished there is sent to the
store, whole and under its own name: nothing is renamed there, and what was sent is looked up
again. At the start the last run of that name is looked at, and taken up where it is unfinished,
on whatever machine that is. `run.json` and `plan.json` are sent last, so that a folder that says
it is finished is complete.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tokbench.bench.cache import cache_folder
from tokbench.bench.errors import ResultsError, UsageError, named
from tokbench.bench.progress import Progress

EVERY_SECONDS = 5.0
"""Seconds between two looks at what is finished."""

PATIENCE_SECONDS = 120.0
"""Seconds to try again at the end while the store refuses."""

LAST = ("run.json", "plan.json")


def is_remote(output: str | PathLike[str]) -> bool:
    """Return whether an output is an address and not a folder.

    >>> is_remote("s3://bucket/runs"), is_remote("runs")
    (True, False)
    """
    return re.match(r"[a-z][a-z0-9+.-]+://", fspath(output)) is not None


@contextmanager
def output_folder(
    output: str | PathLike[str], name: str, progress: Progress, *, again: bool
) -> Iterator[Path]:
    """Yield the folder to run in; that of an address is sent there, during the block and at its end.

    `name` is that of the config; with `again` a finished run is fetched too. Raises `UsageError`
    for an address that nothing opens, and `ResultsError` where the store cannot be read or written.
    """
    if not is_remote(output):
        yield Path(output)
        return
    mirror = _Mirror(fspath(output), progress)
    mirror.fetch(name, again=again)
    with mirror.sending():
        yield mirror.folder


class _Mirror:
    """A folder of the cache, and the one on the store that follows it."""

    def __init__(self, url: str, progress: Progress) -> None:
        self._shown = re.sub(r"//[^/@]*@", "//", url)
        self._fs, self._root = _opened(url, self._shown)
        self._progress = progress
        self._sent: dict[str, tuple[int, int]] = {}
        digest = hashlib.sha256(url.encode()).hexdigest()[:24]
        self.folder = cache_folder("remote") / digest

    def fetch(self, name: str, *, again: bool) -> None:
        """Bring the last run of a name: all of it if it is to be gone on with, else its plan."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._forget_finished()
        with self._reading():
            found = {path.rpartition("/")[2] for path in self._listed()}
            numbers = [
                int(one[len(name) + 1 :])
                for one in found
                if re.fullmatch(rf"{re.escape(name)}-[0-9]{{1,9}}", one)
            ]
            if not numbers:
                return
            run = f"{name}-{max(numbers)}"
            finished = self._is_finished(run)
            for path, size in self._files(run):
                inside = path.partition("/")[2]
                if (finished and not again) and inside not in LAST:
                    continue
                self._bring(path, size)

    def _forget_finished(self) -> None:
        for plan in self.folder.glob("*/plan.json"):
            if json.loads(plan.read_text(encoding="utf-8")).get("finished"):
                shutil.rmtree(plan.parent, ignore_errors=True)

    def _listed(self) -> list[str]:
        self._fs.invalidate_cache()
        try:
            return [str(path).rstrip("/") for path in self._fs.ls(self._root, detail=False)]
        except FileNotFoundError:
            return []

    def _files(self, run: str) -> list[tuple[str, int]]:
        """Return the files of a run on the store, by their path below the root, with their sizes."""
        start = len(self._root.rstrip("/")) + 1
        found = self._fs.find(f"{self._root}/{run}", detail=True)
        return sorted((path[start:], int(info["size"])) for path, info in found.items())

    def _is_finished(self, run: str) -> bool:
        try:
            plan = json.loads(self._fs.cat_file(f"{self._root}/{run}/plan.json"))
            return bool(plan.get("finished"))
        except (FileNotFoundError, ValueError, AttributeError):
            return False

    def _bring(self, path: str, size: int) -> None:
        here = self.folder / path
        if here.resolve().is_relative_to(self.folder.resolve()) and not (
            here.is_file() and here.stat().st_size == size
        ):
            here.parent.mkdir(parents=True, exist_ok=True)
            self._fs.get_file(f"{self._root}/{path}", str(here))
        self._sent[path] = _state(here)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (ResultsError, UsageError):
            raise
        except Exception as exc:  # each store has exceptions of its own
            raise ResultsError(f"{self._shown}: cannot be read: {named(exc)}") from exc

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Send what is finished during the block, and the rest after it, however it ends."""
        over = threading.Event()
        thread = threading.Thread(target=self._send_often, args=(over,), daemon=True)
        thread.start()
        whole = False
        try:
            yield
            whole = True
        finally:
            over.set()
            thread.join()
            self._send_rest(PATIENCE_SECONDS if whole else EVERY_SECONDS)
        self._progress.step(f"results are at {self._shown}")

    def _send_often(self, over: threading.Event) -> None:
        while not over.wait(EVERY_SECONDS):
            if (why := self._send()) is not None:
                self._progress.warning(f"{self._shown}: not sent, tried again: {why}")

    def _send_rest(self, seconds: float) -> None:
        end, pause = time.monotonic() + seconds, 0.5
        while (why := self._send()) is not None:
            if time.monotonic() + pause > end:
                raise ResultsError(
                    f"{self._shown}: cannot be written: {why}; finished cells are kept in "
                    f"{self.folder}: run the same command again"
                )
            time.sleep(pause)
            pause *= 2
        self._drop_removed()

    def _send(self) -> str | None:
        """Send every file that is new or changed; return why one could not be sent."""
        here = [path for path in self.folder.rglob("*") if path.is_file()]
        for path in sorted(here, key=_last):
            name = path.relative_to(self.folder).as_posix()
            if any(part.startswith(".") for part in name.split("/")):
                continue  # a lock, or a file that is being written
            try:
                state = _state(path)
                if self._sent.get(name) == state:
                    continue
                self._fs.put_file(str(path), f"{self._root}/{name}")
                self._fs.invalidate_cache()
                if self._fs.info(f"{self._root}/{name}")["size"] != state[0]:
                    return f"{name} has another size there"
            except FileNotFoundError:
                continue  # removed here since it was listed
            except Exception as exc:  # each store has exceptions of its own
                return named(exc)
            self._sent[name] = state
        return None

    def _drop_removed(self) -> None:
        """Remove from the store the cells that a finished run has removed here."""
        gone = [name for name in self._sent if not (self.folder / name).exists()]
        for name in gone:
            if "/cells/" in name:
                with self._reading():
                    self._fs.rm_file(f"{self._root}/{name}")


def _last(path: Path) -> tuple[int, str]:
    return (LAST.index(path.name) + 1 if path.name in LAST else 0), str(path)


def _state(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _opened(url: str, shown: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    try:
        import fsspec

        fs, root = fsspec.core.url_to_fs(url, use_listings_cache=False)
    except ImportError as exc:
        scheme = url.partition("://")[0]
        extra = "pip install 'tokbench[s3]'" if scheme in ("s3", "s3a") else f"install it ({exc})"
        raise UsageError(f"{shown}: a library for {scheme}:// is missing; {extra}") from exc
    except ValueError as exc:
        raise UsageError(f"{shown}: {exc}; choose another --output") from exc
    return fs, str(root).rstrip("/")
