"""A whole run inside a temporary folder: for figures that must come from the harness itself."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.bench.errors import InputError
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext, TokenizerPlugin, find
from tokbench.bench.progress import FinishedCell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.bench.results.run_folder import Results

Entry = Mapping[str, Any]


class _Silent:
    """A progress that says nothing."""

    def step(self, text: str) -> None:
        """Say nothing."""

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        """Say nothing."""


@contextmanager
def results_of(config: Entry, folder: Path) -> Iterator[Results]:
    """Run a config, given as plain values with paths relative to `folder`, and yield its results.

    The results are gone afterwards. Raises `InputError` when a cell or an input failed.
    """
    from tokbench.bench.config.schema import load_config
    from tokbench.bench.environment import Stopwatch
    from tokbench.bench.run.runner import run

    with tempfile.TemporaryDirectory(prefix="tokbench-") as place:
        path = Path(place) / "config.yaml"
        path.write_text(json.dumps({"reports": [], "resamples": 200, **config}), encoding="utf-8")
        loaded = load_config(path, shown="a config of tokbench's own")
        outcome = run(
            _in_folder(loaded, folder), output=Path(place), progress=_Silent(), watch=Stopwatch()
        )
        if outcome.problems:
            raise InputError("; ".join(outcome.problems[:3]))
        yield outcome.results


def _in_folder(config: Any, folder: Path) -> Any:
    from dataclasses import replace

    return replace(config, folder=folder)


def tokenizer_of(entry: Entry, folder: Path) -> Tokenizer:
    """Load the tokenizer of a config entry; raises `InputError` where it cannot be loaded."""
    options = dict(entry)
    plugin = find(TokenizerPlugin, str(options.pop("type"))).model_validate(options)
    return plugin.load(LoadContext(folder=folder))


def pieces_of(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return the tokens of a text as text; bytes that are no character are escaped."""
    ids = tokenizer.encode_batch([text])[0]
    contents = [tokenizer.vocabulary.token_bytes[int(i)] or b"" for i in ids]
    return [content.decode("utf-8", "backslashreplace") for content in contents]


def values_of(results: Results, metric: str, **params: Any) -> dict[tuple[str, str], float]:
    """Return a metric's values by tokenizer and language, where params hold what is given."""
    rows: Sequence[dict[str, Any]] = results.measurements.to_pylist()
    return {
        (row["tokenizer"], row["language"]): row["value"]
        for row in rows
        if row["metric"] == metric
        and row["value"] is not None
        and params.items() <= json.loads(row["params"]).items()
    }
