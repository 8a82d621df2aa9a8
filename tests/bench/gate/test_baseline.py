"""A baseline is one side of a comparison that can be committed and read in a diff."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench import load_config
from tokbench.bench.compare import baseline
from tokbench.bench.compare.comparison import compare
from tokbench.bench.compare.sides import load_gate_base, load_side
from tokbench.bench.compare.snapshot import Key, Snapshot, snapshot_of
from tokbench.bench.config.gate import Gate
from tokbench.bench.errors import ResultsError, UsageError
from tokbench.bench.results.run_folder import Results

MeasureBpe = Callable[..., Results]


@pytest.fixture
def run(measure_bpe: MeasureBpe) -> Results:
    return measure_bpe(keep_ids=False)


def test_a_baseline_says_all_that_its_run_says(run: Results, tmp_path: Path) -> None:
    saved = baseline.save(run, tmp_path / "toy.baseline.json")
    read = load_side(tmp_path / "toy.baseline.json").snapshot
    found = compare(read, saved, Gate())
    assert (found.exit_code, found.counts["same"]) == (0, len(saved.values))


def test_what_is_not_gated_is_left_out_and_no_news_later(
    measure_bpe: MeasureBpe, tmp_path: Path
) -> None:
    rules = [{"metric": "tokens", "gated": False}]
    run = measure_bpe(extra={"gate": {"rules": rules}})
    saved = baseline.save(run, tmp_path / "toy.baseline.json")
    assert {key.metric for key in saved.values} & {"tokens", "rank", "ids"} == {"ids"}
    found = compare(saved, snapshot_of(run), Gate.model_validate({"rules": rules}))
    assert (found.exit_code, found.counts["new"]) == (0, 0)


def test_each_value_has_a_line_that_says_what_it_is_of(run: Results) -> None:
    lines = baseline.render(snapshot_of(run)).splitlines()
    assert '  "bpe / web / en / tokens": 8,' in lines
    assert '  "bpe / web / de / round_trip[class=exact]": 1,' in lines


def test_a_changed_merge_changes_only_the_lines_of_what_moved(measure_bpe: MeasureBpe) -> None:
    before, after = (
        set(baseline.render(snapshot_of(r)).splitlines())
        for r in (measure_bpe("a"), measure_bpe("b", tokenizers={"bpe": ("th", "he", "at")}))
    )
    changed = {line.split('"')[1] for line in after - before if " / " in line}
    assert "bpe / web / en / tokens" in changed
    assert not any(" / de / " in line for line in changed)


def test_no_text_and_no_id_is_in_it(run: Results) -> None:
    text = baseline.render(snapshot_of(run))
    assert "the cat" not in text
    assert "[" not in re.sub(
        r"\w+\[\w+=[^\]]*\]", "", text
    )  # parts of a metric: round_trip[class=exact]


def test_the_order_of_config_keys_does_not_matter(measure_bpe: MeasureBpe) -> None:
    names = ("one", "two")
    texts = {"en": ["the cat"], "de": ["der hut"]}

    def rendered(output: str, order: int) -> Snapshot:
        tokenizers = dict.fromkeys(names[::order], ("th",))
        languages = dict(list(texts.items())[::order])
        return snapshot_of(measure_bpe(output, tokenizers=tokenizers, texts=languages))

    assert baseline.render(rendered("a", 1)) == baseline.render(rendered("b", -1))


def test_the_number_of_workers_does_not_matter(measure_bpe: MeasureBpe) -> None:
    tokenizers = {"one": ("th", "the"), "two": ("at",)}
    rendered = [
        baseline.render(snapshot_of(measure_bpe(f"jobs{n}", jobs=n, tokenizers=tokenizers)))
        for n in (0, 2)
    ]
    assert rendered[0] == rendered[1]


def test_a_run_with_a_failed_cell_is_no_baseline(measure_bpe: MeasureBpe, tmp_path: Path) -> None:
    corpora = {
        "web": {
            "source": "files",
            "languages": {"en": {"file": "toy.en.jsonl"}, "de": {"file": "not-there.jsonl"}},
        }
    }
    broken = measure_bpe(extra={"corpora": corpora})
    with pytest.raises(ResultsError, match="1 cells are not complete, first bpe × web × de"):
        baseline.save(broken, tmp_path / "x.baseline.json")
    assert not (tmp_path / "x.baseline.json").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< HEAD", "not JSON"),
        ("{}", "is not a baseline"),
        ('{"tokbench_baseline": 99, "results_schema": 1}', "nothing to compare"),
        ('{"tokbench_baseline": 1, "results_schema": 99}', "nothing to compare"),
        ('{"tokbench_baseline": 1, "results_schema": 1}', "has no seal .*save it again"),
        ('{"tokbench_baseline": 2, "results_schema": 1}', "has no seal .*save it again"),
        ('{"tokbench_baseline": 2, "results_schema": 1, "seal": "0"}', "seal does not match"),
        ("[" * 100_000, "nested more than 64 levels deep"),
        ('{"tokbench_baseline": NaN}', "NaN is not a JSON value"),
        ('{"tokbench_baseline": 2, "tokbench_baseline": 2}', "occurs twice"),
    ],
)
def test_what_is_no_baseline_is_refused_with_the_reason(
    text: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=said):
        load_side(path)


def test_a_baseline_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="tokbench baseline save RUN FILE"):
        load_side(tmp_path / "none.baseline.json")


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_baseline_may_be_that_of_a_git_revision(
    run: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    saved = baseline.save(run, folder / "a.baseline.json")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "baseline")
    (folder / "a.baseline.json").unlink()
    monkeypatch.chdir(folder)
    assert load_side("HEAD:a.baseline.json").snapshot.values == saved.values
    with pytest.raises(ResultsError, match="fetch-depth: 0"):
        load_side("HEAD:none.baseline.json")


def test_a_gate_names_its_baseline_from_the_folder_of_the_config(
    run: Results, tmp_path: Path
) -> None:
    """In the working folder of this test is neither the file nor a repository that holds it."""
    folder = tmp_path / "repository" / "ci"
    folder.mkdir(parents=True)
    git(folder.parent, "init", "-q")
    saved = baseline.save(run, folder / "a.baseline.json")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "baseline")
    config = {
        "name": "c",
        "corpora": {"sentences": {"source": "builtin", "dataset": "sentences"}},
        "tokenizers": {"b": {"type": "utf8_bytes"}},
    }
    for name in ("a.baseline.json", "HEAD:a.baseline.json"):
        gated = load_config({**config, "gate": {"baseline": name}}, folder=folder)
        assert load_gate_base(gated).snapshot.values == saved.values
        (folder / "a.baseline.json").unlink(missing_ok=True)
    ungated = load_config(config, folder=folder)
    with pytest.raises(UsageError, match="names no baseline; add `gate: {baseline: FILE}`"):
        load_gate_base(ungated)


@pytest.mark.parametrize(
    "key",
    [
        Key("gpt2", "web", "en", "tokens"),
        Key("a/b", "web", None, "round_trip", "class=exact"),
        Key(None, "100%", "*", "x", "a=[1],b=/"),
    ],
)
def test_any_key_survives_being_written(key: Key) -> None:
    assert baseline.parse_key(baseline.key_path(key)) == key


def test_baselines_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("a.baseline.json", "sub/b.baseline.json", ".hidden/c.baseline.json", "d.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}", encoding="utf-8")
    found = [path.name for path in baseline.found_below(tmp_path)]
    assert found == ["a.baseline.json", "b.baseline.json"]
