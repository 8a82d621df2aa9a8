"""`pytest --tokbench-gate CONFIG`: the gate as tests, one per tokenizer × corpus × metric.

The tests are known from the baseline, so collecting them measures nothing; the config is run once,
when the first of them is. Values the baseline does not have are no tests. Nothing of tokbench is
imported unless the option is given. `--tokbench-config` is for `suites/perf/test_throughput.py`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tokbench.bench.compare.comparison import Comparison
    from tokbench.bench.compare.snapshot import Key
    from tokbench.bench.compare.verdicts import Verdict
    from tokbench.bench.config.schema import Config

OPTION = "--tokbench-gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    parser.getgroup("tokbench").addoption(
        "--tokbench-config",
        metavar="CONFIG",
        help="Time the cases of this tokbench config under pytest-benchmark (suites/perf).",
    )
    parser.getgroup("tokbench").addoption(
        OPTION,
        metavar="CONFIG",
        action="append",
        default=[],
        help="Run this tokbench config and test it against the baseline its gate names.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of every config given."""
    for path in config.getoption(OPTION):
        gate = GateFile.from_parent(session, path=Path(path).resolve())
        items.extend(gate.collect())


class GateFile(pytest.File):
    """The gate of one config."""

    def collect(self) -> Iterator[GateItem]:
        """Yield a test for each metric of each tokenizer on each corpus of the baseline."""
        groups: dict[str, list[Key]] = {}
        for key in self._baseline_keys():
            groups.setdefault(item_name(key), []).append(key)
        for name, keys in groups.items():
            yield GateItem.from_parent(self, name=name, keys=keys)

    def _baseline_keys(self) -> Iterable[Key]:
        from tokbench.bench.errors import TokbenchError

        try:
            return sorted(self.base.snapshot.values, key=lambda key: key.order())
        except TokbenchError as exc:
            raise pytest.UsageError(f"{OPTION}: {exc}") from exc

    @cached_property
    def loaded(self) -> Config:
        """The config."""
        from tokbench.bench.config.schema import load_config

        return load_config(self.path)

    @cached_property
    def base(self) -> Any:
        """The baseline that the config's gate names."""
        from tokbench.bench.compare.baseline import baseline_path
        from tokbench.bench.compare.sides import load_side

        config = self.loaded
        return load_side(baseline_path(config.folder, config.run.gate.baseline, config.path))

    @cached_property
    def comparison(self) -> Comparison:
        """The baseline against the config, run now."""
        from tokbench.bench.compare.sides import compare_sides, side_of
        from tokbench.bench.run import runner

        with tempfile.TemporaryDirectory(prefix="tokbench-gate-") as folder:
            outcome = runner.run(self.loaded, output=Path(folder), new=True)
            return compare_sides(
                self.base, side_of(outcome.results, self.loaded.path), self.loaded.run.gate
            )

    @cached_property
    def verdicts(self) -> dict[Key, Verdict]:
        """The verdicts by key."""
        return {verdict.key: verdict for verdict in self.comparison.verdicts}


def item_name(key: Key) -> str:
    """Return the short id of the test that a value belongs to.

    >>> from tokbench.bench.compare.snapshot import Key
    >>> item_name(Key("gpt2", "sentences", "en", "tokens"))
    'gpt2-sentences-tokens'
    """
    return "-".join(part for part in (key.tokenizer, key.corpus, key.name) if part)


class GateItem(pytest.Item):
    """One metric of one tokenizer on one corpus, in all its languages."""

    def __init__(self, *, keys: Sequence[Key], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.keys = keys

    def runtest(self) -> None:
        """Fail when a value of this metric fails the gate or cannot be decided."""
        gate = self.parent
        assert isinstance(gate, GateFile)
        verdicts = [gate.verdicts[key] for key in self.keys]
        bad = [verdict for verdict in verdicts if verdict.effect != "passes"]
        if bad:
            raise GateFailure(bad, gate.comparison.mismatches)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """Show figures, not a traceback."""
        if isinstance(excinfo.value, GateFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the config and the test."""
        return self.path, None, f"gate: {self.name}"


class GateFailure(Exception):  # noqa: N818 - a verdict, not a fault
    """What failed, in figures."""

    def __init__(self, verdicts: Sequence[Verdict], mismatches: Sequence[str]) -> None:
        lines = [verdict.in_words() for verdict in verdicts]
        super().__init__("\n".join([*mismatches, *lines]))
