"""The only place that prints: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from tokbench.bench.markup import one_line, strict_json, terminal
from tokbench.bench.privacy import without_secrets
from tokbench.bench.progress import FinishedCell

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
    """Print one problem to stderr, on one line whichever characters it contains."""
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


def _silence(number: int) -> None:
    """Discard what is written to a file descriptor, also by libraries and at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere == number:  # it was the lowest that was free
        os.set_inheritable(number, True)
        return
    os.dup2(nowhere, number)
    os.close(nowhere)


class ConsoleProgress:
    """Reports the progress of a run on stderr: a bar on a terminal, else one line per cell."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: RichProgress | None = None
        self._task: Any = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("starting", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, text: str) -> None:
        """Say what begins."""
        if self._bar is not None:
            self._bar.update(self._task, description=one_line(text)[:60])
        elif not self._quiet:
            message(one_line(text))

    def warning(self, text: str) -> None:
        """Print a warning that stays on the screen."""
        line = f"warning: {one_line(text)}"
        if self._bar is not None:
            self._bar.console.print(terminal(without_secrets(line)), markup=False)
        elif not self._quiet:
            message(line)

    def share(self, text: str, done: int, total: int) -> None:
        """Show the progress of one step; on a terminal only."""
        if self._bar is not None:
            self._bar.update(
                self._task, description=one_line(text)[:60], completed=done, total=total
            )

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """Report a finished cell, with the reason if it is not ok."""
        name = one_line(" × ".join(cell.key))
        how, detail = "kept from before" if reused else cell.status, one_line(cell.detail or "")
        if self._bar is not None:
            self._bar.update(self._task, description=name[:60], completed=number, total=total)
            if cell.status in ("failed", "partial"):
                self._bar.console.print(
                    terminal(without_secrets(f"{name}: {how}: {detail}")), markup=False
                )
        elif not self._quiet:
            reason = f": {detail}" if detail else ""
            message(f"[{number}/{total}] {name}: {how}{reason}")
