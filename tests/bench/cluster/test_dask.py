"""The lines on the page about clusters plug in Dask, and give the bytes of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pages import blocks
from run_files import exact_files
from small_config import CONFIG


@pytest.mark.long
@pytest.mark.skipif(find_spec("distributed") is None, reason="needs dask.distributed")
def test_the_lines_for_dask_give_the_bytes_of_one_process(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    [lines] = [text for text in blocks("docs/cluster.md", "python") if "get_executor" in text]
    (tmp_path / "with_dask.py").write_text(lines, encoding="utf-8")

    def python(*arguments: str) -> None:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "TOKBENCH_CACHE": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr

    python("with_dask.py")
    python("-c", "import tokbench; tokbench.run('mine.yaml', 'alone', jobs=0)")
    ran = tmp_path / "runs" / "small-1"
    assert exact_files(ran) == exact_files(tmp_path / "alone" / "small-1")
    told = json.loads((ran / "environment.json").read_text())["executor"]
    assert told["name"] == "ClientExecutor"
