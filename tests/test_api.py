"""`import tokbench`: what it offers, and that it costs nothing until it is used."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import tokbench
from tokbench.bench.results.run_folder import Results
from tokbench.bench.workers.executors import Inline

TEXTS = {"en": "the cat\nthe mat\n", "de": "die Katze\ndie Matte\n"}
CONFIG: dict[str, Any] = {
    "name": "small",
    "corpora": {
        "c": {
            "source": "files",
            "languages": {"en": "en.txt", "de": "de.txt"},
            "parallel": True,
            "pivot": "en",
        }
    },
    "tokenizers": {"bytes": {"type": "utf8_bytes"}, "chars": {"type": "characters"}},
    "reports": [],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("api")
    for language, text in TEXTS.items():
        (made / f"{language}.txt").write_text(text, encoding="utf-8")
    (made / "small.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return tokbench.run(tokbench.load_config(CONFIG, folder=folder), folder / "runs", jobs=0)


# names


def test_the_names_are_those_of_the_api_and_of_its_page() -> None:
    from tokbench import api

    page = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)[(`]", page.split("## Run")[0], re.MULTILINE)
    assert tokbench.__all__ == dir(tokbench) == api.__all__ == sorted(described, key=_as_sorted)
    assert all(hasattr(tokbench, name) for name in tokbench.__all__)


def _as_sorted(name: str) -> tuple[bool, str]:
    return name[0].islower(), name


@pytest.mark.parametrize("name", ["run", "plan", "compare", "load_config", "inspect"])
def test_the_page_has_the_signatures(name: str) -> None:
    page = (Path(__file__).parent.parent / "docs" / "api.md").read_text(encoding="utf-8")
    [described] = re.findall(rf"^\| `{name}\(([^`]*)\)`", page, re.MULTILINE)
    parameters = inspect.signature(getattr(tokbench, name)).parameters.values()
    wanted = [p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters]
    assert [part for part in described.replace('"', "'").split(", ") if part != "*"] == wanted


def test_importing_tokbench_loads_no_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import tokbench; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded - sys.stdlib_module_names == {"tokbench"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="tokbench.*no attribute 'nope'"):
        tokbench.nope  # noqa: B018


# run


def test_a_file_and_a_mapping_give_the_same_values(folder: Path, results: Results) -> None:
    from_file = tokbench.run(folder / "small.yaml", folder / "runs", jobs=0, new=True)
    assert from_file.run["digest"] == results.run["digest"]
    assert (from_file.name, results.name) == ("small-2", "small-1")
    assert from_file.run["config"] == results.run["config"]


def test_a_ready_config_is_known_by_its_name() -> None:
    plan = tokbench.plan("quick")
    assert plan.name == "quick"
    assert {cell.corpus for cell in plan.cells} == {"sentences", "programs"}


def test_what_a_run_survives_is_in_its_problems_and_stays_there(folder: Path) -> None:
    config = {
        **CONFIG,
        "tokenizers": {**CONFIG["tokenizers"], "gone": {"type": "huggingface", "file": "no.json"}},
    }
    ran = tokbench.run(tokbench.load_config(config, folder=folder), folder / "problems", jobs=0)
    [problem] = ran.problems
    assert problem.startswith("gone on c, en and 1 more cell: failed: no.json cannot be read")
    assert tokbench.load_results(ran.folder).problems == [problem]
    assert ran.table("tokens").loc["en", "bytes"] == 14


def test_without_the_file_of_the_machine_the_problems_are_those_of_the_cells(folder: Path) -> None:
    config = {
        **CONFIG,
        "name": "bare",
        "tokenizers": {
            "gone": {"type": "huggingface", "file": "no.json"},
            "bytes": {"type": "utf8_bytes"},
        },
    }
    ran = tokbench.run(tokbench.load_config(config, folder=folder), folder / "problems", jobs=0)
    (ran.folder / "environment.json").unlink()
    assert [problem.split(":")[0] for problem in ran.problems] == ["gone on c, en", "gone on c, de"]


def test_an_executor_takes_the_place_of_the_workers(folder: Path, results: Results) -> None:
    class Counting(Inline):
        n = 0

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            Counting.n += 1
            return super().submit(fn, *args, **kwargs)

    config = tokbench.load_config(CONFIG, folder=folder)
    ran = tokbench.run(config, folder / "executor", executor=Counting())
    assert Counting.n > 0
    assert ran.run["digest"] == results.run["digest"]
    with pytest.raises(tokbench.TokbenchError, match="either jobs or executor"):
        tokbench.run(config, folder / "executor", jobs=1, executor=Inline())


def test_a_progress_hears_every_cell_and_nothing_is_printed(
    folder: Path, listener: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    heard = listener()
    config = tokbench.load_config(CONFIG, folder=folder)
    tokbench.run(config, folder / "heard", jobs=0, progress=heard)
    tokbench.run(config, folder / "heard", jobs=0, new=True)
    assert len(heard.cells) == 4
    assert capfd.readouterr() == ("", "")


# configs


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokenizers": {"a": {"type": "nope"}}}, "<mapping>: tokenizers.a.type: unknown name 'nope'"),
        ({"corpora": {1: {}}}, "<mapping>: corpora: a key must be text, not 1"),
        ({"langs": 1}, "<mapping>: langs: unknown key"),
        ({"corpora": {"c": {"source": "files", "path": {1, 2}}}}, "corpora.c.path: a set cannot be in a config"),
    ],
)  # fmt: skip
def test_mistakes_in_a_mapping_are_named_by_their_keys(change: Any, message: str) -> None:
    with pytest.raises(tokbench.TokbenchError, match=re.escape(message)):
        tokbench.load_config({**CONFIG, **change})


def test_a_mapping_that_contains_itself_is_refused() -> None:
    config: dict[str, Any] = {"name": "loop"}
    config["corpora"] = config
    with pytest.raises(tokbench.TokbenchError, match="corpora: this value contains itself"):
        tokbench.load_config(config)


def test_overrides_and_paths_work_in_a_mapping() -> None:
    config = {
        **CONFIG,
        "corpora": {"c": {"source": "files", "path": Path("a.txt"), "language": "en"}},
    }
    loaded = tokbench.load_config(config, overrides=["seed=7", "corpora.c.path=b.txt"])
    assert (loaded.run.seed, loaded.folder) == (7, Path.cwd())
    assert loaded.canonical()["corpora"]["c"]["path"] == ["b.txt"]


@pytest.mark.parametrize("name", ["quick", "code", "throughput"])
def test_the_config_that_a_run_stores_gives_the_same_plan(name: str) -> None:
    config = tokbench.load_config(name)
    again = tokbench.load_config(config.canonical(), folder=config.folder)
    assert again.canonical() == config.canonical()
    assert tokbench.plan(again) == tokbench.plan(config)


def test_a_run_from_a_mapping_does_not_claim_a_command(folder: Path) -> None:
    config = tokbench.load_config({**CONFIG, "reports": ["markdown"]}, folder=folder)
    ran = tokbench.run(config, folder / "reported", jobs=0)
    report = (ran.folder / "report.md").read_text(encoding="utf-8")
    assert "This run was started from Python" in report
    assert "```\ntokbench run" not in report.split("How to reproduce")[1]


# comparing


def test_results_and_folders_and_baselines_can_be_compared(folder: Path, results: Results) -> None:
    from tokbench.bench.compare.baseline import save

    save(results, folder / "ci.baseline.json")
    again = tokbench.run(tokbench.load_config(CONFIG, folder=folder), folder / "again", jobs=0)
    for base in (results, results.folder, str(folder / "ci.baseline.json")):
        comparison = tokbench.compare(base, again)
        assert isinstance(comparison, tokbench.Comparison)
        assert (comparison.exit_code, comparison.moved) == (0, ())
    with pytest.raises(tokbench.TokbenchError, match="both base and candidate"):
        tokbench.compare(results, results.folder)


def test_the_gate_of_a_config_may_replace_the_candidates(folder: Path, results: Results) -> None:
    fewer = {**CONFIG, "tokenizers": {"bytes": {"type": "utf8_bytes"}}}
    candidate = tokbench.run(tokbench.load_config(fewer, folder=folder), folder / "fewer", jobs=0)
    assert tokbench.compare(results, candidate).exit_code == 3
    gate = {"rules": [{"gated": False}]}
    loaded = tokbench.load_config({**fewer, "gate": gate}, folder=folder)
    assert tokbench.compare(results, candidate, config=loaded).exit_code == 0


# tokenizers


def test_a_tokenizer_is_loaded_by_name_or_by_entry() -> None:
    [ids] = tokbench.load_tokenizer("utf8_bytes").encode_batch(["né"])
    assert [int(i) for i in ids] == [110, 195, 169]
    assert tokbench.load_tokenizer({"type": "characters"}).decode_batch([[110]]) == ["n"]
    with pytest.raises(
        tokbench.TokbenchError, match="unknown tokenizer .utf8_byte.; did you mean .utf8_bytes."
    ):
        tokbench.load_tokenizer("utf8_byte")
    with pytest.raises(tokbench.TokbenchError, match=r"tokenizer\.train: requires a config"):
        tokbench.load_tokenizer({"train": {"trainer": "words", "corpus": "c", "vocab_size": 9}})


def test_an_encoding_of_tiktoken_is_known_by_its_name(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    ids = tokbench.load_tokenizer("o200k_base").encode_batch(["Hello, world!"])[0]
    assert [int(i) for i in ids] == [13225, 11, 2375, 0]


def test_a_text_is_looked_at_with_names_entries_and_loaded_tokenizers() -> None:
    loaded = tokbench.load_tokenizer("utf8_bytes")
    views = tokbench.inspect("né", ["characters", {"type": "utf8_bytes"}, loaded])
    assert [len(view.pieces) for view in views] == [2, 3, 3]
    assert [view.round_trip for view in views] == ["exact"] * 3
    [named] = tokbench.inspect("né", {"mine": loaded})
    assert named.tokenizer == "mine"
