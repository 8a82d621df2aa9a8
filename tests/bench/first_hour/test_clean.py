"""`tokbench clean` lists first, removes what can be made again, and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import filelock
import pytest

from tokbench.bench.commands.upkeep.clean import removable, remove
from tokbench.bench.config.schema import load_config
from tokbench.bench.run import runner
from tokbench.bench.run.runner import RunOutcome

Tokbench = Callable[..., subprocess.CompletedProcess[str]]

CONFIG = {
    "name": "mine",
    "corpora": {"s": {"source": "files", "path": "s.txt", "language": "en"}},
    "tokenizers": {"bytes": {"type": "utf8_bytes"}},
    "suites": ["efficiency"],
    "reports": [],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "s.txt").write_text("one\ntwo\n", encoding="utf-8")
    (tmp_path / "c.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


def run(folder: Path, *, keep_cells: bool) -> RunOutcome:
    config = load_config(folder / "c.yaml")
    return runner.run(config, output=folder / "runs", new=True, keep_cells=keep_cells)


def test_cells_go_when_every_cell_is_complete_unless_they_are_kept(folder: Path) -> None:
    assert not (run(folder, keep_cells=False).results.folder / "cells").exists()
    kept = run(folder, keep_cells=True).results.folder
    assert (kept / "cells" / "bytes" / "s" / "en.cell").is_file()


def test_cells_stay_where_one_failed(folder: Path) -> None:
    broken = {"type": "huggingface", "file": "gone.json"}
    config = {**CONFIG, "tokenizers": {"bytes": {"type": "utf8_bytes"}, "broken": broken}}
    loaded = load_config(config, folder=folder)
    outcome = runner.run(loaded, output=folder / "runs", keep_cells=False)
    assert (outcome.results.folder / "cells" / "bytes").is_dir()


def test_what_can_go_is_listed_and_only_removed_when_asked(
    folder: Path, tokbench: Tokbench
) -> None:
    results = run(folder, keep_cells=True).results
    old = folder / "cache" / "slices" / ".building-old"
    old.mkdir()
    os.utime(old, (0, 0))
    listed = tokbench(folder, "clean", "--json")
    kinds = sorted(entry["kind"] for entry in json.loads(listed.stdout)["entries"])
    assert (listed.returncode, kinds) == (0, ["caches", "cells", "half-built"])
    assert (results.folder / "cells").exists()
    done = tokbench(folder, "clean", "--yes")
    assert done.stdout.splitlines()[-1].startswith("removed ")
    assert not (results.folder / "cells").exists()
    assert not old.exists()
    assert list((folder / "cache" / "slices").iterdir()) == []
    results.check()
    assert tokbench(folder, "clean").stdout == "nothing to remove\n"


def test_what_a_process_works_in_stays(folder: Path) -> None:
    results = run(folder, keep_cells=True).results
    building = folder / "cache" / "slices" / ".building-now"
    building.mkdir()
    with (
        filelock.FileLock(building / ".lock"),
        filelock.FileLock(results.folder / ".lock"),
    ):
        assert [one.kind for one in removable(folder / "runs", ["half-built", "cells"])] == []


def test_a_link_to_another_folder_is_not_followed(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    (elsewhere / "cells").mkdir(parents=True)
    (elsewhere / "plan.json").write_text("{}", encoding="utf-8")
    (folder / "runs").mkdir()
    (folder / "runs" / "linked").symlink_to(elsewhere)
    assert removable(folder / "runs", ["cells"]) == []


def test_cells_of_an_unfinished_run_go_after_a_week(folder: Path) -> None:
    unfinished = folder / "runs" / "mine-1"
    (unfinished / "cells").mkdir(parents=True)
    plan = unfinished / "plan.json"
    plan.write_text('{"finished": false}', encoding="utf-8")
    assert removable(folder / "runs", ["cells"]) == []
    os.utime(plan, (time.time() - 8 * 24 * 3600,) * 2)
    [one] = removable(folder / "runs", ["cells"])
    assert remove([one]) == []
    assert not (unfinished / "cells").exists()


def test_a_run_folder_holds_its_config_which_gives_the_same_run_from_the_working_folder(
    folder: Path, tokbench: Tokbench
) -> None:
    first = run(folder, keep_cells=False).results
    config = first.folder / "config.yaml"
    assert load_config(config, folder=folder).sha256() == load_config(folder / "c.yaml").sha256()
    command = ["run", str(config), "--output", "again", "--quiet"]
    done = tokbench(folder, *command)
    assert done.returncode == 0, done.stderr
    (folder / "other").mkdir()
    moved = tokbench(folder / "other", *command, "--root", "..")
    assert moved.returncode == 0, moved.stderr
    for again in (folder / "again" / "mine-1", folder / "other" / "again" / "mine-1"):
        digest = json.loads((again / "run.json").read_text())["digest"]
        assert digest == first.run["digest"]
        assert not (again / "cells").exists()
