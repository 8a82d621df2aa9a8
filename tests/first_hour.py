"""Every command of the README's short section and of the four paths, in an empty folder.

    python tests/first_hour.py         runs them and prints the CPU seconds of each

`test_first_hour.py` runs the same under pytest (`-m long`). Commands are read from the pages, so
that a page cannot show one that fails. Left out are those that set up the environment.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parent.parent
PAGES = ("docs/paths.md", "docs/choosing.md")


class Section(NamedTuple):
    """The commands below one heading, which share a folder, and the files that a page says to save."""

    name: str
    commands: list[str]
    files: dict[str, str]


class Took(NamedTuple):
    """One command that was run."""

    command: str
    code: int
    cpu: float
    output: str


def sections() -> Iterator[Section]:
    """Yield the paths, and the whole page on one decision."""
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        parts = re.split(r"^## ", text, flags=re.M)[1:] if page == PAGES[0] else [text]
        for part in parts:
            yield Section(part.splitlines()[0].lstrip("# "), list(_commands(part)), _files(part))


def _commands(text: str) -> Iterator[str]:
    for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S):
        yield from (line for line in block.splitlines() if line.startswith("tokbench "))


def _files(text: str) -> dict[str, str]:
    found = re.findall(r"Save this as `(\S+?)`.*?^```yaml\n(.*?)^```", text, flags=re.M | re.S)
    return dict(found)


def run(section: Section, folder: Path) -> Iterator[Took]:
    """Run the commands of a section in a folder; yield what each took."""
    for name, content in section.files.items():
        (folder / name).write_text(content, encoding="utf-8")
    for command in section.commands:
        arguments = [sys.executable, "-m", "tokbench", *shlex.split(command)[1:]]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            arguments,
            cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=1200,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        yield Took(command, done.returncode, cpu, done.stdout + done.stderr)


def main() -> int:
    """Run all; return 1 where a command failed."""
    failed = 0
    for section in sections():
        with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
            sys.stdout.write(f"{section.name}\n")
            for took in run(section, Path(folder)):
                sys.stdout.write(f"  {took.cpu:6.1f} s  exit {took.code}  {took.command}\n")
                if took.code:
                    failed += 1
                    sys.stdout.write(took.output)
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
