"""Engines held against a reference: exact, exact except, wrong, or not to be compared."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tokbench.bench.commands.conform import EngineVerdict, exit_code, narrowed, verdicts
from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError, UsageError
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.suites.ids.adversarial import adversarial
from tokbench.suites.ids.comparing import has_lone_surrogate
from tokbench.suites.witnesses.fuzz import FuzzText

Measure = Callable[..., RunOutcome]

PIECES = ["the", "th", "e"]
RARE = "²" * 13
"""In one adversarial string alone is this followed by nothing but a 1: the longest of its kind."""
TEXTS = ["the cat", "a cat", "the end of the day", "THE END"]

TOKENIZERS: dict[str, Any] = {
    "reference": {"type": "toy_lenient", "pieces": PIECES},
    "same": {"type": "toy_lenient", "pieces": PIECES},
    "strict": {"type": "toy_pieces", "pieces": PIECES},
    "splits": {"type": "toy_lenient", "pieces": ["tho", "th", "e"]},
    "lowers": {"type": "toy_lenient", "pieces": PIECES, "lowercase": True},
    "larger": {"type": "toy_lenient", "pieces": [*PIECES, "more"]},
    "dies": {"type": "toy_faulty", "word": RARE, "how": "die"},
    "bytes": {"type": "toy_lenient"},
}
ENGINES: dict[str, Any] = {
    "same": "reference",
    "strict": "reference",
    "splits": "reference",
    "lowers": {"reference": "reference", "expected": ["lower_case"]},
    "larger": "reference",
    "dies": "bytes",
    "missing": "reference",
}
CONFIG: dict[str, Any] = {
    "corpora": {"texts": {"source": "files", "path": "texts.jsonl", "language": "en", "id": "id"}},
    "tokenizers": TOKENIZERS,
    "suites": {
        "conformance": {"engines": ENGINES, "fuzz": 1, "longest_run": 4, "code_points": False},
        "fidelity": {},
    },
    "reports": [],
}


def strings() -> list[FuzzText]:
    return adversarial(0, 1, ["<end>"], longest_run=4, code_points=False)


@pytest.fixture(scope="module")
def outcome(measure: Measure) -> RunOutcome:
    return measure(CONFIG, {"texts.jsonl": TEXTS}, jobs=2)


@pytest.fixture(scope="module")
def results(outcome: RunOutcome) -> Results:
    return outcome.results


def said(results: Results, engine: str) -> dict[str, Any]:
    rows = [row for row in results.findings.to_pylist() if row["tokenizer"] == engine]
    (data,) = (d for row in rows if "verdict" in (d := json.loads(row["data"])))
    return dict(data)


def of_engine(results: Results, engine: str) -> EngineVerdict:
    return next(one for one in verdicts(results) if one.engine == engine)


def witnesses(results: Results, engine: str) -> dict[tuple[str | None, str], dict[str, Any]]:
    found = {}
    for row in results.findings.to_pylist():
        if (row["suite"], row["tokenizer"], row["kind"]) == ("conformance", engine, "witness"):
            data = json.loads(row["data"])
            found[row["corpus"], data["class"]] = data
    return found


def nonconforming(results: Results, engine: str, **place: Any) -> Any:
    for row in results.measurements.to_pylist():
        params = json.loads(row["params"])
        here = {"corpus": row["corpus"], "category": params.get("category")}
        if (row["metric"], row["tokenizer"]) == ("nonconforming_texts", engine) and (
            here == {"corpus": None, "category": None, **place}
        ):
            return row["value"], row["n"], params["reasons"]
    raise AssertionError(f"no row of {engine} at {place}")


def test_the_same_ids_everywhere_are_exact(results: Results) -> None:
    data = said(results, "same")
    assert data["verdict"] == "exact"
    assert (data["unexpected"], data["differing"], data["refused_by_both"]) == (0, {}, 0)
    assert data["documents"] == 4
    assert data["strings"] == len(strings())


def test_lone_surrogates_refused_by_the_engine_alone_are_the_exception(results: Results) -> None:
    data = said(results, "strict")
    surrogates = [t for t in strings() if has_lone_surrogate(t.text)]
    assert data["verdict"] == "exact except"
    assert data["differing"] == {"lone_surrogates": len(surrogates)}
    assert nonconforming(results, "strict", category="lone_surrogates")[0] == 0


def test_wrong_ids_are_found_though_every_text_comes_back(results: Results) -> None:
    rounds = [
        row["value"]
        for row in results.measurements.to_pylist()
        if (row["metric"], row["tokenizer"]) == ("round_trip", "splits")
        and json.loads(row["params"])["class"] == "exact"
    ]
    assert rounds == [1.0]
    assert said(results, "splits")["verdict"] == "wrong"
    assert nonconforming(results, "splits", corpus="texts") == (2, 4, {"other": 2})
    witness = witnesses(results, "splits")["texts", "conformance:other"]
    assert witness["text"] == "the"
    assert witness["second_ids"] == [257]  # the
    assert witness["first_ids"] == [258, 259]  # th e
    assert (witness["position"], witness["repeats"], witness["expected"]) == (0, True, False)


def test_what_the_config_allows_is_an_exception_and_nothing_else_is(results: Results) -> None:
    data = said(results, "lowers")
    assert data["verdict"] == "exact except"
    assert list(data["differing"]) == ["lower_case"]
    assert data["allowed"] == data["differing"]["lower_case"] > 100
    assert nonconforming(results, "lowers", corpus="texts") == (0, 4, {"first:lower_case": 1})
    witness = witnesses(results, "lowers")["texts", "conformance:first:lower_case"]
    assert (len(witness["text"]), witness["expected"]) == (1, True)


def test_a_vocabulary_of_another_size_is_an_error_and_nothing_is_compared(
    results: Results, outcome: RunOutcome
) -> None:
    found = of_engine(results, "larger")
    assert found.verdict == "not compared"
    assert "larger has 261 ids where reference has 260" in found.message
    assert any(found.message in problem for problem in outcome.problems)
    assert outcome.exit_code == 3


def test_an_engine_that_is_not_there_is_an_error_that_names_it(results: Results) -> None:
    found = of_engine(results, "missing")
    assert found.verdict == "not compared"
    assert found.message.startswith("tokenizer 'missing' was not loaded in this run")


def test_a_text_that_ends_the_process_makes_an_engine_wrong_and_costs_nobody_else(
    results: Results,
) -> None:
    assert said(results, "dies")["verdict"] == "wrong"
    value, n, reasons = nonconforming(results, "dies", category="digits")
    assert (value, reasons) == (1, {"crashed": 1})
    assert n > 500
    witness = witnesses(results, "dies")[None, "conformance:crashed"]
    assert RARE in witness["text"]
    assert nonconforming(results, "dies", category="special_token_spellings")[0] == 0


def test_the_report_marks_the_speed_of_engines_that_are_not_right(measure: Measure) -> None:
    chosen = ("reference", "same", "splits")
    engines = {"same": "reference", "splits": "reference"}
    suite = {"engines": engines, "fuzz": 0, "longest_run": 1, "code_points": False}
    config = {
        **CONFIG,
        "tokenizers": {key: TOKENIZERS[key] for key in chosen},
        "suites": {
            "conformance": suite,
            "fidelity": {},
            "throughput": {"rounds": 6, "processes": 1},
        },
        "reports": ["markdown", "summary"],
    }
    folder = measure(config, {"texts.jsonl": TEXTS}).results.folder
    report = (folder / "detail.md").read_text(encoding="utf-8")
    conformance = report.partition("## Conformance")[2].partition("\n## ")[0]
    assert "| splits | reference | **wrong** ✗ | 4 |" in conformance
    assert "| same | reference | exact | 4 |" in conformance
    assert "'the' (U+0074 U+0068 U+0065) from token 0 on (258 259 and 257)" in conformance
    speed = report.partition("## Speed")[2].partition("\n## ")[0]
    tables = [line for line in speed.splitlines() if line.startswith("| text | reference |")]
    assert len(tables) == 4  # ratios and figures of encoding, and of decoding
    for heads in tables:
        assert "| splits ✗ |" in heads
        assert heads.count("✗") == 1
    assert "it does other work, so its speed is not comparable" in speed
    summary = (folder / "summary.txt").read_text(encoding="utf-8").splitlines()
    marked = {line.split()[0]: "✗" in line for line in summary if line[:5] in ("same ", "split")}
    assert marked == {"splits": True, "same": False}


def test_the_verdicts_decide_the_exit_code(results: Results) -> None:
    found = {one.engine: one for one in verdicts(results)}
    assert list(found) == list(ENGINES)
    assert exit_code([found["same"], found["strict"]]) == 0
    assert exit_code([found["same"], found["larger"]]) == 3
    assert exit_code([found["larger"], found["splits"]]) == 1
    assert exit_code([]) == 3
    assert "'the'" in found["splits"].witnesses[0]


@pytest.fixture
def config(toys: None, tmp_path: Any) -> Any:
    def made(suites: Any) -> Any:
        path = tmp_path / "config.yaml"
        text = json.dumps({"name": "conform", **CONFIG, "suites": suites})
        path.write_text(text, encoding="utf-8")
        return load_config(path)

    return made


def test_the_command_keeps_what_it_needs_of_a_config(config: Any) -> None:
    asked = narrowed(config({"fidelity": {}}), ["splits", "same"], "reference")
    assert set(asked.tokenizers) == {"splits", "same", "reference"}
    assert list(asked.suites) == ["conformance"]
    of_config = narrowed(
        config({"conformance": {"engines": {"dies": "bytes"}, "fuzz": 7}}), [], None
    )
    assert set(of_config.tokenizers) == {"dies", "bytes"}
    assert of_config.suites["conformance"].model_dump()["fuzz"] == 7


@pytest.mark.parametrize(
    ("engines", "reference", "message"),
    [
        ([], None, "configures no engines"),
        ([], "reference", "--reference requires --engine"),
        (["same"], None, "names no reference for it"),
        (["sam"], "reference", "no tokenizer 'sam'; did you mean 'same'"),
    ],
)
def test_what_the_command_cannot_compare_it_says(
    config: Any, engines: list[str], reference: str | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        narrowed(config({"fidelity": {}}), engines, reference)


def test_an_unknown_explanation_is_refused_in_the_config(config: Any) -> None:
    with pytest.raises(ConfigError, match="unknown explanation 'lower'"):
        config({"conformance": {"engines": {"a": {"reference": "b", "expected": ["lower"]}}}})
