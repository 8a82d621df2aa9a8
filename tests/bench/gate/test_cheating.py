"""What a pull request could bring to pass the gate: baselines, configs and folders of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import tokbench
from tokbench.bench.compare.baseline_file import seal_of
from tokbench.bench.results.run_folder import Results

MeasureBpe = Callable[..., Results]
WORSE = ("th", "he", "at")
"""Without `the` as one token, English takes 10 tokens instead of 8."""

Document = dict[str, Any]
Change = Callable[[Document], object]


@pytest.fixture
def sides(measure_bpe: MeasureBpe, tmp_path: Path) -> tuple[Path, Path]:
    """The baseline of a good run, and a worse run."""
    good = measure_bpe("good").folder
    path = tmp_path / "b.baseline.json"
    assert tokbench("baseline", "save", good, path).exit_code == 0
    return path, measure_bpe("worse", tokenizers={"bpe": WORSE}).folder


def edit(path: Path, change: Change, *, sealed: bool = True) -> None:
    """Change a baseline, and seal it again unless told otherwise."""
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    if sealed:
        document["seal"] = seal_of(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def rows_of(document: Document, *, but: str = "") -> list[str]:
    return [key for key in document["values"] if key.startswith("bpe / ") and key != but]


def drop(document: Document, *, but: str = "") -> None:
    for key in rows_of(document, but=but):
        del document["values"][key]


def fill(document: Document, value: object) -> None:
    for key in rows_of(document):
        document["values"][key] = value


def test_an_edited_value_breaks_the_seal(sides: tuple[Path, Path]) -> None:
    path, worse = sides
    edit(path, lambda d: d["values"].update({"bpe / web / en / tokens": 10}), sealed=False)
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "is damaged or was edited: its seal does not match its content" in done.output


def test_line_ends_and_indentation_do_not_break_the_seal(sides: tuple[Path, Path]) -> None:
    path, worse = sides
    text = json.dumps(json.loads(path.read_text(encoding="utf-8")), indent=3)
    path.write_text(text, encoding="utf-8", newline="\r\n")
    assert tokbench("compare", path, worse).exit_code == 1


def test_rows_that_the_head_names_are_missing_and_not_decided(sides: tuple[Path, Path]) -> None:
    path, worse = sides
    kept = "bpe / web / en / bytes_per_token"
    edit(path, lambda d: drop(d, but=kept))
    edit(path, lambda d: d["values"].update({kept: 1}))  # so that it looks like an improvement
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "Not decided:" in done.output
    assert "the base names it but has no such row" in done.output


def test_a_baseline_without_any_row_is_damage(sides: tuple[Path, Path]) -> None:
    path, worse = sides
    edit(path, lambda d: d["values"].clear())
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "values: Dictionary should have at least 1 item" in done.output


def test_a_tokenizer_that_only_the_head_names_is_missing_also_where_the_candidate_dropped_it(
    measure_bpe: MeasureBpe, tmp_path: Path
) -> None:
    two = measure_bpe("two", tokenizers={"bpe": ("th",), "other": ("th",)}).folder
    path = tmp_path / "b.baseline.json"
    tokbench("baseline", "save", two, path)
    edit(path, drop)
    one = measure_bpe("one", tokenizers={"other": ("th",)}).folder
    done = tokbench("compare", path, one)
    assert done.exit_code == 3
    assert "missing" in done.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: fill(d, {"value": None, "status": "failed", "detail": None}), "status failed"),
        (lambda d: fill(d, {"value": None, "status": "refused", "detail": None}), "no reason"),
        (lambda d: fill(d, {"value": None, "status": "ok", "detail": "x"}), "no reason"),
        (lambda d: fill(d, None), "Input should be a valid"),
        (lambda d: fill(d, True), "Input should be a valid"),
        (lambda d: fill(d, "0"), "another type"),
        (lambda d: d.update(slices={}), "slices: Dictionary should have at least 1 item"),
        (lambda d: d["slices"].pop("web / en"), "is of text that the head does not name"),
        (lambda d: d.update(tokenizers={}), "tokenizers: Dictionary should have at least 1"),
        (lambda d: d["metrics"].pop("tokens"), "a metric that the head does not describe"),
        (lambda d: d["metrics"]["tokens"].update(direction="up"), "metrics.tokens.direction"),
        (lambda d: d["slices"]["web / en"].update(sha256=5), "slices.web / en.sha256"),
        (lambda d: d["slices"]["web / en"].update(documents="2"), "slices.web / en.documents"),
        (lambda d: d["tokenizers"]["bpe"].update(fingerprint=None), "tokenizers.bpe.fingerprint"),
        (lambda d: d["tokenizers"]["bpe"].update(parts=[1]), "tokenizers.bpe.parts"),
        (lambda d: d.update(policy=True), "policy"),
        (lambda d: d.update(versions={"numpy": 2}), "versions.numpy"),
        (lambda d: d.update(rules=[{"metric": "tokens"}]), "a rule must set at least one of"),
        (lambda d: d.update(rules=[{"tolerance": 2}]), "rules.0.tolerance"),
        (lambda d: d.update(results_schema="1"), "results_schema"),
        (lambda d: d.update(note="x"), "note: Extra inputs"),
        (lambda d: d["values"].update({"bpe / web / tokens": 1}), "values to unpack"),
    ],
)
def test_a_baseline_of_another_shape_is_damage_whoever_sealed_it(
    change: Change, said: str, sides: tuple[Path, Path]
) -> None:
    path, worse = sides
    edit(path, change)
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "is damaged or was edited" in done.output
    assert said in done.output


@pytest.mark.parametrize(
    "old_new",
    [
        ('"bpe / web / en / tokens": 8', '"bpe / web / en / tokens": NaN'),
        ('"bpe / web / en / tokens": 8', '"bpe / web / en / tokens": -Infinity'),
        ('"bpe / web / en / tokens": 8', '"bpe / web / en / tokens": 1e400'),
        ('"bpe / web / en / tokens": 8', f'"bpe / web / en / tokens": {"9" * 401}'),
        ('"bpe / web / en / tokens": 8', f'"bpe / web / en / tokens": {"[" * 100_000}'),
        ('"values": {', '"values": {}, "values": {'),
    ],
)
def test_a_baseline_is_strict_json(old_new: tuple[str, str], sides: tuple[Path, Path]) -> None:
    path, worse = sides
    text = path.read_text(encoding="utf-8")
    assert old_new[0] in text
    path.write_text(text.replace(*old_new), encoding="utf-8")
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "is not a baseline: not JSON" in done.output


def test_a_baseline_that_never_ends_is_not_read(sides: tuple[Path, Path]) -> None:
    path, worse = sides
    path.unlink()
    path.symlink_to("/dev/zero")
    done = tokbench("compare", path, worse)
    assert done.exit_code == 3
    assert "is not a regular file" in done.output


def test_a_side_is_never_compared_with_itself(measure_bpe: MeasureBpe, tmp_path: Path) -> None:
    run = measure_bpe(extra={"gate": {"baseline": "runs/toy-1"}}).folder
    link = tmp_path / "link"
    link.symlink_to(run)
    for arguments in ((run, run), (run, link), ("--config", tmp_path / "toy.yaml", run)):
        done = tokbench("compare", *arguments)
        assert done.exit_code == 3
        assert "is both base and candidate" in done.output


def test_a_baseline_of_that_very_run_and_an_equal_run_pass(
    measure_bpe: MeasureBpe, tmp_path: Path
) -> None:
    run = measure_bpe("a").folder
    tokbench("baseline", "save", run, tmp_path / "b.baseline.json")
    again = measure_bpe("b").folder
    for base in (tmp_path / "b.baseline.json", again):
        done = tokbench("compare", base, run)
        assert done.exit_code == 0
        assert "Passes: all" in done.output


LOOSE = {"gate": {"rules": [{"allow": "anything"}]}}


def test_the_headline_says_what_the_candidates_rules_let_pass(
    sides: tuple[Path, Path], measure_bpe: MeasureBpe
) -> None:
    path, _ = sides
    loose = measure_bpe("loose", tokenizers={"bpe": WORSE}, extra=LOOSE).folder
    document = json.loads(tokbench("compare", path, loose, "--json").output)
    worse, changed = (document["counts"][name] for name in ("worse", "changed"))
    assert document["exit_code"] == 0
    assert document["sentence"].startswith(
        f"Passes because rules of the candidate allow {worse} worse and {changed} changed values: "
    )
    assert document["let_pass"] == {"worse": worse, "changed": changed}
    said = " ".join(document["on_rules"])
    assert "The base has no rules: those of the candidate apply." in said
    assert 'only in the candidate: {"allow": "anything"}' in said
    assert f"Without rules: Fails: {worse} worse, {changed} changed" in said


def test_a_tolerance_and_a_turned_direction_count_as_let_pass(
    sides: tuple[Path, Path], measure_bpe: MeasureBpe
) -> None:
    path, _ = sides
    rules = [
        {"gated": False},
        {"metric": "tokens", "gated": True, "direction": "higher"},
        {"metric": "bytes_per_token", "gated": True, "tolerance": 0.9},
    ]
    loose = measure_bpe("l", tokenizers={"bpe": WORSE}, extra={"gate": {"rules": rules}}).folder
    strict = json.loads(tokbench("compare", *sides, "--json").output)
    found = json.loads(tokbench("compare", path, loose, "--json").output)
    assert found["exit_code"] == 0
    assert found["let_pass"] == {
        "worse": strict["counts"]["worse"], "changed": strict["counts"]["changed"],
    }  # fmt: skip


def test_the_rules_of_the_base_decide_where_it_has_some(
    measure_bpe: MeasureBpe, tmp_path: Path
) -> None:
    rules = [{"metric": "space_initial_share", "gated": False}]
    good = measure_bpe("good", extra={"gate": {"rules": rules}}).folder
    path = tmp_path / "b.baseline.json"
    tokbench("baseline", "save", good, path)
    assert json.loads(path.read_text())["rules"] == [
        {"metric": ["space_initial_share"], "gated": False}
    ]
    loose = measure_bpe("loose", tokenizers={"bpe": WORSE}, extra=LOOSE).folder
    done = tokbench("compare", path, loose)
    assert done.exit_code == 1
    assert "Under the rules of the base, which decide here: Fails:" in done.output
    assert "Under the rules of the candidate: Passes because rules allow" in done.output
    assert tokbench("compare", path, loose, "--rules", "candidate").exit_code == 0
    assert tokbench("compare", path, loose, "--rules", "base").exit_code == 1


@pytest.mark.parametrize("value", [".inf", ".nan", "1e999"])
def test_no_tolerance_is_infinite(value: str, tmp_path: Path, write_config: Any) -> None:
    path = write_config()
    done = tokbench("validate", path, "--set", f"gate.rules=[{{absolute_tolerance: {value}}}]")
    assert done.exit_code == 2
    assert "absolute_tolerance" in done.output


def test_a_bound_of_speed_is_finite(write_config: Any) -> None:
    done = tokbench("validate", write_config(), "--set", "gate.speed.estimate=.inf")
    assert done.exit_code == 2


def test_the_title_is_a_relative_path_wherever_the_config_is(
    sides: tuple[Path, Path], tmp_path: Path, write_config: Any
) -> None:
    path, worse = sides
    config = write_config(extra={"gate": {"baseline": path.name}})
    tokbench("compare", "--config", config, worse, "--output", tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert str(tmp_path) not in file.read_text(encoding="utf-8"), file.name


def test_a_run_saved_with_a_failed_suite_is_no_baseline_and_files_are_left_alone(
    sides: tuple[Path, Path], tmp_path: Path
) -> None:
    path, worse = sides
    before = path.read_bytes()
    shutil.rmtree(worse / "documents")
    done = tokbench("baseline", "save", worse, path)
    assert done.exit_code == 3
    assert path.read_bytes() == before


def test_titles_of_two_runs_of_one_name_differ(measure_bpe: MeasureBpe) -> None:
    first, second = measure_bpe("a").folder, measure_bpe("b").folder
    assert first.name == second.name
    done = tokbench("compare", first, second)
    assert done.output.startswith("…/a/toy-1 → …/b/toy-1: Passes")
