"""What several commands share: arguments, options, and how a config is found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tokbench.bench.config.schema import Config

CONFIG = click.argument("config")
SET = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY.KEY=VALUE",
    help="Change one value of the config.",
)
OFFLINE = click.option(
    "--offline", is_flag=True, help="Never access the Hub; use only cached downloads."
)
ROOT = click.option(
    "--root",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Where relative paths in CONFIG start.  [default: its folder; for the config.yaml of a run "
    "folder the working folder]",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def load(config: str, overrides: tuple[str, ...], root: Path | None = None) -> Config:
    """Read a config file, or a ready config by its name; relative paths in it start from `root`.

    Without a root they start from the config's folder, and from the working folder for the
    `config.yaml` of a run folder: it holds paths as the config that was run had them.
    """
    from tokbench.bench.config.bundled import find_config
    from tokbench.bench.config.schema import load_config

    path = find_config(config)
    of_run = path.name == "config.yaml" and (path.parent / "plan.json").is_file()
    folder = root or (Path.cwd() if of_run else None)
    return load_config(path, overrides=overrides, shown=config, folder=folder)
