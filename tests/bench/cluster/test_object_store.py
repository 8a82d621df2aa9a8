"""A run folder on an object store holds the bytes of one on a disk, whatever interrupts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import tokbench
from run_files import exact_files
from small_config import CONFIG
from tokbench.bench.cache import cache_folder
from tokbench.bench.progress import SILENT
from tokbench.bench.run.remote_output import output_folder


class Flaky(MemoryFileSystem):
    """Refuses the first files that it is sent, as a store that answers 500 for a while."""

    protocol = "flaky"
    refusals = 0

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.replace("flaky://", "memory://"))

    def put_file(self, lpath: str, rpath: str, **more: Any) -> None:
        if Flaky.refusals:
            Flaky.refusals -= 1
            raise OSError("the server answers 503")
        super().put_file(lpath, rpath, **more)


fsspec.register_implementation("flaky", Flaky)


@pytest.fixture
def store() -> Iterator[MemoryFileSystem]:
    """An empty store in memory."""
    fs = MemoryFileSystem()
    with contextlib.suppress(FileNotFoundError):
        fs.rm("/", recursive=True)
    shutil.rmtree(cache_folder("remote"), ignore_errors=True)
    yield fs
    with contextlib.suppress(FileNotFoundError):
        fs.rm("/", recursive=True)


def on_store(fs: MemoryFileSystem, run: str) -> dict[str, bytes]:
    """Return the exact files of a run on the store, by path."""
    found = {path.removeprefix(f"{run}/"): fs.cat_file(path) for path in fs.find(run)}
    exact = ("measurements.parquet", "findings.parquet", "run.json")
    return {p: d for p, d in found.items() if p in exact or p.startswith("documents/")}


@pytest.mark.long
def test_a_run_on_a_store_has_the_files_of_one_on_a_disk_and_the_next_has_the_next_number(
    store: MemoryFileSystem, tmp_path: Path
) -> None:
    disk = tokbench.run(CONFIG, tmp_path, jobs=0)
    there = tokbench.run(CONFIG, "memory://bucket/runs", jobs=0)
    assert on_store(store, "/bucket/runs/small-1") == exact_files(disk.folder)
    assert there.run["digest"] == disk.run["digest"]
    assert [p for p in store.find("/bucket/runs") if "/cells/" in p or "/." in p] == []
    assert tokbench.run(CONFIG, "memory://bucket/runs", jobs=0).name == "small-2"
    assert json.loads(store.cat_file("/bucket/runs/small-2/plan.json"))["finished"] is True


def test_an_unfinished_run_on_a_store_is_gone_on_with_from_another_machine(
    store: MemoryFileSystem, listener: Any
) -> None:
    class StopError(Exception):
        pass

    heard = listener()

    def stop(*arguments: Any, **more: Any) -> None:
        raise StopError

    heard.part = lambda name, share: stop() if name == "suites" else None
    with pytest.raises(StopError):
        tokbench.run(CONFIG, "memory://bucket/runs", jobs=0, progress=heard)
    assert len([p for p in store.find("/bucket/runs/small-1/cells") if p.endswith(".cell")]) == 4
    shutil.rmtree(cache_folder("remote"))  # another machine has nothing
    again = listener()
    done = tokbench.run(CONFIG, "memory://bucket/runs", jobs=0, progress=again)
    assert (done.name, again.reused) == ("small-1", [True] * 4)


def test_a_store_that_refuses_for_a_while_gets_everything_in_the_end(
    store: MemoryFileSystem,
) -> None:
    Flaky.refusals = 2
    with output_folder("flaky://bucket/runs", "x", SILENT, again=False) as folder:
        (folder / "x-1").mkdir(parents=True)
        (folder / "x-1" / "run.json").write_text("{}", encoding="utf-8")
    assert store.cat_file("/bucket/runs/x-1/run.json") == b"{}"


def test_an_address_that_nothing_opens_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(tokbench.TokbenchError, match="nothing://bucket: Protocol not known"):
        tokbench.run(CONFIG, "nothing://bucket", jobs=0)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3 server on loopback, with a bucket."""
    if find_spec("moto") is None or find_spec("s3fs") is None:
        pytest.skip("needs moto[server] and s3fs")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        put(f"{address}/bucket", seconds=90)
        yield address
    finally:
        process.kill()
        process.wait()


def put(address: str, seconds: float) -> None:
    """Send a PUT until the server is there."""
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(urllib.request.Request(address, method="PUT")).close()
            return
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
            time.sleep(0.3)


@pytest.mark.long
def test_a_killed_run_on_s3_is_gone_on_with_and_has_the_bytes_of_a_disk(
    server: str, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")

    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": server}
    environment = {**os.environ, **keys, "AWS_REGION": "us-east-1"}

    def begin(output: str, cache: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "tokbench", "run", "small.yaml", "--quiet"]
        own = {**environment, "TOKBENCH_CACHE": str(tmp_path / cache)}
        return subprocess.Popen([*command, "--output", output], cwd=tmp_path, env=own)

    assert begin("disk", "one").wait(timeout=300) == 0
    process = begin("s3://bucket/runs", "two")
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=2.5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert begin("s3://bucket/runs", "three").wait(timeout=300) == 0
    get = "import fsspec; fsspec.filesystem('s3').get('bucket/runs/small-1', 'got', recursive=True)"
    subprocess.run([sys.executable, "-c", get], cwd=tmp_path, env=environment, check=True)
    assert exact_files(tmp_path / "got") == exact_files(tmp_path / "disk" / "small-1")
