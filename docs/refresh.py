"""Write the parts of the documentation that come from the code: `make docs`, `make readme`.

Generated: the metrics in `docs/metrics.md`, the commands in `docs/cli.md`, the keys in
`docs/config.md`, the schema of configs, and (from a run) the output of `quick` in `README.md`, the
page `docs/examples/page.html` (`make example`) and, from a data folder, `docs/claims.md` (`make
claims DATA=folder`). Tests compare the files with what
this gives. Everything else in the pages is written by hand.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click

from tokbench.bench.cli import CommandLine, main
from tokbench.bench.commands.budget.outcome import outcome_schema
from tokbench.bench.commands.budget.schema import budget_schema
from tokbench.bench.commands.listing import config_schema
from tokbench.bench.commands.pages import metric_page
from tokbench.bench.commands.pages.key_tables import tables
from tokbench.bench.markup import escape

REPOSITORY = Path(__file__).parent.parent
EXAMPLE = REPOSITORY / "docs" / "examples" / "page.html"
SCHEMA = REPOSITORY / "configs" / "schema" / "tokbench.schema.json"


def pages() -> dict[Path, str]:
    """Return each generated file, or page with generated parts, as it should be."""
    parts = {"commands": command_tables(), "metrics": metric_page.metrics(), **tables()}
    found = {
        SCHEMA: _written(config_schema()),
        SCHEMA.with_name("budget.schema.json"): _written(budget_schema()),
        SCHEMA.with_name("budget-result.schema.json"): _written(outcome_schema()),
    }
    for path in sorted((REPOSITORY / "docs").rglob("*.md")):
        page = text = path.read_text(encoding="utf-8")
        for part in re.findall(r"<!-- generated: (.+?) -->", page):
            if part in parts:
                text = replaced(text, part, parts[part])
        if text != page or "<!-- generated: " in page:
            found[path] = text
    return found


def replaced(page: str, part: str, text: str) -> str:
    """Return a page with one generated part exchanged.

    >>> replaced("<!-- generated: x -->old<!-- end: x -->", "x", "new")
    '<!-- generated: x -->\\n\\nnew\\n\\n<!-- end: x -->'
    """
    begin, end = f"<!-- generated: {part} -->", f"<!-- end: {part} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"no part {begin} ... {end} in the page; put these two lines back")
    return pattern.sub(lambda _: f"{begin}\n\n{text}\n\n{end}", page)


def _written(schema: Mapping[str, Any]) -> str:
    """Return a JSON schema as text. What pydantic writes differs between its versions."""
    made_with = f"Written by `make docs` with pydantic {pydantic_minor()}."
    text = json.dumps({"$comment": made_with, **schema}, indent=1, ensure_ascii=False)
    return f"{text}\n"


def pydantic_minor() -> str:
    """Return the installed version of pydantic without its last part, such as ``2.11``."""
    return ".".join(version("pydantic").split(".")[:2])


def command_tables() -> str:
    """Return usage, help and options of every command."""
    return "\n\n".join(_command(name, command) for name, command in sorted(_leaves(main)))


def _leaves(group: click.Group, before: str = "") -> Iterator[tuple[str, click.Command]]:
    commands = group.load_all() if isinstance(group, CommandLine) else group.commands
    for name, command in commands.items():
        if isinstance(command, click.Group):
            yield from _leaves(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _command(name: str, command: click.Command) -> str:
    arguments = " ".join(_argument(p) for p in command.params if isinstance(p, click.Argument))
    options = [p for p in command.params if isinstance(p, click.Option)]
    usage = " ".join(filter(None, ("tokbench", name, "[OPTIONS]" if options else "", arguments)))
    rows = [f"| {_option(o)} | {escape(o.help or '')}{_default(o)} |" for o in options]
    table = "\n".join(["| option | meaning |", "| :--- | :--- |", *rows]) if rows else ""
    parts = (f"### `tokbench {name}`", f"`{usage}`", *_paragraphs(command.help or ""), table)
    return "\n\n".join(filter(None, parts))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a docstring, each as one escaped line.

    >>> list(_paragraphs("First.\\n\\n    Second, in\\n    two lines.\\n"))
    ['First.', 'Second, in two lines.']
    """
    for paragraph in cleandoc(text).split("\n\n"):
        yield escape(" ".join(paragraph.split()))


def _argument(argument: click.Argument) -> str:
    if argument.metavar:
        return argument.metavar
    name = (argument.name or "").upper()
    if isinstance(argument.type, click.Choice):
        name = "|".join(argument.type.choices)
    name += "..." if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {_value(option)}"
    return f"`{', '.join(option.opts)}{value}`"


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "{" + ",".join(option.type.choices) + "}"
    return str(option.metavar or option.type.name.upper())


def _default(option: click.Option) -> str:
    shown = option.default is not None and not option.is_flag and not option.multiple
    return (
        f" Default: `{option.default}`." if shown and isinstance(option.default, str | Path) else ""
    )


def readme(summary: str) -> str:
    """Return the README with the output of a run of `quick` in place."""
    page = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    return replaced(page, "quick", f"```text\n{summary.strip()}\n```")


def quick() -> str:
    """Run `quick` in an empty folder and return what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        return _run("quick", folder)


def example() -> str:
    """Measure the example anew and return its page."""
    with tempfile.TemporaryDirectory() as folder:
        _run(str(EXAMPLE.with_suffix(".yaml")), folder)
        return (Path(folder) / "runs" / "example-1" / "report.html").read_text(encoding="utf-8")


def _run(config: str, folder: str) -> str:
    command = [sys.executable, "-c", "from tokbench.bench.cli import CommandLine, main; main()"]
    done = subprocess.run(
        [*command, "run", config, "--quiet"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def claims(data: Path) -> str:
    """Return the page of claims, measured on a data folder."""
    from tokbench.suites.anchors.claims import page

    return page(REPOSITORY / "docs" / "claims.yaml", data.resolve())


def _stale(
    data: Path | None, *, with_readme: bool, with_example: bool
) -> Iterator[tuple[Path, str]]:
    wanted: dict[Path, Any] = dict(pages())
    if data is not None:
        wanted[REPOSITORY / "docs" / "claims.md"] = claims(data)
    if with_readme:
        wanted[REPOSITORY / "README.md"] = readme(quick())
    if with_example:
        wanted[EXAMPLE] = example()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            yield path, text


if __name__ == "__main__":
    folder = Path(sys.argv[sys.argv.index("--claims") + 1]) if "--claims" in sys.argv else None
    readme_too, example_too = "--readme" in sys.argv, "--example" in sys.argv
    for path, text in _stale(folder, with_readme=readme_too, with_example=example_too):
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(REPOSITORY)}: written\n")
