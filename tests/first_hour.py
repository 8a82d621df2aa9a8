"""Every command of the README, of the four paths and of the page on one decision.

    python tests/first_hour.py         runs them in empty folders, prints CPU seconds and disk

`test_first_hour.py` runs the same under pytest (`-m long`), but for `quick`, which `.ci/run` runs.
Commands are read from the pages, so that a page cannot show one that fails. Left out are those that
set up the environment. Requires the extra `samples`; nothing is downloaded.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parent.parent
PATHS = REPOSITORY / "docs" / "paths.md"
DECISION = REPOSITORY / "docs" / "choosing.md"


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
    """User and system seconds of the command and of its workers; 0 on Windows."""
    disk: int
    """Bytes that it left in the folder."""
    output: str


def sections() -> Iterator[Section]:
    """Yield the README's parts, the paths, and the whole page on one decision."""
    for page in (REPOSITORY / "README.md", PATHS):
        for part in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
            if found := list(_commands(part)):
                yield Section(part.splitlines()[0], found, _files(part))
    text = DECISION.read_text(encoding="utf-8")
    yield Section(text.splitlines()[0].lstrip("# "), list(_commands(text)), _files(text))


def _commands(text: str) -> Iterator[str]:
    for block in re.findall(r"^```sh\n(.*?)^```", text, flags=re.M | re.S):
        for line in block.splitlines():
            if line.startswith(("tokbench ", ".venv/bin/tokbench ")):
                yield line.removeprefix(".venv/bin/")


def _files(text: str) -> dict[str, str]:
    found = re.findall(r"Save this as `(\S+?)`.*?^```yaml\n(.*?)^```", text, flags=re.M | re.S)
    return dict(found)


def run(section: Section, folder: Path) -> Iterator[Took]:
    """Run the commands of a section in a folder; yield what each took."""
    for name, content in section.files.items():
        (folder / name).write_text(content, encoding="utf-8")
    if "mine.yaml" in section.files:
        _own_files(folder)
    for command in section.commands:
        arguments = [sys.executable, "-m", "tokbench", *shlex.split(command)[1:]]
        before, there = os.times(), _bytes_in(folder)
        done = subprocess.run(
            arguments,
            cwd=folder,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
            capture_output=True,
            text=True,
            timeout=1200,
        )
        after = os.times()
        cpu = (after.children_user - before.children_user) + (
            after.children_system - before.children_system
        )
        disk = _bytes_in(folder) - there
        yield Took(command, done.returncode, cpu, disk, done.stdout + done.stderr)


def _own_files(folder: Path) -> None:
    """Write what a reader of the README brings along: texts of two languages, a tokenizer.json."""
    from tokenizers import ByteLevelBPETokenizer

    texts = {
        "en": ["The house is old.", "Rain fell on the river.", "We walked home at night."],
        "sw": ["Nyumba ni ya zamani.", "Mvua ilinyesha mtoni.", "Tulitembea nyumbani usiku."],
    }
    for language, lines in texts.items():
        (folder / f"news.{language}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    mine = ByteLevelBPETokenizer()
    mine.train_from_iterator(texts["en"] + texts["sw"], vocab_size=300, show_progress=False)
    mine.save(str(folder / "tokenizer.json"))


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> int:
    """Run all; return 1 where a command failed."""
    failed = 0
    quick = ["tokbench run quick", "tokbench show runs/quick-1", "tokbench clean"]
    for section in [Section("The README's first command", quick, {}), *sections()]:
        with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
            sys.stdout.write(f"{section.name}\n")
            for took in run(section, Path(folder)):
                sys.stdout.write(
                    f"  {took.cpu:6.1f} s {took.disk / 1e6:6.2f} MB  exit {took.code}  "
                    f"{took.command}\n"
                )
                if took.code:
                    failed += 1
                    sys.stdout.write(took.output)
                sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
