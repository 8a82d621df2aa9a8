"""Reports on a comparison and on several runs: what is said, and that nothing breaks out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from tokbench.bench import plugins
from tokbench.bench.compare.comparison import Comparison, compare
from tokbench.bench.compare.explanation import ChangedPart, Explanation, Segment
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.compare.snapshot import (
    Key,
    SliceFacts,
    Snapshot,
    TokenizerIdentity,
    Value,
    metric_facts,
)
from tokbench.bench.config.gate import Gate, Rule
from tokbench.reports.comparison.short import MOST_BYTES


def key(metric: str, language: str | None = "en", label: str = "") -> Key:
    return Key("bpe", "web", language, metric, label)


def snapshot(name: str, values: Mapping[Key, Any], languages: tuple[str, ...]) -> Snapshot:
    return Snapshot(
        name=name,
        policy={},
        versions={"tokenizers": name},
        slices={("web", x): SliceFacts(sha256=x, documents=2, script="Latn") for x in languages},
        tokenizers={"bpe": TokenizerIdentity(fingerprint="f", parts={})},
        metrics=metric_facts(
            [("tokens", "tokens", "lower"), ("bytes_per_token", "bytes/token", "higher")]
        ),
        values={k: Value(value=v) for k, v in values.items()},
    )


LANGUAGES = ("en", "de", "fr")
SEGMENT = Segment(
    base=(b"a|b", b"\n"),
    candidate=(b"<b>", b"`", b"\xe4"),
    count=3,
    languages=("en",),
    script="Latin",
    category="mixed",
    cause="merges",
)
EXPLANATION = Explanation(
    tokenizer="bpe",
    corpus="web",
    documents=6,
    changed_documents=2,
    base_tokens=100,
    candidate_tokens=103,
    renumbered=0,
    unmatched=0,
    parts_differ=("merges",),
    by={
        "cause": (
            ChangedPart(name="merges", segments=3, base_tokens=6, candidate_tokens=9, added=3),
        )
    },
    top=(SEGMENT,),
    top_documents=(),
)


@pytest.fixture
def comparison() -> Comparison:
    """English got 3 tokens more, German one less, the rest stayed; an id hash changed."""
    before = {key("tokens"): 100.0, key("tokens", "de"): 50.0, key("tokens", "fr"): 20.0}
    before |= {key("bytes_per_token"): 4.0, key("ids"): "aa", key("premium", "de"): 1.0}
    after = before | {key("tokens"): 103.0, key("tokens", "de"): 49.0, key("ids"): "bb"}
    after |= {key("bytes_per_token"): 3.9}
    metrics = {**snapshot("x", {}, ()).metrics, **metric_facts([("premium", "ratio", "lower")])}
    sides = [
        replace(snapshot(name, values, LANGUAGES), metrics=metrics)
        for name, values in (("base", before), ("candidate", after))
    ]
    return replace(compare(*sides, Gate()), explanations=(EXPLANATION,))


def rendered(name: str, comparison: Comparison) -> dict[str, str]:
    return dict(plugins.find(ComparisonPlugin, name)().render(comparison))


def rows(text: str) -> list[list[str]]:
    """Return the cells of all table rows of a Markdown page."""
    return [
        re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")
    ]


def test_the_page_opens_with_the_verdict_and_lists_the_worst_first(comparison: Comparison) -> None:
    page = rendered("markdown", comparison)["comparison.md"]
    assert page.startswith(
        "# base → candidate\n\n**Fails: 2 worse, 1 changed of 6 compared values.**"
    )
    moved = [row for row in rows(page) if row[0].strip() in ("fails", "passes")]
    outcomes = [row[1].strip() for row in moved]
    assert outcomes == ["worse", "worse", "changed", "better"]
    assert moved[0][4].strip() == "tokens"
    assert moved[0][8].strip() == "+3 (+3.0 %)"


def test_the_page_has_a_line_for_each_language_that_moved(comparison: Comparison) -> None:
    page = rendered("markdown", comparison)["comparison.md"]
    lines = {row[0].strip(): row for row in rows(page) if row[0].strip() in LANGUAGES}
    assert set(lines) == {"en", "de"}
    assert [cell.strip() for cell in lines["en"][2:5]] == ["100", "103", "+3.0 %"]


def test_tokens_never_break_a_table(comparison: Comparison) -> None:
    page = rendered("markdown", comparison)["comparison.md"]
    segments = [row for row in rows(page) if "merges" in row[-1]]
    assert len({len(row) for row in segments}) == 1
    assert "<b>" not in page
    assert "&lt;E4&gt;" in page


def test_the_method_is_folded(comparison: Comparison) -> None:
    page = rendered("markdown", comparison)["comparison.md"]
    assert page.index("<details>") < page.index("Exact values are compared one by one")


def test_the_short_form_fits_whatever_was_compared(comparison: Comparison) -> None:
    wide = replace(
        comparison,
        explanations=tuple(
            replace(EXPLANATION, tokenizer=f"t{i}", top=(SEGMENT,) * 20, notes=("n" * 9000,))
            for i in range(30)
        ),
        notes=tuple(f"a long remark {i} " * 200 for i in range(10)),
    )
    short = rendered("short", wide)["comparison-short.md"]
    assert len(short.encode()) <= MOST_BYTES < 65_536
    assert short.count("<details>") == short.count("</details>")
    assert "see comparison.md" in short
    assert len(rendered("short", comparison)["comparison-short.md"]) < 4000


def test_junit_has_a_case_for_each_value_and_a_failure_for_each_that_fails(
    comparison: Comparison,
) -> None:
    root = ElementTree.fromstring(rendered("junit", comparison)["junit.xml"])
    assert root.attrib == {
        "name": "tokbench", "tests": "6", "failures": "3", "errors": "0", "skipped": "0",
    }  # fmt: skip
    failed = {
        case.get("name") for case in root.iter("testcase") if case.find("failure") is not None
    }
    assert failed == {"tokens en", "bytes_per_token en", "ids en"}
    (suite,) = root
    assert suite.get("name") == "bpe.web"


def test_junit_holds_what_xml_cannot(comparison: Comparison) -> None:
    strange = [replace(v, reason="\x00\x1b<&>") for v in comparison.verdicts]
    text = rendered("junit", replace(comparison, verdicts=tuple(strange)))["junit.xml"]
    failure = next(ElementTree.fromstring(text).iter("failure"))
    assert failure.get("message", "").endswith("\\u{0}\\u{1B}<&>")


def test_plots_get_a_file_for_each_direction(comparison: Comparison) -> None:
    files = {name: json.loads(text) for name, text in rendered("benchmark", comparison).items()}
    smaller = {entry["name"]: entry for entry in files["benchmark-smaller-is-better.json"]}
    assert smaller["bpe / web / en / tokens"]["value"] == 103
    assert smaller["bpe / web / en / tokens"]["unit"] == "tokens"
    (bigger,) = files["benchmark-bigger-is-better.json"]
    assert bigger["name"] == "bpe / web / en / bytes_per_token"


def test_json_tells_a_program_what_moved_and_why(comparison: Comparison) -> None:
    document = json.loads(rendered("json", comparison)["comparison.json"])
    assert document["exit_code"] == 1
    assert {v["outcome"] for v in document["verdicts"]} == {"worse", "changed", "better"}
    assert document["explanations"][0]["top"][0]["candidate"] == ["<b>", "`", "<E4>"]


def test_a_terminal_gets_one_line_for_a_pass(comparison: Comparison) -> None:
    same = compare(comparison.base, replace(comparison.base, name="again"), Gate())
    assert rendered("text", same)["comparison.txt"] == (
        "base → again: Passes: all 6 values are the same.\n"
    )


def test_a_comment_leads_with_the_fact_and_folds_the_rest(comparison: Comparison) -> None:
    short = rendered("short", comparison)["comparison-short.md"]
    # 100 + 50 + 20 tokens became 103 + 49 + 20
    assert short.startswith(
        "**bpe: +1.2 % tokens on web** (1 of 3 languages worse; worst en +3.0 %). "
        "Ids changed in 2 of 6 documents.\n\n"
        "Fails: 2 worse, 1 changed of 6 compared values.\n"
    )
    before_fold, _, _folded = short.partition("<details>")
    cells = [[cell.strip() for cell in row] for row in rows(before_fold)]
    assert ["bpe", "web", "170", "172", "+1.2 %", "1 of 3"] in cells
    assert ["en", "100", "103", "+3.0 %"] in cells
    assert ["de", "50", "49", "−2.0 %"] in cells
    assert "a&#124;b" in before_fold  # a segment, before and after
    assert max(len(row) for row in rows(before_fold)) <= 7
    assert "bytes_per_token" not in short  # the same fact in another unit


def test_a_comment_names_five_languages_and_three_segments_at_most(comparison: Comparison) -> None:
    names = tuple(f"l{i}" for i in range(9))
    before = {key("tokens", name): 100.0 for name in names}
    after = {k: 100.0 + i for i, k in enumerate(before)}
    segments = tuple(replace(SEGMENT, cause=f"cause{i}") for i in range(9))
    sides = [snapshot(n, v, names) for n, v in (("a", before), ("b", after))]
    found = replace(
        compare(*sides, Gate()),
        explanations=(replace(EXPLANATION, top=segments, by={"cause": ()}),),
    )
    shown = rendered("short", found)["comparison-short.md"].partition("<details>")[0]
    listed = [row[0].strip() for row in rows(shown)]
    assert [name for name in listed if name in names] == ["l8", "l7", "l6", "l5", "l4"]
    assert [i for i in range(9) if f"cause{i}" in shown] == [0, 1, 2]


def test_a_comment_says_what_rules_let_pass_and_one_line_on_speed(comparison: Comparison) -> None:
    loose = compare(comparison.base, comparison.candidate, Gate(rules=[Rule(allow="anything")]))
    notes = (
        "library versions: x",
        "4 stored ratios compared, 0 moved; stored timing warns and never fails",
    )
    short = rendered("short", replace(loose, notes=notes))["comparison-short.md"]
    shown, _, folded = short.partition("<details>")
    assert "Passes because rules allow 2 worse and 1 changed values" in shown
    assert "4 stored ratios compared" in shown
    assert "library versions" not in shown
    assert "library versions" in folded


def test_names_in_a_comment_are_never_markup(comparison: Comparison) -> None:
    named = replace(
        comparison,
        base=replace(comparison.base, name="x <img src=a> [l](http://evil) **b**\n::error::y"),
        unexplained=("No segments are shown: x <img src=a> [l](http://evil)\n::error::y",),
    )
    short = rendered("short", named)["comparison-short.md"]
    assert "<img" not in short
    assert "](" not in short
    assert not any(line.startswith("::") for line in short.splitlines())
