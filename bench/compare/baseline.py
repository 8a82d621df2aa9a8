"""Baselines: one side of a comparison as a small text file that is committed.

A line holds one value and says what it is of, so that a reviewer can read a diff without context.
There are counts, ratios and hashes in it, never a text, an id or a timing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tokbench.bench.compare.snapshot import (
    Key,
    MetricFacts,
    SliceFacts,
    Snapshot,
    TokenizerIdentity,
    Value,
    snapshot_of,
)
from tokbench.bench.config.gate import Gate
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.files import write_whole
from tokbench.bench.model import Place
from tokbench.bench.results.run_folder import SCHEMA_VERSION, Results

FORMAT = 1
SUFFIX = ".baseline.json"


def save(results: Results, path: Path) -> Snapshot:
    """Write the baseline of a finished run: what the gate of its config looks at.

    Raises `ResultsError` when a cell of the run is not ok: a baseline must not leave out what it
    is meant to guard.
    """
    snapshot = snapshot_of(results)
    if snapshot.incomplete:
        cell, reason = next(iter(snapshot.incomplete.items()))
        raise ResultsError(
            f"{results.folder}: {len(snapshot.incomplete)} cells are not complete, first "
            f"{' × '.join(cell)}: {reason}; a baseline of this run would never guard them: repair "
            "the run or take those cells out of its config"
        )
    gate = Gate.model_validate(results.run["config"].get("gate", {}))
    gated = replace(
        snapshot,
        values={key: value for key, value in snapshot.values.items() if _is_gated(key, gate)},
    )
    write_whole(path, render(gated))
    return gated


def _is_gated(key: Key, gate: Gate) -> bool:
    settings = gate.settings(
        metric=key.metric, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language
    )
    return bool(settings.gated)


def render(snapshot: Snapshot) -> str:
    """Return the text of a baseline: JSON, sorted, one value a line."""
    head: dict[str, Any] = {
        "tokbench_baseline": FORMAT,
        "results_schema": SCHEMA_VERSION,
        "name": snapshot.name,
        "policy": snapshot.policy,
        "versions": snapshot.versions,
    }
    blocks = {
        "tokenizers": {name: asdict(t) for name, t in snapshot.tokenizers.items()},
        "slices": {_path(*place): asdict(facts) for place, facts in snapshot.slices.items()},
        "metrics": {name: asdict(facts) for name, facts in snapshot.metrics.items()},
        "values": {key_path(key): _plain(value) for key, value in snapshot.values.items()},
    }
    lines = [f" {_json(name)}: {_json(value)}," for name, value in head.items()]
    for block, entries in blocks.items():
        lines.append(f" {_json(block)}: {{")
        rows = [f"  {_json(name)}: {_json(entries[name])}" for name in sorted(entries)]
        lines.append(",\n".join(rows) + "\n }" + ("" if block == "values" else ","))
    return "{\n" + "\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _plain(value: Value) -> Any:
    """A number or hash stands for itself; whole numbers are written without a fraction."""
    if value.value is None or value.status != "ok":
        return asdict(value)
    if isinstance(value.value, float) and value.value.is_integer():
        return int(value.value)
    return value.value


ALL = "*"


def _path(*parts: str | None) -> str:
    """Join names to a path; `None`, which means all of them, is written as a star.

    >>> _path("gpt2", None, "a/b")
    'gpt2 / * / a%2Fb'
    """
    return " / ".join(ALL if part is None else _escape(part) for part in parts)


def _escape(part: str) -> str:
    return part.replace("%", "%25").replace("/", "%2F").replace("*", "%2A")


def _unescape(part: str) -> str | None:
    if part == ALL:
        return None
    return part.replace("%2A", "*").replace("%2F", "/").replace("%25", "%")


def key_path(key: Key) -> str:
    """Return what a baseline calls a value."""
    return _path(key.tokenizer, key.corpus, key.language, key.name)


def parse_key(path: str) -> Key:
    """Return the key that `key_path` wrote.

    >>> parse_key("gpt2 / web / * / round_trip[class=exact]")
    Key(tokenizer='gpt2', corpus='web', language=None, metric='round_trip', label='class=exact')
    """
    tokenizer, corpus, language, name = (_unescape(part) for part in path.split(" / "))
    metric, _, label = str(name).partition("[")
    return Key(tokenizer, corpus, language, metric, label.removesuffix("]"))


def parse(text: str, name: str) -> Snapshot:
    """Return the snapshot in a baseline's text.

    Raises `ResultsError` when it is no baseline, or one of another version.
    """
    try:
        document = json.loads(text)
    except ValueError as exc:
        raise ResultsError(f"{name}: is no baseline: not JSON ({exc})") from exc
    if not isinstance(document, dict) or "tokbench_baseline" not in document:
        raise ResultsError(
            f"{name}: is no baseline; make one with: tokbench baseline save RUN FILE"
        )
    for key, ours in (("tokbench_baseline", FORMAT), ("results_schema", SCHEMA_VERSION)):
        if document.get(key) != ours:
            raise ResultsError(
                f"{name}: has {key} {document.get(key)}, this tokbench compares {ours}, so there "
                "is nothing to compare; save a new baseline with this version"
            )
    try:
        return _snapshot(document, name)
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise ResultsError(
            f"{name}: is damaged ({type(exc).__name__}: {exc}); save it again, and resolve merge "
            "conflicts in it by saving a new one"
        ) from exc


def _snapshot(document: Mapping[str, Any], name: str) -> Snapshot:
    slices = {}
    for path, facts in document["slices"].items():
        corpus, language = (_unescape(part) or "" for part in path.split(" / "))
        slices[Place(corpus, language)] = SliceFacts(**facts)
    return Snapshot(
        name=name,
        policy=document["policy"],
        versions=document["versions"],
        slices=slices,
        tokenizers={n: TokenizerIdentity(**t) for n, t in document["tokenizers"].items()},
        metrics={n: MetricFacts(**m) for n, m in document["metrics"].items()},
        values={parse_key(path): _value(v) for path, v in document["values"].items()},
    )


def _value(stored: Any) -> Value:
    if isinstance(stored, dict):
        return Value(**stored)
    return Value(value=float(stored) if isinstance(stored, int | float) else str(stored))


def found_below(folder: Path) -> list[Path]:
    """Return the baseline files below a folder, hidden folders left out."""
    return sorted(
        path
        for path in folder.rglob(f"*{SUFFIX}")
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def describe(snapshot: Snapshot) -> str:
    """Return what a baseline guards, in a few lines."""
    languages: dict[str, int] = {}
    for corpus, _ in snapshot.slices:
        languages[corpus] = languages.get(corpus, 0) + 1
    documents: dict[str, int] = {}
    for (corpus, _), facts in snapshot.slices.items():
        documents[corpus] = documents.get(corpus, 0) + facts.documents
    lines = [f"{snapshot.name}: {len(snapshot.values):,} values"]
    lines += [
        f"  corpus {name}: {n} languages, {documents[name]:,} documents"
        for name, n in sorted(languages.items())
    ]
    lines += [
        f"  tokenizer {name}: fingerprint {identity.fingerprint[:12]}"
        for name, identity in sorted(snapshot.tokenizers.items())
    ]
    lines.append("  " + ", ".join(f"{n} {v}" for n, v in sorted(snapshot.versions.items())))
    return "\n".join(lines)


def baseline_path(config_folder: Path, name: str | None, shown: str) -> Path:
    """Return the baseline that a config's gate names; its path starts from the config's folder.

    Raises `UsageError` when the gate names none.
    """
    if name is None:
        raise UsageError(
            f"{shown}: its `gate:` block names no baseline; add `gate: {{baseline: FILE}}`, or "
            "give BASE on the command line"
        )
    return config_folder / name
