"""The whole of a bisection: probes of a config, versions of a package, a search, the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.commands.bisect.probes import Difference, Probe, VersionAnswers, probe_of
from tokbench.bench.commands.bisect.search import Search, VersionOutcome, search
from tokbench.bench.commands.bisect.versions import VersionEnvironments
from tokbench.bench.config.schema import Config
from tokbench.bench.errors import InputError, TokbenchError, UsageError
from tokbench.bench.markup import plural
from tokbench.bench.plugins import LoadContext
from tokbench.bench.progress import Progress
from tokbench.bench.run.inputs import Prepared, RunContext, prepare
from tokbench.bench.speed.comparison import Pythons, compare_pythons
from tokbench.bench.workers.executors import Executor
from tokbench.bench.workers.sources import library_failures

By = Literal["ids", "size", "speed"]
EXAMPLES = 3
"""Differences whose first text is looked up."""


@dataclass(frozen=True, kw_only=True)
class TriedVersion:
    """One version: its outcome against the good one, and why."""

    version: str
    outcome: VersionOutcome
    reason: str = ""
    differences: Sequence[Difference] = ()


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """What was found, and everything that was tried, oldest version first."""

    package: str
    by: By
    good: str
    bad: str
    found: Search
    tried: Sequence[TriedVersion]
    tokenizers: Sequence[str]
    """Keys of the config's tokenizers that the package encodes for."""

    @property
    def first(self) -> TriedVersion | None:
        """The first version that changed."""
        return next((one for one in self.tried if one.version == self.found.first), None)

    @property
    def exit_code(self) -> int:
        """0 if the version was found, 3 if nothing changed or the bad version cannot be tried."""
        return 0 if self.found.first else 3

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "package": self.package,
            "by": self.by,
            "good": self.good,
            "bad": self.bad,
            "first": self.found.first,
            "last_same": self.found.last_same,
            "unknown": list(self.found.unknown),
            "tokenizers": list(self.tokenizers),
            "tried": [
                {
                    "version": one.version,
                    "outcome": one.outcome,
                    "reason": one.reason,
                    "differences": [difference._asdict() for difference in one.differences],
                }
                for one in self.tried
            ],
        }


@dataclass(kw_only=True)
class Bisecting:
    """The parts of one bisection: config, environments, and what was tried so far."""

    config: Config
    package: str
    environments: VersionEnvironments
    folder: Path
    """Where texts and models for the workers go."""
    progress: Progress
    executor: Executor
    tried: dict[str, TriedVersion] = field(default_factory=dict)

    def run(self, versions: Sequence[str], by: By) -> Bisection:
        """Try versions, the first of which is the good one, until the first changed one is known.

        Raises `UsageError` where no tokenizer of the config uses the package, and `InputError`
        where no corpus can be read or the good version cannot be tried.
        """
        context = RunContext(config=self.config, progress=self.progress, executor=self.executor)
        prepared = prepare(context)
        if not prepared.slices:
            raise InputError(f"no corpus could be read: {'; '.join(prepared.failures.values())}")
        probes = self._probes(prepared, texts=by != "speed")
        good = versions[0]
        try:
            python = self.environments.make(good)
            test = self._tester(by, probes, good, python)
        except TokbenchError as exc:
            if isinstance(exc, UsageError):
                raise
            raise InputError(f"{self.package} {good} (--good): {exc}") from exc
        found = search(versions, self._remembering(test))
        self._add_examples(found, probes, python, by)
        order = [version for version in versions if version in self.tried]
        return Bisection(
            package=self.package,
            by=by,
            good=good,
            bad=versions[-1],
            found=found,
            tried=[self.tried[version] for version in order],
            tokenizers=[probe.key for probe in probes],
        )

    def _probes(self, prepared: Prepared, *, texts: bool) -> list[Probe]:
        """Return the tokenizers that the package encodes for."""
        probes = []
        others = dict(prepared.untrained)
        for key, source in prepared.sources.items():
            folder = self.folder / key
            folder.mkdir()
            try:
                with library_failures(key):
                    spec = source.plugin.bare(LoadContext(folder=source.folder), folder)
            except InputError as exc:
                others[key] = str(exc)
                self.progress.warning(f"left out: {exc}")
                continue
            if spec is None:
                others[key] = "its type requires tokbench"
            elif _library(spec) != _import_name(self.package):
                others[key] = f"it uses {_library(spec)}"
            else:
                slices = prepared.slices if texts else {}
                probes.append(probe_of(source, spec, slices, folder))
        if not probes:
            reasons = "; ".join(f"{key}: {reason}" for key, reason in others.items())
            raise UsageError(f"no tokenizer of the config uses {self.package} ({reasons})")
        return probes

    def _tester(
        self, by: By, probes: Sequence[Probe], good: str, python: Path
    ) -> Callable[[str], TriedVersion]:
        if by == "speed":
            names = {probe.key for probe in probes}
            timed = replace(
                self.config,
                tokenizers={k: v for k, v in self.config.tokenizers.items() if k in names},
            )
            return lambda version: self._by_speed(version, timed, python)
        self.progress.step(f"{self.package} {good}: encoding")
        known = {probe.key: probe.ask(python) for probe in probes}
        return lambda version: self._by_ids(version, by, probes, known)

    def _by_ids(
        self,
        version: str,
        by: Literal["ids", "size"],
        probes: Sequence[Probe],
        known: Mapping[str, VersionAnswers],
    ) -> TriedVersion:
        python = self.environments.make(version)
        self.progress.step(f"{self.package} {version}: encoding")
        found: list[Difference] = []
        calls: set[str] = set()
        for probe in probes:
            before, after = known[probe.key], probe.ask(python)
            found += probe.differences(before, after, by)
            calls |= before.outcomes.keys() & after.outcomes.keys()
        if found:
            return TriedVersion(version=version, outcome="changed", differences=found)
        texts = sum(len(one.documents) for probe in probes for one in probe.texts)
        agreed = f"{plural(len(calls), 'call')} on {plural(texts, 'text')}"
        return TriedVersion(version=version, outcome="same", reason=agreed)

    def _by_speed(self, version: str, config: Config, good: Path) -> TriedVersion:
        sides = Pythons(base=good, candidate=self.environments.make(version))
        self.progress.step(f"{self.package} {version}: timing")
        compared = compare_pythons(
            config, sides, progress=self.progress, executor=self.executor, seed=0
        )
        limits = compared.limits
        moved, open_ = [], []
        for one in compared.verdicts:
            ratio = one.again or one.ratio
            # the whole interval: what got slower is confirmed in fresh processes, this is not
            faster = ratio is not None and ratio.high < 1 / limits.estimate
            if one.outcome == "slower" or (one.outcome == "faster" and faster):
                moved.append(
                    Difference(one.cell, "encode or decode", "time ÷ good", "1", one.in_words())
                )
            elif one.outcome in ("incomparable", "inconclusive"):
                open_.append(one.in_words())
        if moved or not open_:
            outcome: VersionOutcome = "changed" if moved else "same"
            return TriedVersion(version=version, outcome=outcome, differences=moved)
        return TriedVersion(version=version, outcome="skipped", reason=open_[0])

    def _remembering(self, test: Callable[[str], TriedVersion]) -> Callable[[str], VersionOutcome]:
        """Return a test that keeps what it found; a version that cannot be tried is skipped."""

        def outcome(version: str) -> VersionOutcome:
            try:
                tried = test(version)
            except UsageError:
                raise
            except TokbenchError as exc:
                tried = TriedVersion(version=version, outcome="skipped", reason=str(exc))
            self.tried[version] = tried
            self.progress.step(f"{self.package} {version}: {tried.outcome}")
            return tried.outcome

        return outcome

    def _add_examples(self, found: Search, probes: Sequence[Probe], good: Path, by: By) -> None:
        """Look up the first text behind some differences of the version that was found."""
        if found.first is None or by != "ids":
            return
        tried = self.tried[found.first]
        by_key = {probe.key: probe for probe in probes}
        python = self.environments.make(found.first)
        shown = [
            by_key[one.tokenizer].with_example(one, good, python)
            for one in tried.differences[:EXAMPLES]
        ]
        rest = tried.differences[EXAMPLES:]
        self.tried[found.first] = replace(tried, differences=[*shown, *rest])


def _library(spec: Mapping[str, Any]) -> str:
    """Return the module that a worker imports."""
    if spec["library"] == "module":
        return str(spec["factory"]).partition(":")[0].partition(".")[0]
    return str(spec["library"])


def _import_name(package: str) -> str:
    """Return a package's name as its module is usually called.

    >>> _import_name("My-Library")
    'my_library'
    """
    return package.lower().replace("-", "_").replace(".", "_")


def lines_of(found: Bisection) -> Iterator[str]:
    """Yield the answer in sentences."""
    first = found.found.first
    if first is None:
        last = found.tried[-1] if found.tried else None
        if last is not None and last.outcome == "skipped":
            yield f"{found.package} {found.bad} (--bad) cannot be tried: {last.reason}"
        else:
            yield (
                f"{found.package} {found.bad} does not differ from {found.good} in {found.by}: "
                "there is nothing to find"
            )
        return
    yield (
        f"{found.package} {first} is the first version whose {found.by} differ from {found.good}; "
        f"{found.found.last_same} is the last that does not."
    )
    if found.found.unknown:
        yield (
            f"Between them, {', '.join(found.found.unknown)} could not be tried, so the change may "
            "be older."
        )
