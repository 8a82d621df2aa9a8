"""`tokbench plan` says languages once, and with `--estimate` what a run will read and take."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tokbench.bench.commands.upkeep.estimate import _one_after_the_other, forecast
from tokbench.bench.config.schema import load_config
from tokbench.bench.run.plan import make_plan
from tokbench.bench.workers.executors import Inline

Tokbench = Callable[..., subprocess.CompletedProcess[str]]


def config() -> dict[str, object]:
    return {
        "name": "mine",
        "corpora": {"s": {"source": "files", "path": "{language}.txt", "languages": ["en", "fr"]}},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}, "chars": {"type": "characters"}},
    }


def test_languages_are_listed_once_for_all_tokenizers(tmp_path: Path) -> None:
    said = make_plan(load_config(config(), folder=tmp_path)).describe()
    assert said.splitlines() == [
        "mine: 4 cells: 2 tokenizers × 1 corpus",
        "tokenizers: bytes, chars",
        "corpus  languages  which",
        "s               2  en, fr",
    ]


def test_an_estimate_reads_a_part_and_knows_the_size_of_the_whole(tmp_path: Path) -> None:
    for language in ("en", "fr"):
        (tmp_path / f"{language}.txt").write_text("nine char\n" * 5000, encoding="utf-8")
    loaded = load_config(config(), folder=tmp_path)
    found = forecast(loaded, Inline(), jobs=1)
    assert (found.bytes, found.unknown, found.machines) == (100_000, (), 1)
    assert found.problems == ()
    assert 0 < found.seconds < 120
    assert found.disk > 200_000
    few = load_config(config(), overrides=["corpora.s.limit={rows: 100}"], folder=tmp_path)
    assert forecast(few, Inline(), jobs=1).bytes == 1800  # 2 languages × 100 rows × 9 bytes


def test_the_command_gives_the_estimate_and_leaves_nothing_behind(
    tmp_path: Path, tokbench: Tokbench
) -> None:
    for language in ("en", "fr"):
        (tmp_path / f"{language}.txt").write_text("a b\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text(json.dumps(config()), encoding="utf-8")
    done = tokbench(tmp_path, "plan", "c.yaml", "--estimate")
    assert done.returncode == 0, done.stderr
    assert "reads about 0.0 MB of text\ntakes about " in done.stdout
    as_json = json.loads(tokbench(tmp_path, "plan", "c.yaml", "--estimate", "--json").stdout)
    assert as_json["estimate"]["bytes"] == 8
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.yaml", "en.txt", "fr.txt"]


def test_a_run_sets_what_it_took_beside_its_estimate(tmp_path: Path, tokbench: Tokbench) -> None:
    for language in ("en", "fr"):
        (tmp_path / f"{language}.txt").write_text("nine char\n" * 500, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(json.dumps({**config(), "reports": ["detail"]}), "utf-8")
    assert tokbench(tmp_path, "plan", "c.yaml", "--estimate", "--cores", "64").returncode == 0
    assert tokbench(tmp_path, "run", "c.yaml", "--jobs", "0").returncode == 0
    folder = tmp_path / "runs" / "mine-1"
    told = json.loads((folder / "environment.json").read_text(encoding="utf-8"))["estimate"]
    assert told["estimated"]["jobs"] == 64
    assert (told["estimated"]["bytes"], told["measured"]["bytes"]) == (10_000, 9_000)
    assert told["measured"]["disk"] > 9000
    page = (folder / "detail.md").read_text(encoding="utf-8")
    assert "| text, MB | 0.0 | 0.0 |" in page.partition("## Estimate and truth")[2]


def test_languages_are_read_by_one_worker_each() -> None:
    loaded = load_config(
        {
            **config(),
            "corpora": {
                "s": {
                    "source": "builtin",
                    "dataset": "sentences",
                    "languages": ["eng_Latn", "fin_Latn"],
                }
            },
        }
    )
    assert _one_after_the_other(loaded, reading=100.0, rest=60.0, seats=6) == 60.0
