"""A Hub of the tests' own, and a way to read from it in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stub_hub import Hub

TOKEN = "hf_" + "SecretSecretSecretSecret"

READ = """
import json, sys
from tokbench.bench.workers.hub_access import set_up_hub
set_up_hub(**json.loads(sys.argv[3]))
from pathlib import Path
from pydantic import TypeAdapter
from tokbench.bench.config.corpora import CorpusEntry
from tokbench.bench.config.limits import Limits
from tokbench.bench.run.input_tasks import SliceTask
from tokbench.bench.workers.job import perform
entry = TypeAdapter(CorpusEntry).validate_python(json.loads(sys.argv[1]))
limits = Limits(hub_seconds=6)
task = SliceTask(name="mine", entry=entry, language=sys.argv[2], folder=Path.cwd(), limits=limits)
got = perform(task)
texts = [t for b in got.value.batches() for t in b.texts] if got.value else None
sources = list(got.value.meta.sources) if got.value else None
print(json.dumps({"texts": texts, "reason": got.reason, "sources": sources}))
"""

LOAD = """
import json, sys
from tokbench.bench.workers.hub_access import set_up_hub
set_up_hub()
from pathlib import Path
from tokbench.bench import plugins
from tokbench.bench.errors import TokbenchError
from tokbench.bench.workers.sources import TokenizerSource
options = json.loads(sys.argv[1])
plugin = plugins.find(plugins.TokenizerPlugin, options.pop("type")).model_validate(options)
try:
    tokenizer = TokenizerSource(key="mine", plugin=plugin, folder=Path.cwd()).load()
    ids = [list(map(int, one)) for one in tokenizer.encode_batch(json.loads(sys.argv[2]))]
    print(json.dumps({"ids": ids, "notes": list(tokenizer.notes), "reason": None}))
except TokbenchError as exc:
    print(json.dumps({"ids": None, "reason": str(exc)}))
"""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a process said, and how long it took."""

    value: dict[str, Any]
    output: str
    seconds: float

    @property
    def reason(self) -> str:
        return self.value["reason"] or "none: it was read"


@pytest.fixture
def hub() -> Iterator[Hub]:
    hub = Hub()
    try:
        yield hub
    finally:
        hub.stop()


@pytest.fixture
def environment(hub: Hub, tmp_path: Path) -> dict[str, str]:
    """Variables of a process that knows this Hub only, with nothing downloaded yet."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "TRANSFORMERS_"))}
    return {
        **clean,
        "HF_ENDPOINT": hub.start(),
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_XET": "1",
        # A machine that stalls must not look like a Hub that is silent: cases of that set less.
        "HF_HUB_ETAG_TIMEOUT": "60",
        "HF_HUB_DOWNLOAD_TIMEOUT": "60",
        "HF_TOKEN": TOKEN,
        "TOKBENCH_CACHE": str(tmp_path / "cache"),
        "NO_PROXY": "*",
    }


def _run(environment: dict[str, str], folder: Path, *arguments: str) -> Answer:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert TOKEN not in output
    seconds = time.monotonic() - started
    return Answer(value=json.loads(done.stdout.splitlines()[-1]), output=output, seconds=seconds)


@pytest.fixture
def read(environment: dict[str, str], tmp_path: Path) -> Callable[..., Answer]:
    """Read a corpus from the Hub in a process of its own."""

    def read(key: str = "en", *, offline: bool = False, **options: Any) -> Answer:
        entry = {"source": "huggingface", "path": "owner/texts", "language": key, **options}
        set_up = json.dumps({"offline": offline})
        return _run(environment, tmp_path, READ, json.dumps(entry), key, set_up)

    return read


@pytest.fixture
def load(environment: dict[str, str], tmp_path: Path) -> Callable[..., Answer]:
    """Load a tokenizer from the Hub in a process of its own and encode texts with it."""

    def load(*texts: str, **options: Any) -> Answer:
        return _run(environment, tmp_path, LOAD, json.dumps(options), json.dumps(texts))

    return load
