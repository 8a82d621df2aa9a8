"""Baselines: one side of a comparison as a small text file that is committed.

A line holds one value and says what it is of, so that a reviewer can read a diff without context.
It contains counts, ratios and hashes, never a text, an id or a timing.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tokbench.bench.compare.baseline_file import (
    FORMAT,
    BaselineShape,
    StatedShape,
    damaged,
    read_document,
    seal_of,
)
from tokbench.bench.compare.snapshot import (
    IDENTITY_METRICS,
    Key,
    MetricFacts,
    SliceFacts,
    Snapshot,
    TokenizerIdentity,
    Value,
    snapshot_of,
)
from tokbench.bench.config.gate import Gate
from tokbench.bench.errors import ResultsError
from tokbench.bench.files import parse_json, write_whole
from tokbench.bench.markup import one_line, plural, strict_json
from tokbench.bench.model import Place
from tokbench.bench.results.run_folder import Results
from tokbench.bench.results.schemas import SCHEMA_VERSION

SUFFIX = ".baseline.json"


def save(results: Results, path: Path) -> Snapshot:
    """Write the baseline of a finished run: the values that its config's gate checks, and its rules.

    Raises `ResultsError` if a cell or a value of the run is not ok: a baseline must not omit what
    it should guard.
    """
    snapshot = replace(snapshot_of(results), origin="baseline")
    if snapshot.incomplete:
        cell, reason = next(iter(snapshot.incomplete.items()))
        raise ResultsError(
            f"{results.folder}: {len(snapshot.incomplete)} cells are not complete, first "
            f"{' × '.join(cell)}: {reason}; a baseline of this run would not guard them; repair "
            "the run or remove those cells from its config"
        )
    for key, value in snapshot.values.items():
        if value.status not in ("ok", "refused"):
            raise ResultsError(
                f"{results.folder}: {key_path(key)} {value.status}: "
                f"{value.detail or 'no reason recorded'}; a baseline of this run would not guard "
                "it; repair the run or remove that suite from its config"
            )
    gate = Gate(rules=snapshot.rules)
    gated = replace(
        snapshot,
        values={key: value for key, value in snapshot.values.items() if _is_gated(key, gate)},
    )
    text = render(gated)
    parse(text, str(results.folder))  # what could not be read again is not written
    write_whole(path, text)
    return gated


def _is_gated(key: Key, gate: Gate) -> bool:
    settings = gate.settings(
        metric=key.metric, tokenizer=key.tokenizer, corpus=key.corpus, language=key.language
    )
    return bool(settings.gated)


def render(snapshot: Snapshot) -> str:
    """Return the text of a baseline: JSON, sorted, one value a line."""
    document: dict[str, Any] = {
        "tokbench_baseline": FORMAT,
        "results_schema": snapshot.schema,
        "name": snapshot.name,
        "policy": snapshot.policy,
        "versions": snapshot.versions,
        "rules": [rule.model_dump(mode="json", exclude_none=True) for rule in snapshot.rules],
        "tokenizers": {name: asdict(t) for name, t in snapshot.tokenizers.items()},
        "slices": {_path(*place): asdict(facts) for place, facts in snapshot.slices.items()},
        "metrics": {name: asdict(facts) for name, facts in snapshot.metrics.items()},
        "values": {key_path(key): _plain(value) for key, value in snapshot.values.items()},
    }
    if not snapshot.rules:
        del document["rules"]
    document = parse_json(strict_json(document))  # as it will be read
    document = {"tokbench_baseline": FORMAT, "seal": seal_of(document)} | document
    lines = [_line(name, value) for name, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(name: str, value: Any) -> str:
    """Return one key of a baseline; of a block, each entry on a line of its own."""
    if name not in ("tokenizers", "slices", "metrics", "values", "rules") or not value:
        return f" {_json(name)}: {_json(value)}"
    if name == "rules":
        return f" {_json(name)}: [\n" + ",\n".join(f"  {_json(rule)}" for rule in value) + "\n ]"
    rows = [f"  {_json(key)}: {_json(value[key])}" for key in sorted(value)]
    return f" {_json(name)}: {{\n" + ",\n".join(rows) + "\n }"


def _json(value: Any) -> str:
    return strict_json(value, sort_keys=True, indent=None)


def _plain(value: Value) -> Any:
    """Write a number or hash as it is; whole numbers without a fraction."""
    if value.value is None or value.status != "ok":
        return asdict(value)
    if isinstance(value.value, float) and value.value.is_integer() and abs(value.value) < 2**53:
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
    """Return the name of a value in a baseline."""
    return _path(key.tokenizer, key.corpus, key.language, key.name)


def parse_key(path: str) -> Key:
    """Return the key that `key_path` wrote.

    >>> parse_key("gpt2 / web / * / round_trip[class=exact]")
    Key(tokenizer='gpt2', corpus='web', language=None, metric='round_trip', label='class=exact')
    """
    tokenizer, corpus, language, name = (_unescape(part) for part in path.split(" / "))
    metric, _, label = str(name).partition("[")
    return Key(tokenizer, corpus, language, metric, label.removesuffix("]"))


def parse(text: str | bytes, name: str) -> Snapshot:
    """Return the snapshot in a baseline's text.

    Raises `ResultsError` if it is not a baseline, unsealed, damaged, or from a newer tokbench.
    """
    shape = read_document(text, name, SCHEMA_VERSION)
    try:
        snapshot = _snapshot(shape, name)
    except ValueError as exc:  # a path without its four parts
        raise damaged(name, str(exc)) from exc
    for key, value in snapshot.values.items():
        if why := _misfit(key, value, snapshot):
            raise damaged(name, f"the row {key_path(key)!r} {why}")
    return snapshot


def _snapshot(shape: BaselineShape, name: str) -> Snapshot:
    slices = {}
    for path, facts in shape.slices.items():
        corpus, language = (_unescape(part) or "" for part in path.split(" / "))
        slices[Place(corpus, language)] = SliceFacts(**dict(facts))
    return Snapshot(
        name=name,
        policy=shape.policy,
        versions=shape.versions,
        rules=tuple(shape.rules),
        schema=shape.results_schema,
        origin="baseline",
        slices=slices,
        tokenizers={n: TokenizerIdentity(**t.model_dump()) for n, t in shape.tokenizers.items()},
        metrics={n: MetricFacts(**dict(m)) for n, m in shape.metrics.items()},
        values={parse_key(path): _value(v) for path, v in shape.values.items()},
    )


def _value(stored: float | str | StatedShape) -> Value:
    if isinstance(stored, StatedShape):
        return Value(value=_number(stored.value), status=stored.status, detail=stored.detail)
    return Value(value=_number(stored))


def _number(value: float | str | None) -> float | str | None:
    return float(value) if isinstance(value, int | float) else value


def _misfit(key: Key, value: Value, snapshot: Snapshot) -> str | None:
    """Return the mistake in a row; None if it fits the head and its metric."""
    if key.metric not in snapshot.metrics:
        return "is of a metric that the head does not describe"
    if key.tokenizer is not None and key.tokenizer not in snapshot.tokenizers:
        return "is of a tokenizer that the head does not name"
    if key.corpus is not None and (key.corpus, key.language) not in snapshot.places:
        return "is of text that the head does not name"
    if value.status not in ("ok", "refused"):
        return f"has the status {value.status}, which no saved row has"
    if value.value is None:
        stated = value.detail and key.metric not in IDENTITY_METRICS
        return None if stated else "has no value and no reason"
    is_hash = snapshot.metrics[key.metric].unit == "hash"
    return None if isinstance(value.value, str) == is_hash else "has a value of another type"


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
        f"  corpus {name}: {plural(n, 'language')}, {plural(documents[name], 'document')}"
        for name, n in sorted(languages.items())
    ]
    lines += [
        f"  tokenizer {name}: fingerprint {identity.fingerprint[:12]}"
        for name, identity in sorted(snapshot.tokenizers.items())
    ]
    lines.append("  " + ", ".join(f"{n} {v}" for n, v in sorted(snapshot.versions.items())))
    return "\n".join(map(one_line, lines))
