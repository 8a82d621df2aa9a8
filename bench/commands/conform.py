"""`tokbench conform`: compare the ids of engines with those of references.

It is a run of one suite, `conformance`, on the tokenizers that it needs: everything else (slices,
worker processes, results) is as in any run. The findings of the suite are read from the results.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tokbench.bench import plugins
from tokbench.bench.config.schema import Config
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import suggest, table
from tokbench.bench.plugins import SuitePlugin
from tokbench.bench.results.run_folder import Results

SUITE = "conformance"
SHOWN = 5
"""Witnesses that are printed for each engine."""


@dataclass(frozen=True, kw_only=True)
class EngineVerdict:
    """The verdict on one engine, and the number of texts behind it."""

    engine: str
    reference: str
    verdict: str
    """`exact`, `exact except`, `wrong` or `not compared`."""
    message: str
    documents: int | None = None
    strings: int | None = None
    unexpected: int | None = None
    """Texts that differ for a reason that the config does not allow."""
    allowed: int | None = None
    """Texts that differ for a reason that the config allows."""
    witnesses: tuple[str, ...] = ()
    """The smallest texts with differences that are not allowed, with both ids."""

    @property
    def right(self) -> bool:
        """Whether the engine produces the expected ids, except where the config allows it."""
        return self.verdict in ("exact", "exact except")


def narrowed(config: Config, engines: Sequence[str], reference: str | None) -> Config:
    """Return a config with the suite `conformance` alone, and the tokenizers that it compares.

    Without `engines`, those of the config's own suite are compared; with them, `reference` or the
    suite's options name the reference. Raises `UsageError` for a name that is not in the config.
    """
    options: dict[str, Any] = dict(config.run.suites.get(SUITE, {}))
    declared = dict(options.get("engines", {}))
    if reference is not None and not engines:
        raise UsageError("--reference requires --engine, the tokenizer to compare with it")
    if engines:
        options["engines"] = {e: reference or _declared(e, declared) for e in engines}
    if not options.get("engines"):
        raise UsageError(
            f"{config.path} configures no engines; give --engine and --reference, or add "
            "`suites: {conformance: {engines: {ENGINE: REFERENCE}}}`"
        )
    suite = plugins.find(SuitePlugin, SUITE).model_validate(options)
    pairs = suite.model_dump()["engines"]
    wanted = {*pairs, *(engine["reference"] for engine in pairs.values())}
    for name in sorted(wanted):
        if name not in config.tokenizers:
            known = suggest(name, config.tokenizers)
            raise UsageError(f"{config.path} has no tokenizer {name!r}{known}")
    kept = {key: entry for key, entry in config.run.tokenizers.items() if key in wanted}
    return replace(
        config,
        run=config.run.model_copy(
            update={"tokenizers": kept, "suites": {SUITE: options}, "reports": {}, "texts": 0}
        ),
        tokenizers={key: config.tokenizers[key] for key in kept},
        suites={SUITE: suite},
    )


def _declared(engine: str, declared: dict[str, Any]) -> Any:
    if engine not in declared:
        raise UsageError(
            f"--engine {engine}: the config names no reference for it; give --reference"
        )
    return declared[engine]


def verdicts(results: Results) -> list[EngineVerdict]:
    """Return the verdict of a run on each engine that its config names, in that order."""
    options = results.run["config"]["suites"].get(SUITE, {})
    rows = [row for row in results.findings.to_pylist() if row["suite"] == SUITE]
    return [
        _verdict(key, engine if isinstance(engine, str) else engine["reference"], rows)
        for key, engine in options.get("engines", {}).items()
    ]


def _verdict(engine: str, reference: str, rows: Sequence[dict[str, Any]]) -> EngineVerdict:
    mine = [row for row in rows if row["tokenizer"] == engine]
    for row in mine:
        data = json.loads(row["data"])
        if "verdict" in data:
            return EngineVerdict(
                engine=engine,
                reference=reference,
                verdict=data["verdict"],
                message=row["message"],
                documents=data["documents"],
                strings=data["strings"],
                unexpected=data["unexpected"],
                allowed=data["allowed"],
                witnesses=_witnesses(rows, engine),
            )
    return EngineVerdict(
        engine=engine, reference=reference, verdict="not compared", message=_why_not(engine, rows)
    )


def _why_not(engine: str, rows: Sequence[dict[str, Any]]) -> str:
    for row in rows:
        asked = json.loads(row["data"]).get("tokenizers", [])
        if row["kind"] == "failure" and engine in (row["tokenizer"], *asked):
            return str(row["message"])
    return "the engine or its reference could not be loaded or counted"


def _witnesses(rows: Sequence[dict[str, Any]], engine: str) -> tuple[str, ...]:
    mine = [row for row in rows if row["tokenizer"] == engine and row["kind"] == "witness"]
    data = [(json.loads(row["data"]), row) for row in mine]
    unexpected = [(one, row) for one, row in data if not one["expected"]]
    unexpected.sort(key=lambda pair: (len(pair[0]["text"]), pair[0]["text"]))
    by_text = {one["text"]: row["message"] for one, row in reversed(unexpected)}
    return tuple(reversed(by_text.values()))


def exit_code(found: Sequence[EngineVerdict]) -> int:
    """Return 1 if an engine is wrong, 3 if one could not be compared, else 0."""
    said = {one.verdict for one in found}
    return 1 if "wrong" in said else 3 if not found or "not compared" in said else 0


def to_json(found: Sequence[EngineVerdict]) -> list[dict[str, Any]]:
    """Return plain values."""
    return [asdict(one) for one in found]


def render(found: Sequence[EngineVerdict]) -> str:
    """Return a table of verdicts, then the smallest witnesses of wrong engines."""
    rows = [[one.engine, one.reference, one.verdict] for one in found]
    parts = [table(["engine", "reference", "verdict"], rows)]
    for one in found:
        lines = [f"{one.engine}: {one.message}"]
        lines += [f"  {text}" for text in one.witnesses[:SHOWN]]
        more = len(one.witnesses) - SHOWN
        lines += [f"  and {more:,} more, in findings.parquet"] if more > 0 else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
