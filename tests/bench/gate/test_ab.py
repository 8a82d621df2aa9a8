"""One config in two environments."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tokbench.bench.cli import main
from tokbench.bench.compare import two_environments
from tokbench.bench.errors import UsageError


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "en.jsonl").write_text('{"text": "the cat"}\n', encoding="utf-8")
    document = {
        "name": "ab",
        "corpora": {"web": {"source": "files", "languages": {"en": {"file": "en.jsonl"}}}},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
        "reports": [],
    }
    path = tmp_path / "ab.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_two_environments_with_the_same_libraries_give_the_same(
    config: Path, tmp_path: Path
) -> None:
    arguments = ["compare", str(config), "--runs", str(tmp_path / "runs")]
    arguments += ["--base-python", sys.executable, "--candidate-python", sys.executable]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "Passes: all" in done.output
    for side in ("base", "candidate"):
        (run,) = (tmp_path / "runs" / side).glob("ab-*/run.json")
        assert json.loads(run.read_text(encoding="utf-8"))["config"]["keep_ids"] is True


def test_a_python_that_is_not_there_is_named(tmp_path: Path) -> None:
    nowhere = two_environments.Environment(python=tmp_path / "python", output=tmp_path)
    with pytest.raises(UsageError, match="cannot be started"):
        two_environments.run_in(nowhere, "quick", (), say=lambda text: None)


def test_an_environment_without_tokbench_says_how_to_install_it(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'ModuleNotFoundError: bench' >&2\nexit 1\n", encoding="utf-8")
    bare.chmod(0o755)
    environment = two_environments.Environment(python=bare, output=tmp_path)
    with pytest.raises(UsageError, match="-m pip install tokbench"):
        two_environments.run_in(environment, "quick", (), say=lambda text: None)
