"""`cpu_seconds` in `environment.json` adds up to what the system charged for the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from small_config import CONFIG

if sys.platform == "win32":
    pytest.skip("Windows charges no process for those that it started", allow_module_level=True)


def test_the_parts_add_up_to_what_the_system_charged(tmp_path: Path) -> None:
    throughput = {"processes": 2, "rounds": 3, "warm_ups": 1, "phases": ["encode"]}
    config = {**CONFIG, "suites": {"efficiency": {}, "throughput": throughput}}
    (tmp_path / "small.yaml").write_text(json.dumps(config))
    command = [sys.executable, "-m", "tokbench", "run", "small.yaml", "--jobs", "1"]
    with (tmp_path / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=output, stderr=output)
        _, status, charged = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, (tmp_path / "output.txt").read_text()
    parts = json.loads((tmp_path / "runs/small-1/environment.json").read_text())["cpu_seconds"]
    in_all = charged.ru_utime + charged.ru_stime
    # what a process does after its last word, ending above all, is in no part
    assert 0.8 * in_all < sum(parts.values()) <= 1.02 * in_all
