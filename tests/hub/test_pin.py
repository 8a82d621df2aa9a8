"""`tokbench pin` against a Hub of the tests' own, and a run that one data set cannot stop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from stub_hub import COMMIT, REFUSALS, Fault, parquet

from tokbench.bench.results.run_folder import load_results

CONFIG = """\
# a comment that stays
name: mixed
corpora:
  ours: {source: builtin, dataset: sentences, languages: [eng_Latn]}
  theirs:
    source: huggingface
    path: owner/texts  # on the Hub
    language: eng_Latn
  gone: {source: huggingface, path: owner/gone, language: eng_Latn}
tokenizers:
  bytes: {type: utf8_bytes}
suites: [efficiency]
reports: []
"""


@pytest.fixture
def tokbench(hub, environment, tmp_path):
    hub.add("datasets/owner/texts", {"data/train.parquet": parquet("one", "two")})
    (tmp_path / "mixed.yaml").write_text(CONFIG, encoding="utf-8")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "tokbench", *arguments],
            env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        assert environment["HF_TOKEN"] not in done.stdout + done.stderr
        return done

    return run


def test_pin_writes_commits_and_tells_what_it_cannot(tokbench, tmp_path: Path) -> None:
    done = tokbench("pin", "mixed.yaml")
    assert (done.returncode, done.stdout) == (3, f"corpora.theirs: {COMMIT}\n")
    assert "corpora.gone: owner/gone does not exist on the Hub, or is private" in done.stderr
    text = (tmp_path / "mixed.yaml").read_text(encoding="utf-8")
    line = "    path: owner/texts  # on the Hub\n"
    assert text == CONFIG.replace(line, f"{line}    revision: {COMMIT}\n")


def test_a_data_set_that_is_not_there_costs_its_cells(
    tokbench, environment, tmp_path: Path
) -> None:
    done = tokbench("run", "mixed.yaml", "--jobs", "1")
    assert done.returncode == 3, done.stderr
    cells = load_results(tmp_path / "runs" / "mixed-1").run["cells"]
    assert {c["corpus"]: c["status"] for c in cells} == {
        "ours": "ok", "theirs": "ok", "gone": "failed",
    }  # fmt: skip
    for path in (tmp_path / "runs").rglob("*"):
        assert path.is_dir() or environment["HF_TOKEN"].encode() not in path.read_bytes()


def test_validate_warns_of_open_revisions_and_tells_what_the_hub_refuses(tokbench) -> None:
    done = tokbench("validate", "mixed.yaml")
    assert (done.returncode, done.stdout) == (3, "")
    assert "warning: corpora.theirs: owner/texts with no revision is not pinned" in done.stderr
    assert "error: corpora.gone: owner/gone does not exist on the Hub" in done.stderr
    assert "error: corpora.theirs" not in done.stderr


def test_validate_refuses_what_a_script_makes(tokbench, hub) -> None:
    hub.add("datasets/owner/gone", {"gone.py": b"", "README.md": b""})
    done = tokbench("validate", "mixed.yaml")
    assert done.returncode == 2
    assert "error: corpora.gone: data set 'owner/gone' requires a loading script" in done.stderr
    assert "revision refs/convert/parquet" in done.stderr


@pytest.mark.parametrize("offline", [True, False])
def test_validate_asks_nobody_offline_and_goes_on_where_nobody_answers(
    tokbench, hub, offline
) -> None:
    if not offline:
        hub.stop()
    hub.requests.clear()
    done = tokbench("validate", "mixed.yaml", *["--offline"] * offline)
    assert (done.returncode, done.stdout) == (0, "mixed.yaml: fine\n")
    assert ("warning: corpora.theirs: owner/texts cannot be reached" in done.stderr) != offline
    assert hub.requests == []


def test_a_run_refuses_what_a_script_makes_and_measures_the_rest(tokbench, hub, tmp_path) -> None:
    hub.add("datasets/owner/gone", {"gone.py": b""})
    done = tokbench("run", "mixed.yaml", "--jobs", "1")
    assert done.returncode == 3
    assert "corpus gone, eng_Latn" in done.stderr
    assert "requires a loading script" in done.stderr
    cells = load_results(tmp_path / "runs" / "mixed-1").run["cells"]
    assert {c["corpus"]: c["status"] for c in cells} == {
        "ours": "ok", "theirs": "ok", "gone": "failed",
    }  # fmt: skip


def test_c5_refusals_are_told_apart_in_one_run(tokbench, hub, environment, tmp_path) -> None:
    corpora = ["theirs", "gated", "forbidden", "missing", "private"]
    for how in corpora[1:]:
        status, code = REFUSALS[how]
        headers = {"X-Error-Code": code}
        hub.faults.append(Fault(match=f"owner/{how}", status=status, headers=headers))
    entries = {
        name: {
            "source": "huggingface",
            "path": "owner/texts" if name == "theirs" else f"owner/{name}",
            "language": "eng_Latn",
        }
        for name in corpora
    }
    config = {"name": "c5", "corpora": entries, "tokenizers": {"bytes": {"type": "utf8_bytes"}}}
    (tmp_path / "c5.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench("run", "c5.yaml", "--jobs", "1")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    cells = load_results(tmp_path / "runs" / "c5-1").run["cells"]
    reasons = {cell["corpus"]: str(cell["detail"]) for cell in cells}
    assert "requires a login: accept its terms" in reasons["gated"]
    assert "requires access" in reasons["forbidden"]
    assert "does not exist on the Hub, or is private" in reasons["missing"]
    assert "does not exist on the Hub, or is private" in reasons["private"]
    assert reasons["theirs"] == "None"
    for path in (tmp_path / "runs").rglob("*"):
        assert path.is_dir() or environment["HF_TOKEN"].encode() not in path.read_bytes()
