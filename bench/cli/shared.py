"""What several commands share: arguments, options, and how a config is found."""

from __future__ import annotations

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
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def load(config: str, overrides: tuple[str, ...]) -> Config:
    """Read a config file, or a ready config by its name."""
    from tokbench.bench.config.bundled import find_config
    from tokbench.bench.config.schema import load_config

    return load_config(find_config(config), overrides=overrides, shown=config)
