"""Write `docs/examples/terminal.svg`, the picture of a terminal in the README: `make picture`.

The command runs in a pseudo-terminal, so the picture shows what a user sees. A test holds its text
against what the command prints.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

PICTURE = Path(__file__).parent / "examples" / "terminal.svg"
COMMAND = ["inspect", "Grüße aus 東京!", "cl100k_base", "o200k_base", "deepseek"]
SHOWN = 'tokbench inspect "Grüße aus 東京!" cl100k_base o200k_base deepseek'
WIDTH = 80

_PYTHON = [sys.executable, "-m", "tokbench"]
_NO_FONTS = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's frame without the addresses of fonts: a picture asks the network for nothing."""
_DARK = [(0, 0, 0), (222, 56, 43), (112, 196, 112), (230, 190, 80)]
_LIGHT = [(110, 160, 240), (216, 140, 216), (100, 200, 210), (240, 240, 240)]
_THEME = TerminalTheme((24, 26, 31), (240, 240, 240), _DARK + _LIGHT)
"""Rich's own theme has dark grey for black, which cannot be read on colours."""


def picture() -> str:
    """Return the SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text(f"$ {SHOWN}"))
    console.print(Text.from_ansi(in_terminal()), end="")
    return console.export_svg(
        title="tokbench", theme=_THEME, code_format=_NO_FONTS, unique_id="terminal"
    )


def in_terminal() -> str:
    """Run the command in a pseudo-terminal and return what it writes."""
    import pty

    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(WIDTH)}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [*_PYTHON, *COMMAND],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        os.close(theirs)
        written = _all_of(ours)
    if process.returncode:
        raise SystemExit("the command failed; it requires the extra `samples`")
    return written.decode().replace("\r\n", "\n")


def _all_of(end: int) -> bytes:
    """Read until the other end is closed, which Linux reports as an error."""
    parts = []
    try:
        while part := os.read(end, 65_536):
            parts.append(part)
    except OSError:
        pass
    os.close(end)
    return b"".join(parts)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
