"""How `report.md` ends: what failed, and how to reproduce it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

from tokbench.bench.config.yaml_file import MAPPING
from tokbench.bench.markup import escape, percent, plural
from tokbench.reports.sections.closing import command, failed_cells, refusals
from tokbench.reports.sections.conformance import conformance_failures
from tokbench.reports.view import View


def failed_section(view: View) -> Iterator[str]:
    """Yield what failed or was refused, each reason once; nothing where all went well."""
    lines = [*failed_cells(view), *refusals(view, most=MOST_ALIKE), *_refused_premiums(view)]
    lines += conformance_failures(view)
    if lines:
        yield "## What failed or was refused"
        yield "\n".join(f"- {line}" for line in lines)


MOST_ALIKE = 3
"""Refusals of one kind; of more, only the first is written."""


def _refused_premiums(view: View) -> Iterator[str]:
    """Yield a line for each tokenizer, corpus and reason; the table of premiums has the languages."""
    limit = percent(view.run["policy"]["lost_limit"], 0)
    found: dict[tuple[str, str, str | None], set[str]] = {}
    n: Counter[tuple[str, str, str | None]] = Counter()
    for row in view.rows:
        if row["status"] == "refused" and row["metric"] in ("premium", "program_premium"):
            place = row["tokenizer"], row["corpus"], row["reason"]
            found.setdefault(place, set()).add(row["detail"])
            n[place] += 1
    for place, details in found.items():
        tokenizer, corpus, reason = place
        why = escape(min(details)) if len(details) == 1 else "`detail.md` has the reasons"
        if reason == "lost_text":
            why = f"more than {limit} of the text's bytes are lost, there or in the pivot"
        where = f"{escape(tokenizer)} on {escape(corpus)}"
        yield f"{where}: no premium in {plural(n[place], 'language')}: {why}"


def reproduce_section(view: View) -> Iterator[str]:
    """Yield the command, the config, the versions and the digest."""
    run = view.run
    yield "## How to reproduce"
    if run["config_path"] == MAPPING:
        yield "This run was started from Python: give the config to `tokbench.run`."
    else:
        yield f"```\n{command(run)}\n```"
    yield (
        "The config, as below, is in the run folder too: `tokbench run RUN/config.yaml --root FOLDER`, "
        "where FOLDER is what its relative paths start from."
    )
    yield fenced(config_yaml(run["config"]), "yaml")
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    yield (
        f"Seed {run['intervals']['seed']}, {plural(run['intervals']['resamples'], 'resample')}. "
        f"{versions}. Digest of all exact results: `{run['digest'][:16]}`. Fingerprints of "
        "tokenizers and texts are in `detail.md`."
    )


def fenced(text: str, language: str) -> str:
    """Return a block of code whose fence is longer than any within it.

    >>> print(fenced("a", "yaml"))
    ```yaml
    a
    ```
    """
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def config_yaml(config: Mapping[str, Any]) -> str:
    """Return a config as YAML that `tokbench run` reads; what is not ASCII is spelled out.

    >>> print(config_yaml({"name": "a", "suites": {"x": {}}, "focus": {}, "pivot": None}), end="")
    name: a
    suites: [x]
    """
    from ruamel.yaml import YAML

    out = StringIO()
    writer: Any = YAML(typ="safe", pure=True)
    writer.default_flow_style = None
    writer.allow_unicode = False
    writer.sort_base_mapping_type_on_output = False
    writer.width = 100
    writer.dump(_written(config), out)
    return out.getvalue()


def _written(value: Any) -> Any:
    """Leave out what is empty, but no name of a map from names; names without options are a list."""
    if isinstance(value, Mapping):
        found = {key: _written(inner) for key, inner in value.items()}
        if value and all(isinstance(inner, Mapping) for inner in value.values()):
            return found if any(found.values()) else list(found)
        return {key: inner for key, inner in found.items() if inner not in (None, {}, [], "")}
    return [_written(inner) for inner in value] if isinstance(value, list) else value


def link_line(view: View) -> str:
    """Say where the rest is."""
    page = (
        "[The page](report.html) has charts, other mixes of languages and sorting (in a terminal: "
        "`tokbench show RUN --focus LANGUAGE=SHARE`); "
        if "html" in view.run["config"]["reports"]
        else f"`tokbench report {escape(view.run['name'])}-N --format html` writes the page; "
    )
    return f"{page}[detail.md](detail.md) has every other table and the definitions."
