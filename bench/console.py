"""The only place that prints: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from tokbench.bench.guard import start_thread
from tokbench.bench.markup import one_line, percent, plural, strict_json, terminal
from tokbench.bench.privacy import without_secrets
from tokbench.bench.progress import FinishedCell, Parts, clock

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress


def make_safe() -> None:
    """Keep a closed stream, or a character that it cannot encode, from ending the program."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:  # closed before the program began
            _silence(number)
            setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def result(text: str) -> None:
    """Print a result to stdout."""
    _print(sys.stdout, text)


Painted = tuple[str, int | str | None]
"""A piece of a line, and the number of its background or the name of its style; None is plain."""

_STYLES = {"best": "1;32", "unranked": "2", "heading": "1"}
"""Bold green, dim and bold."""

_COLOURS = (44, 45, 46, 42, 43)
"""Backgrounds: blue, magenta, cyan, green, yellow; the two beside each other differ most."""


def result_painted(lines: Iterable[Sequence[Painted]]) -> None:
    """Print lines whose pieces have colours, where stdout is a terminal that shows them."""
    coloured = (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    )
    for pieces in lines:
        plain = "".join(text for text, _ in pieces)
        if coloured and terminal(plain) == plain:
            _write(sys.stdout, "".join(_paint(text, colour) for text, colour in pieces))
        else:
            _print(sys.stdout, plain)


def _paint(text: str, colour: int | str | None) -> str:
    if colour is None:
        return text
    if isinstance(colour, str):
        return f"\x1b[{_STYLES[colour]}m{text}\x1b[0m"
    return f"\x1b[30;{_COLOURS[colour % len(_COLOURS)]}m{text}\x1b[0m"


def width() -> int:
    """Return the columns of the terminal, at least 40; 80 where there is none."""
    return max(40, shutil.get_terminal_size().columns)


def result_json(value: Any) -> None:
    """Print a result that a program will read; ASCII, so that any encoding can carry it."""
    result(strict_json(value, ascii_only=True))


def message(text: str) -> None:
    """Print a message to stderr, without passwords, tokens and the path of the home folder."""
    _print(sys.stderr, without_secrets(text))


def remark(text: str) -> None:
    """Print one problem to stderr, always on one line."""
    message(one_line(text))


def _print(stream: TextIO, text: str) -> None:
    """Print a text as lines, without escape codes; a closed pipe is ignored.

    What a command does, and its exit code, must not depend on who reads along.
    """
    _write(stream, terminal(text))


def _write(stream: TextIO, safe: str) -> None:
    try:
        stream.write(safe if safe.endswith("\n") else safe + "\n")
        stream.flush()
    except BrokenPipeError:
        _silence(stream.fileno())
    except OSError:  # such as a full disk: a remark may be lost, a result may not
        if stream is not sys.stderr:
            raise
        _silence(stream.fileno())


def _silence(number: int) -> None:
    """Discard what is written to a file descriptor, also by libraries and at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere == number:  # it was the lowest that was free
        os.set_inheritable(number, True)
        return
    os.dup2(nowhere, number)
    os.close(nowhere)


QUIET_SECONDS = 10.0
"""Where there is no bar, the time between two lines that say how far a run is."""


class ConsoleProgress:
    """Reports the progress of a run on stderr: a bar on a terminal, a line now and then elsewhere.

    The bar is weighted by time. Without one, a line comes every ten seconds and one for each
    tokenizer that is finished; with `verbose`, one for each cell. `log` is a file that gets every
    event as a line of JSON.
    """

    def __init__(
        self, *, quiet: bool = False, verbose: bool = False, log: TextIO | None = None
    ) -> None:
        self._quiet, self._verbose, self._log = quiet, verbose, log
        self._bar: RichProgress | None = None
        self._task: Any = None
        self._parts = Parts()
        self._cells: dict[str, int] = {}
        self._statuses: dict[str, Counter[str]] = {}
        self._began = self._said = time.monotonic()
        self._doing = "starting"
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        if sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            self._start_bar()
        else:
            self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
            start_thread(self._ticker)
        return self

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[times]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None, times="")
        self._bar.start()
        self._ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
        start_thread(self._ticker)

    def _tick(self) -> None:
        """Keep the times of the bar, or say every ten seconds how far the run is."""
        while not self._over.wait(0.5):
            if self._bar is not None:
                self._bar.update(self._task, times=self._times())
            elif time.monotonic() - self._said >= QUIET_SECONDS:
                self._line(f"{percent(self._parts.share, 0)}, {self._times()}: {self._doing}")

    def _times(self) -> str:
        elapsed = time.monotonic() - self._began
        left = self._parts.left(elapsed)
        said = f"{clock(elapsed)} elapsed"
        return said if left is None or elapsed < 1 else f"{said}, about {clock(left)} left"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
        if self._bar is not None:
            self._bar.stop()
        self._event("end", error=None if kind is None else kind.__name__)

    def _line(self, text: str) -> None:
        """Print a line that stays."""
        if self._bar is not None:
            self._bar.console.print(terminal(without_secrets(text)), markup=False)
        elif not self._quiet:
            self._said = time.monotonic()
            message(text)

    def _event(self, event: str, **values: Any) -> None:
        """Write an event to the log."""
        if self._log is not None:
            seconds = round(time.monotonic() - self._began, 3)
            line = strict_json({"seconds": seconds, "event": event, **values}, indent=None)
            self._log.write(without_secrets(line) + "\n")
            self._log.flush()

    def step(self, text: str) -> None:
        """Report the step that begins."""
        self._doing = one_line(text)
        self._event("step", text=self._doing)
        if self._bar is not None:
            self._bar.update(self._task, description=self._doing[:60])
        elif self._verbose or self._doing.startswith("run "):
            self._line(self._doing)

    def warning(self, text: str) -> None:
        """Print a warning that stays on the screen."""
        line = f"warning: {one_line(text)}"
        self._event("warning", text=one_line(text))
        self._line(line)

    def share(self, text: str, done: int, total: int) -> None:
        """Show the progress of one step; on a terminal only."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=one_line(text)[:60], completed=done, total=total
            )

    def expect(self, seconds: Mapping[str, float], cells: Mapping[str, int]) -> None:
        """Weigh the parts of a run."""
        self._parts, self._cells = Parts(seconds=dict(seconds)), dict(cells)
        self._statuses = {key: Counter() for key in cells}
        self._event("expect", parts=dict(seconds), cells=dict(cells))

    def part(self, name: str, share: float) -> None:
        """Move the bar."""
        self._parts.done[name] = share
        self._event("part", part=name, share=round(share, 4), total=round(self._parts.share, 4))
        if self._bar is not None:
            self._bar.update(self._task, completed=self._parts.share, total=1.0)

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """Report a finished cell: with `verbose`, where it failed, or with its tokenizer."""
        name = one_line(" × ".join(cell.key))
        how, detail = "kept from before" if reused else cell.status, one_line(cell.detail or "")
        self._event("cell", key=list(cell.key), status=cell.status, reused=reused, detail=detail)
        self._doing = name
        if self._bar is not None:
            self._bar.update(self._task, description=name[:60])
        reason = f": {detail}" if detail else ""
        if self._verbose:
            self._line(f"[{number}/{total}] {name}: {how}{reason}")
        self._count(cell.key[0], "kept from before" if reused else cell.status, reason)

    def _count(self, tokenizer: str, how: str, reason: str) -> None:
        """Count a cell, and say the first failure of a tokenizer and when it is finished."""
        statuses = self._statuses.setdefault(tokenizer, Counter())
        statuses[how] += 1
        if how in ("failed", "partial") and statuses[how] == 1 and not self._verbose:
            self._line(f"{one_line(tokenizer)}: {how}{reason}")
        if statuses.total() == self._cells.get(tokenizer) and self._bar is None:
            counts = ", ".join(f"{count} {name}" for name, count in statuses.items())
            self._line(f"{one_line(tokenizer)}: {plural(statuses.total(), 'cell')}: {counts}")
