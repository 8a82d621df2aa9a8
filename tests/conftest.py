"""Folders that tests share: real data where it is there, caches of their own everywhere."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import psutil
import pyarrow.parquet
import pytest

import tokbench
from tokbench.bench.count.tally import Cell
from tokbench.bench.progress import FinishedCell
from tokbench.bench.run.runner import RunOutcome

REPOSITORY = Path(__file__).parent.parent

# `datasets` reads these when it is imported: tests never reach the network nor the user's caches.
_HF_HOME = tempfile.TemporaryDirectory(prefix="tokbench-tests-")
os.environ["HF_HOME"] = _HF_HOME.name
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKBENCH_CACHE"] = str(Path(_HF_HOME.name) / "tokbench")  # of module fixtures


# Ctrl-C reaches the processes that tests start, though who started pytest ignores it (nohup, &).
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    _HF_HOME.cleanup()


@pytest.fixture(scope="module", autouse=True)
def no_process_left() -> Iterator[None]:
    """Fail where the tests of a module leave a process behind, and end it."""
    before = set(psutil.Process().children())
    yield
    left = [one for one in psutil.Process().children() if one not in before]
    running = [_command_of(one) for one in left if _is_running(one)]
    for one in left:
        with suppress(psutil.Error):
            one.kill()
            one.wait(5)
    assert [command for command in running if "resource_tracker" not in command] == []


def _is_running(process: psutil.Process) -> bool:
    """Whether it goes on; it may be ending just now."""
    try:
        process.wait(2)
    except psutil.TimeoutExpired:
        return True
    return False


def _command_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real tokenizers and corpora; tests that need them are skipped elsewhere."""
    return _folder("TOKBENCH_DATA", "data")


@pytest.fixture(scope="session")
def cases_folder() -> Path:
    """Inputs that broke other tools; tests that need them are skipped elsewhere."""
    return _folder("TOKBENCH_CASES", "cases")


def _folder(variable: str, name: str) -> Path:
    folder = Path(os.environ.get(variable, REPOSITORY.parent / "shared" / name))
    if not (folder / "README.md").is_file():
        pytest.skip(f"no {name} folder at {folder}; set {variable} to run this test")
    return folder.resolve()


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test an empty cache folder."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("TOKBENCH_CACHE", str(folder))
    return folder


LANGUAGES = (
    "eng_Latn", "vie_Latn", "tur_Latn", "ell_Grek", "rus_Cyrl", "arb_Arab", "heb_Hebr",
    "hin_Deva", "tha_Thai", "khm_Khmr", "mya_Mymr", "kor_Hang", "jpn_Jpan", "zho_Hans",
)  # fmt: skip


@pytest.fixture(scope="session")
def corpus_texts(data_folder: Path) -> Callable[[str, str, int], list[str]]:
    """Return a reader of the first n rows of one language of a corpus."""

    def read(corpus: str, language: str, n: int) -> list[str]:
        table = pyarrow.parquet.read_table(data_folder / "corpora" / corpus / f"{language}.parquet")
        return [str(text) for text in table["text"][:n].to_pylist()]

    return read


@pytest.fixture(scope="session")
def mixed_texts(corpus_texts: Callable[[str, str, int], list[str]]) -> list[str]:
    """Return prose in many scripts and some code."""
    prose = [t for language in LANGUAGES for t in corpus_texts("flores200", language, 60)]
    return prose + corpus_texts("source_code", "python", 5) + corpus_texts("udhr", "all", 400)


TOYS = REPOSITORY / "tests" / "toys"
"""A package of toy tokenizers with entry points of its own, as a third party would install it."""


@contextmanager
def toys_installed() -> Iterator[None]:
    """Let tokbench, and every process it starts, find the toy tokenizers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOYS)
        patch.setenv("PYTHONPATH", str(TOYS))
        yield


@pytest.fixture
def toys() -> Iterator[None]:
    """Make the toy tokenizers known for one test."""
    with toys_installed():
        yield


@pytest.fixture(scope="module")
def toys_known() -> Iterator[None]:
    """Make the toy tokenizers known for all tests of a module."""
    with toys_installed():
        yield


class Listener:
    """Remembers what a run reports."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.expected: dict[str, float] = {}
        self.parts: list[tuple[str, float]] = []
        self.cells: list[tuple[Cell, bool]] = []

    @property
    def reused(self) -> list[bool]:
        """Of each finished cell, whether it was taken from before."""
        return [reused for _, reused in self.cells]

    def warning(self, text: str) -> None:
        """Keep it as a line, marked."""
        self.step(f"warning: {text}")

    def step(self, text: str) -> None:
        self.steps.append(text)

    def expect(self, seconds: Mapping[str, float], cells: Mapping[str, int]) -> None:
        self.expected = dict(seconds)

    def part(self, name: str, share: float) -> None:
        self.parts.append((name, share))

    def cell(self, cell: FinishedCell, number: int, total: int, *, reused: bool) -> None:
        self.cells.append((cell, reused))


Make = Callable[[Path], object]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Make], Path]:
    """Return a function that has a folder filled once for all processes of pytest-xdist.

    Tests read these folders and change copies.
    """
    base = tmp_path_factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def filled(name: str, make: Make) -> Path:
        folder, done = root / "once" / name, root / "once" / f"{name}.done"
        folder.parent.mkdir(exist_ok=True)
        with filelock.FileLock(root / "once" / f"{name}.lock"):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                done.touch()
        return folder

    return filled


Measure = Callable[..., RunOutcome]


@pytest.fixture(scope="session")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """Return a function that runs a config given as a mapping, with the toy tokenizers installed.

    `files` are written beside the config: a list is JSON Lines with ids 0, 1, 2, ..., text is
    text. Without `cache` the run has an empty one; without `folder` a new one; without `jobs` it
    counts in this process.
    """

    def measure_config(
        config: Mapping[str, Any],
        files: Mapping[str, Any] | None = None,
        *,
        folder: Path | None = None,
        cache: Path | None = None,
        listener: Listener | None = None,
        new: bool = False,
        jobs: int = 0,
    ) -> RunOutcome:
        folder = folder or tmp_path_factory.mktemp("run")
        cache = cache or tmp_path_factory.mktemp("cache")
        for name, content in (files or {}).items():
            write_file(folder / name, content)
        with toys_installed(), pytest.MonkeyPatch.context() as patch:
            patch.setenv("TOKBENCH_CACHE", str(cache))
            loaded = tokbench.load_config({"name": "test", **config}, folder=folder)
            results = tokbench.run(
                loaded,
                folder / "runs",
                jobs=jobs,
                progress=listener,
                new=new,
                keep_cells=True,
            )
        return RunOutcome(results=results, problems=results.problems)

    return measure_config


def write_file(path: Path, content: Any) -> None:
    """Write text as it is, and a list as JSON Lines: texts, or rows."""
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
        return
    rows = [
        row if isinstance(row, Mapping) else {"id": str(number), "text": row}
        for number, row in enumerate(content)
    ]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def listener() -> type[Listener]:
    """The class of what hears a run."""
    return Listener


@pytest.fixture(scope="session")
def case_tokenizers(cases_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of small tokenizers that the cases name, built once."""
    folder = tmp_path_factory.mktemp("case_tokenizers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["make_tokenizers.py", str(folder)])
        runpy.run_path(str(cases_folder / "make_tokenizers.py"), run_name="__main__")
    return folder


@dataclass(frozen=True, kw_only=True)
class QuickRun:
    """A run of the ready config `quick`."""

    folder: Path
    """The run folder, `runs/quick-1`."""
    summary: str
    """What the command printed."""


@pytest.fixture(scope="session")
def quick_run(once: Callable[[str, Make], Path]) -> QuickRun:
    """Run `tokbench run quick` once, in an empty folder and with an empty cache."""

    def make(folder: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tokbench", "run", "quick", "--quiet"],
            cwd=folder,
            env={
                **os.environ,
                "TOKBENCH_CACHE": str(folder / "cache"),
                "PYTHONIOENCODING": "utf-8",
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        (folder / "summary.txt").write_text(done.stdout, encoding="utf-8", newline="")

    folder = once("quick", make)
    summary = (folder / "summary.txt").read_text(encoding="utf-8")
    return QuickRun(folder=folder / "runs" / "quick-1", summary=summary)


@pytest.fixture(scope="session")
def quick_summary(quick_run: QuickRun) -> str:
    """What `tokbench run quick` prints."""
    return quick_run.summary


PARALLEL = {
    "en.jsonl": ["the cat sat", "a cat is the cat", "the end"],
    "de.jsonl": ["die Katze saß", "eine Katze ist die Katze", "das Ende"],
    "ja.jsonl": ["猫が座った", "猫は猫です", "終わり"],
}
"""Three texts in three languages, small enough to count by hand."""

GOOD = {
    "corpora": {
        "texts": {
            "source": "files",
            "path": "{language}.jsonl",
            "languages": ["en", "de", "ja"],
            "id": "id",
            "parallel": True,
            "pivot": "en",
        }
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "pieces": {"type": "toy_pieces", "pieces": ["the", " the", " cat", "Katze", "猫"]},
        "lossy": {"type": "toy_pieces", "pieces": ["the", " ", "cat", "a"], "unknown": True},
    },
    "reports": ["markdown", "summary"],
}

BROKEN = {
    **GOOD,
    "corpora": {
        "boom": {"source": "files", "path": "boom.jsonl", "language": "en", "id": "id"},
        "all": {"source": "files", "path": "allboom.jsonl", "language": "en", "id": "id"},
        "gone": {"source": "files", "path": "nowhere.jsonl", "language": "en"},
        **GOOD["corpora"],
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "raises": {"type": "toy_faulty"},
        "panics": {"type": "toy_faulty", "how": "panic"},
        "undecodable": {"type": "toy_faulty", "where": "decode"},
        "unloadable": {"type": "toy_faulty", "where": "load"},
        "unpanicable": {"type": "toy_faulty", "where": "load", "how": "panic"},
        "unknowable": {"type": "toy_faulty", "where": "vocabulary"},
        "missing": {"type": "tiktoken", "file": "nowhere.tiktoken", "pattern": "."},
    },
}
BOOM = {"boom.jsonl": ["one", "the boom", "two"], "allboom.jsonl": ["boom", "boom boom"]}


@pytest.fixture(scope="session")
def good_run(measure: Measure, once: Callable[[str, Make], Path]) -> RunOutcome:
    """A run in which everything can be measured."""
    return _outcome(once("good", lambda folder: measure(GOOD, PARALLEL, folder=folder)))


@pytest.fixture(scope="session")
def broken_run(measure: Measure, once: Callable[[str, Make], Path]) -> RunOutcome:
    """A run in which every kind of fault happens, beside what can be measured."""
    files = {**PARALLEL, **BOOM}
    return _outcome(once("broken", lambda folder: measure(BROKEN, files, folder=folder)))


def _outcome(folder: Path) -> RunOutcome:
    results = tokbench.load_results(folder / "runs" / "test-1")
    return RunOutcome(results=results, problems=results.problems)
