"""The Hub's ways to fail are told apart; the stub of the cases plays the Hub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

LOAD = """
from pathlib import Path
from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
try:
    HuggingFace(hub="someone/something").load(LoadContext(folder=Path()))
except TokenizerError as error:
    print(error)
"""


@contextmanager
def stub(cases: Path, mode: str) -> Iterator[str]:
    """The address of a Hub that answers every request in one way."""
    script = [sys.executable, str(cases / "stub_hub.py"), mode]
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def message(endpoint: str, home: Path, offline: str = "0") -> str:
    """What loading says, in a fresh process since the endpoint is read at import."""
    root = Path(__file__).resolve().parents[2] / "src"
    proxies = {name for name in os.environ if name.lower().endswith("_proxy")}
    environment = {k: v for k, v in os.environ.items() if k not in proxies}
    environment |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_OFFLINE": offline}
    environment |= {"PYTHONPATH": str(root), "HF_TOKEN": "hf_secret"}
    command = [sys.executable, "-c", LOAD]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert "hf_secret" not in done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("forbidden", "requires access"),
        ("gated", "requires a login"),
        ("missing", "does not exist on the Hub, or is private"),
    ],
)
def test_what_the_hub_refuses_is_said(cases: Path, tmp_path: Path, mode: str, said: str) -> None:
    with stub(cases, mode) as endpoint:
        assert said in message(endpoint, tmp_path)


def test_a_hub_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    """Told to stay offline, since the Hub's library would try a closed port for 20 seconds."""
    assert "cannot be reached" in message("http://127.0.0.1:9", tmp_path, offline="1")
