"""Ray gives the bytes of one process, whatever dies; tried on a network of loopback alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from run_files import exact_files

pytestmark = pytest.mark.long

CONFIG: dict[str, Any] = {
    "name": "small",
    "corpora": {
        "s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn", "fin_Latn"]},
        "lines": {"source": "files", "path": "lines.txt", "language": "en"},
    },
    "tokenizers": {"a": {"type": "utf8_bytes"}, "b": {"type": "characters"}},
    "suites": ["efficiency", "fidelity"],
    "reports": [],
}
ALONE = 'ip link set lo up && exec "$@"'


def no_namespace() -> str | None:
    """Return why no network namespace can be made here; None where one can."""
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return "needs unshare, of Linux"
    made = subprocess.run(["unshare", "-rn", "ip", "link", "set", "lo", "up"], capture_output=True)
    return None if made.returncode == 0 else "no network namespace can be made here"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a config whose text makes several parts, and its run in this process."""
    pytest.importorskip("ray")
    if (why := no_namespace()) is not None:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("ray")
    lines = (f"{n} {'straße und ' * (n % 97)}\n" for n in range(30_000))
    (folder / "lines.txt").write_text("".join(lines), encoding="utf-8")
    (folder / "small.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
    assert finish(begin(folder, "--executor", "local", "--jobs", "0", "--output", "inline"))[0] == 0
    return folder


def begin(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the run on Ray, with caches of its own."""
    command = [sys.executable, "-P", "-m", "tokbench", "run", "small.yaml", "--executor", "ray"]
    return subprocess.Popen(
        ["unshare", "-rn", "bash", "-c", ALONE, "bash", *command, *arguments, "--quiet"],
        cwd=place,
        env={**os.environ, "TOKBENCH_CACHE": str(place / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a run; return its exit code and what it said."""
    try:
        said = process.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, said


def family(process: subprocess.Popen[str], word: str) -> list[psutil.Process]:
    """Return the processes below a run whose command has a word."""
    return [
        one
        for one in psutil.Process(process.pid).children(recursive=True)
        if word in " ".join(command_of(one))
    ]


def command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def kill_one(process: subprocess.Popen[str], word: str) -> bool:
    """Kill one process of a run once there is one; return whether there was."""
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if found := family(process, word):
            time.sleep(random.Random(7).uniform(0.1, 0.6))
            random.Random(7).choice(found).kill()
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("actors", ["1", "2"])
def test_actors_give_the_bytes_of_one_process(place: Path, actors: str) -> None:
    output = f"ray-{actors}"
    assert finish(begin(place, "--jobs", actors, "--output", output))[0] == 0
    assert exact_files(place / output / "small-1") == exact_files(place / "inline" / "small-1")
    told = json.loads((place / output / "small-1" / "environment.json").read_text())["executor"]
    assert (told["name"], told["workers"], told["nodes"]) == ("ray", int(actors), 1)


@pytest.mark.parametrize("word", ["ray::_Guard", "tokbench.bench.workers.serve"])
def test_a_killed_actor_or_its_worker_changes_no_byte(place: Path, word: str) -> None:
    output = f"killed-{len(word)}"
    process = begin(place, "--jobs", "2", "--output", output)
    assert kill_one(process, word)
    code, said = finish(process)
    assert code == 0, said
    assert exact_files(place / output / "small-1") == exact_files(place / "inline" / "small-1")


def test_a_killed_driver_is_gone_on_from(place: Path) -> None:
    process = begin(place, "--jobs", "2", "--output", "driver")
    assert kill_one(process, "ray::_Guard") or process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    code, said = finish(begin(place, "--jobs", "2", "--output", "driver"))
    assert code == 0, said
    assert exact_files(place / "driver" / "small-1") == exact_files(place / "inline" / "small-1")


def test_a_cluster_that_is_not_there_is_an_error_with_what_to_do(place: Path) -> None:
    code, said = finish(begin(place, "--address", "127.0.0.1:1", "--output", "none"))
    assert code == 2
    assert "no cluster at address '127.0.0.1:1'" in said
    assert "Traceback" not in said
