"""Write a finished run: the exact files, the noisy ones beside them, `run.json` last."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tokbench.bench.config.schema import Config
from tokbench.bench.config.yaml_text import as_yaml
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.count.tallies import Tallies
from tokbench.bench.count.tally import Cell
from tokbench.bench.environment import library_versions
from tokbench.bench.files import write_whole
from tokbench.bench.model import Finding, Measurement, Place
from tokbench.bench.privacy import stored, stored_setting
from tokbench.bench.results.digest import digest_of
from tokbench.bench.results.documents import documents_tables
from tokbench.bench.results.schemas import (
    FINDINGS,
    SCHEMA_VERSION,
    TIMINGS,
    finding_rows,
    measurement_table,
    table_of,
    write_parquet,
)
from tokbench.bench.results.seal import file_digest, sealed_text
from tokbench.bench.results.vocabulary import kept_vocabulary
from tokbench.bench.run.plan import Plan
from tokbench.bench.timing.contest import Timed


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A finished run, as it is written."""

    config: Config
    plan: Plan
    slices: Mapping[Place, Slice]
    tallies: Tallies
    measurements: Sequence[Measurement]
    """Exact values; the noisy ones are in `timed`."""
    findings: Sequence[Finding]
    timed: Timed
    segments: Mapping[str, pa.Table] = field(default_factory=dict)
    """Documents with their text and tokens, by file name; no digest of values covers them."""


def write_run(folder: Path, record: RunRecord) -> None:
    """Write every file of a run folder but `environment.json` and the reports.

    `run.json` comes last, so that a folder that holds it holds everything. Raises `ResultsError`
    where one cannot be written.
    """
    tallies, timed = record.tallies, record.timed
    tables: dict[str, pa.Table | Iterable[pa.Table]] = {
        "measurements.parquet": measurement_table(record.measurements, tallies),
        "findings.parquet": table_of(finding_rows(record.findings), FINDINGS),
        **_documents(tallies),
        **(_vocabularies(folder, tallies) if record.config.run.keep_ids else {}),
    }
    digests = {name: write_parquet(folder / name, table) for name, table in tables.items()}
    if timed.measurements or timed.samples:
        noisy = measurement_table(timed.measurements, tallies)
        write_parquet(folder / "throughput.parquet", noisy)
        timings = pa.Table.from_pylist([vars(s) for s in timed.samples], schema=TIMINGS)
        write_parquet(folder / "timings.parquet", timings)
    for name, table in record.segments.items():
        write_parquet(folder / name, table, small=True)
    run = run_json(record, digest_of(digests))
    files = {name: file_digest(folder / name) for name in sorted({*digests, *record.segments})}
    write_whole(folder / "config.yaml", as_yaml(run["config"], "Written by tokbench run."))
    write_whole(folder / "run.json", sealed_text({**run, "files": files}))


def _vocabularies(folder: Path, tallies: Tallies) -> dict[str, pa.Table]:
    """Return what the workers kept of each vocabulary whose ids are kept."""
    counted = dict.fromkeys(cell.key.tokenizer for cell in tallies.counted())
    return {
        f"vocabulary/{name}.parquet": kept_vocabulary(
            folder / "cells" / name, tallies.tokenizers[name].fingerprint
        )
        for name in counted
    }


def _documents(tallies: Tallies) -> dict[str, Iterable[pa.Table]]:
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in tallies.counted():
        groups.setdefault((cell.key.tokenizer, cell.key.corpus), []).append(cell)
    return {
        f"documents/{tokenizer}@{corpus}.parquet": documents_tables(cells, tallies)
        for (tokenizer, corpus), cells in groups.items()
    }


def run_json(record: RunRecord, digest: str) -> dict[str, Any]:
    """Return what `run.json` holds: no clock, no host, paths only as the user wrote them."""
    config, tallies = record.config, record.tallies
    return {
        "schema_version": SCHEMA_VERSION,
        "name": config.run.name,
        "config": stored(config.canonical(), config.folder),
        "config_path": stored(config.path, Path.cwd()),
        "overrides": [stored_setting(one, config.folder) for one in config.overrides],
        "plan": record.plan.sha256,
        "policy": {
            "special_tokens": "text",
            "lost_limit": config.run.lost_limit,
            "rank_lost_limit": config.run.rank_limit,
        },
        "intervals": {"level": 0.95, "resamples": config.run.resamples, "seed": config.run.seed},
        "versions": library_versions(),
        "metrics": _metrics(config),
        "tokenizers": {key: asdict(facts) for key, facts in tallies.tokenizers.items()},
        "corpora": stored(_corpora(record), config.folder),
        "cells": [
            {
                **cell.key._asdict(),
                "status": cell.status,
                "n": cell.tally.n,
                "reason": cell.reason,
                "detail": cell.detail,
            }
            for cell in tallies.cells.values()
        ],
        "digest": digest,
    }


def _corpora(record: RunRecord) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for (corpus, language), part in record.slices.items():
        found.setdefault(corpus, {})[language] = json.loads(part.meta.to_json())
    return found


_TOLD = ("formula", "source", "not_meant", "trap")
"""What a metric's entry in `run.json` says besides, where its table says it."""


def _metrics(config: Config) -> dict[str, dict[str, str]]:
    return {
        spec.name: {
            "unit": spec.unit,
            "direction": spec.direction,
            "definition": spec.definition,
            **{name: told for name in _TOLD if (told := getattr(spec, name))},
        }
        for suite in config.suites.values()
        for spec in suite.metrics
    }
