"""`tokbench check`: one tokenizer, no config, a report of what is sound in it and what is not.

It is a run on bundled text of the suites `health` and `complexity`, and of `conformance` where
another file of the same model is given: everything runs in workers that may be lost. What the
suites found is read from the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.commands import conform
from tokbench.bench.config.resolve import resolve
from tokbench.bench.config.schema import Config, load_config
from tokbench.bench.markup import listed
from tokbench.bench.results.run_folder import Results

Verdict = Literal["pass", "warn", "fail"]

AGAIN = "in-another-process"
"""Key of the same tokenizer, loaded once more in a process of its own."""

FAMILIES = ("words", "letters", "spaces", "digits")
LONGEST = 32_000
"""Code points of the longest text whose time is taken."""
STEEP = 1.3
"""Exponent of time over length above which growth is reported, if the interval lies above it."""


@dataclass(frozen=True, kw_only=True)
class HealthCheck:
    """One line of the report."""

    name: str
    verdict: Verdict
    text: str
    cost: str = ""
    """What follows from it; empty where nothing does."""
    page: str = ""
    """Where in the documentation to read on."""


@dataclass(frozen=True, kw_only=True)
class HealthReport:
    """What was found of one tokenizer."""

    tokenizer: str
    checks: tuple[HealthCheck, ...]
    problems: tuple[str, ...] = ()
    """Why nothing could be checked; empty where the tokenizer was loaded."""

    @property
    def exit_code(self) -> int:
        """0 where all pass or warn, 1 where one fails, 3 where the tokenizer cannot be loaded."""
        if not self.checks:
            return 3
        return 1 if any(check.verdict == "fail" for check in self.checks) else 0

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "tokenizer": self.tokenizer,
            "exit_code": self.exit_code,
            "verdicts": {v: self.count(v) for v in ("pass", "warn", "fail")},
            "checks": [asdict(check) for check in self.checks],
            "problems": list(self.problems),
        }

    def count(self, verdict: str) -> int:
        """Return how many checks came to a verdict."""
        return sum(check.verdict == verdict for check in self.checks)


def config_for(written: str, against: str | None = None, *, growth: bool = True) -> Config:
    """Return the config of a check; relative paths start from the working folder.

    Raises `UsageError` for a name that is unknown, `TokenizerError` for a file that is none.
    """
    found = resolve(written, Path.cwd(), taken=[AGAIN])
    tokenizers: dict[str, Any] = {found.key: dict(found.entry), AGAIN: dict(found.entry)}
    files = {found.key: file} if isinstance(file := found.entry.get("file"), str) else {}
    suites: dict[str, Any] = {"health": {"files": files, "again": [AGAIN]}}
    if growth:
        suites["complexity"] = {
            "families": list(FAMILIES),
            "shortest": LONGEST // 16,
            "longest": LONGEST,
            "seconds": 10,
            "fitted": 4,
        }
    if against is not None:
        other = resolve(against, Path.cwd(), taken=tokenizers)
        tokenizers[other.key] = dict(other.entry)
        engines = {found.key: {"reference": other.key}}
        suites["conformance"] = {
            "engines": engines,
            "fuzz": 40,
            "longest_run": 1000,
            "code_points": False,
        }
    return load_config(
        {
            "name": "check",
            "corpora": {
                "sentences": _bundled("sentences", "eng_Latn"),
                "programs": _bundled("programs", "python"),
            },
            "tokenizers": tokenizers,
            "suites": suites,
            "reports": [],
            "resamples": 200,
        }
    )


def _bundled(dataset: str, pivot: str) -> dict[str, Any]:
    return {"source": "builtin", "dataset": dataset, "parallel": True, "pivot": pivot}


def report_of(config: Config, results: Results) -> HealthReport:
    """Return what a run of a config of `config_for` found."""
    key = next(iter(config.tokenizers))
    rows = results.findings.to_pylist()
    mine = [row for row in rows if row["tokenizer"] == key and row["suite"] == "health"]
    given = [json.loads(row["data"]) for row in mine if row["reason"] == "verdict"]
    checks = [HealthCheck(**one) for one in given]
    if not checks:
        return HealthReport(tokenizer=key, checks=(), problems=_why_not(key, rows, results))
    checks += _broken(mine)
    checks += _fresh_process(key, rows)
    checks += _growth(key, results)
    checks += _agreement(results)
    return HealthReport(tokenizer=key, checks=tuple(checks))


def _why_not(key: str, rows: Sequence[Mapping[str, Any]], results: Results) -> tuple[str, ...]:
    mine = (row["message"] for row in rows if row["tokenizer"] == key and row["kind"] == "failure")
    return tuple(dict.fromkeys(mine)) or tuple(results.problems)


def _broken(rows: Sequence[Mapping[str, Any]]) -> Iterator[HealthCheck]:
    """Yield a fail for what ended a worker, or the suite."""
    messages = [row["message"] for row in rows if row["kind"] == "failure"]
    if messages:
        yield HealthCheck(
            name="survives every text",
            verdict="fail",
            text=listed(messages, 3),
            cost="one such text ends the process of a service",
            page="docs/config.md, limits",
        )


def _fresh_process(key: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[HealthCheck]:
    """Compare the ids of two processes."""
    data = [(row["tokenizer"], json.loads(row["data"])) for row in rows if row["suite"] == "health"]
    hashes = {who: one["ids_sha256"] for who, one in data if "ids_sha256" in one}
    if {key, AGAIN} <= set(hashes):
        same = hashes[key] == hashes[AGAIN]
        yield HealthCheck(
            name="fresh process",
            verdict="pass" if same else "fail",
            text="the same ids in another process" if same else "other ids in another process",
            cost="" if same else "ids that were stored cannot be used by another program",
            page="" if same else "docs/conformance.md",
        )


def _growth(key: str, results: Results) -> Iterator[HealthCheck]:
    rows = [row for row in results.throughput.to_pylist() if row["tokenizer"] == key]
    steep = [
        f"{json.loads(row['params'])['family']}: length^{row['value']:.2f}"
        for row in rows
        if row["metric"] == "growth_exponent" and (row["ci_low"] or 0) > STEEP
    ]
    ended = [
        f"{json.loads(row['params'])['family']}: {row['detail']}"
        for row in rows
        if row["metric"] == "longest_text" and (row["value"] or 0) < LONGEST
    ]
    if not any(row["metric"] == "longest_text" for row in rows):
        return
    texts = f"texts of up to {LONGEST:,} characters ({', '.join(FAMILIES)})"
    if ended or steep:
        yield HealthCheck(
            name="long texts",
            verdict="fail" if ended else "warn",
            text=f"{texts}: {listed([*ended, *steep], 4)}",
            cost="one long line can hold up a service; limit the length of what is encoded at once",
            page="docs/metrics.md, growth_exponent",
        )
    else:
        text = f"time grows no faster than length^{STEEP} on {texts}"
        yield HealthCheck(name="long texts", verdict="pass", text=text)


def _agreement(results: Results) -> Iterator[HealthCheck]:
    """Say whether the other file of the model gives the same ids."""
    for one in conform.verdicts(results):
        verdicts: dict[str, Verdict] = {"wrong": "fail", "not compared": "warn"}
        parts = [one.message, *one.witnesses[:2]]
        yield HealthCheck(
            name=f"against {one.reference}",
            verdict=verdicts.get(one.verdict, "pass"),
            text="; ".join(parts),
            cost="" if one.right else "a model trained with the one reads other ids from the other",
            page="" if one.right else "docs/conformance.md",
        )
