"""`pytest --tokbench-gate CONFIG`: the gate as tests, one per tokenizer × corpus × metric.

The tests are known from the baseline, so collecting them measures nothing; the config is run once,
when the first of them is, in guarded workers. Values that are missing from the baseline have no
tests of their own; one test checks that the baseline is complete. Nothing of tokbench is imported
unless the option is given. `--tokbench-config` is for `suites/perf/test_throughput.py`.
"""

from __future__ import annotations

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
    from tokbench.bench.errors import TokbenchError

OPTION = "--tokbench-gate"
GATES: pytest.StashKey[list[GateFile]] = pytest.StashKey()


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
        help="Run this tokbench config and test it against the baseline of its gate.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the tests of every config given."""
    gates = config.stash.setdefault(GATES, [])
    for path in config.getoption(OPTION):
        gate = GateFile.from_parent(session, path=Path(path).resolve())
        gates.append(gate)
        items.extend(gate.collect())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report the verdict of each gate in one sentence, and whose rules decided."""
    for gate in config.stash.get(GATES, []):
        for line in gate.said():
            terminalreporter.write_line(line)


class GateFile(pytest.File):
    """The gate of one config."""

    def collect(self) -> Iterator[GateItem]:
        """Yield a test for each metric of each tokenizer on each corpus of the baseline."""
        groups: dict[str, list[Key]] = {}
        for key in self._baseline_keys():
            groups.setdefault(item_name(key), []).append(key)
        for name, keys in groups.items():
            yield GateItem.from_parent(self, name=name, keys=keys)
        yield WholeItem.from_parent(self, name="baseline-is-whole", keys=[])

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
        from tokbench.bench.compare.sides import load_gate_base

        return load_gate_base(self.loaded)

    @cached_property
    def outcome(self) -> Comparison | TokbenchError:
        """The comparison of the baseline with a run of the config, or the error."""
        from tokbench.bench.errors import TokbenchError

        try:
            return self._compare()
        except TokbenchError as exc:  # kept, so that not every test runs the config again
            return exc

    def _compare(self) -> Comparison:
        """Run the config in worker processes, as `tokbench run` does, and compare."""
        from dataclasses import replace

        from tokbench.bench.cache import scratch_folder
        from tokbench.bench.compare.sides import compare_sides, side_of
        from tokbench.bench.progress import SILENT
        from tokbench.bench.run import runner
        from tokbench.bench.workers.executors import executor

        with (
            scratch_folder("gate") as folder,
            executor(None, SILENT) as workers,
        ):
            shown_nowhere = {"reports": {}, "texts": 0}
            config = replace(self.loaded, run=self.loaded.run.model_copy(update=shown_nowhere))
            done = runner.run(config, output=folder, new=True, executor=workers)
            side = side_of(done.results, self.path.name)
            return compare_sides(self.base, side, self.loaded.run.gate)

    @property
    def comparison(self) -> Comparison:
        """The comparison; raises `TokbenchError` if it failed."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    @cached_property
    def verdicts(self) -> dict[Key, Verdict]:
        """The verdicts by key."""
        return {verdict.key: verdict for verdict in self.comparison.verdicts}

    def said(self) -> list[str]:
        """Return the verdict in one sentence and the notes on rules; nothing before the run."""
        found = self.__dict__.get("outcome")
        if found is None or isinstance(found, Exception):
            return []
        return [f"tokbench gate, {self.path.name}: {found.sentence()}", *found.on_rules]


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
        """Fail if a value of this metric fails the gate or cannot be decided."""
        gate = self.parent
        assert isinstance(gate, GateFile)
        verdicts = [gate.verdicts[key] for key in self.keys]
        bad = [verdict for verdict in verdicts if verdict.effect != "passes"]
        if bad:
            raise GateFailure(bad, gate.comparison.mismatches)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """Show figures or the error, not a traceback."""
        from tokbench.bench.errors import TokbenchError

        if isinstance(excinfo.value, GateFailure | TokbenchError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the config and the test."""
        return self.path, None, f"gate: {self.name}"


class WholeItem(GateItem):
    """Values missing from the baseline by its own head, and cells that failed."""

    def runtest(self) -> None:
        """Fail if a value without a test of its own fails the gate or cannot be decided."""
        gate = self.parent
        assert isinstance(gate, GateFile)
        known = gate.base.snapshot.values
        bad = [v for v in gate.comparison.verdicts if v.effect != "passes" and v.key not in known]
        if bad or gate.comparison.mismatches:
            raise GateFailure(bad, gate.comparison.mismatches)


class GateFailure(Exception):  # noqa: N818 - a verdict, not a fault
    """What failed, in figures."""

    def __init__(self, verdicts: Sequence[Verdict], mismatches: Sequence[str]) -> None:
        lines = [verdict.in_words() for verdict in verdicts]
        super().__init__("\n".join([*mismatches, *lines]))
