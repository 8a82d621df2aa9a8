"""A repository with a base commit and a pull request, a forge, and a runner for `action.yml`."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from action.runner import ACTION, ActionRunner
from forge_server import REPOSITORY, TOKEN, ForgeServer, serving

Commit = Callable[[dict[str, str]], str]
NewRunner = Callable[..., ActionRunner]
MERGES, ONE_LESS = ("th", "the", "at"), ("th", "at")


def rank_file(merges: tuple[str, ...]) -> str:
    """Return a rank file of 256 bytes and some merges."""
    tokens = [bytes([i]) for i in range(256)] + [merge.encode() for merge in merges]
    return "".join(f"{base64.b64encode(one).decode()} {rank}\n" for rank, one in enumerate(tokens))


def config_text() -> str:
    """Return a config of one tokenizer and one text, as JSON, which is YAML."""
    corpus = {"source": "files", "languages": {"en": {"file": "en.txt"}}}
    tokenizer = {"type": "tiktoken", "file": "mine.tiktoken", "pattern": r" ?\w+|\s+"}
    return json.dumps(
        {
            "name": "ci",
            "corpora": {"web": corpus},
            "tokenizers": {"mine": tokenizer},
            "suites": ["efficiency"],
            "keep_ids": True,
            "reports": [],
        }
    )


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; return what it prints."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A shallow clone of a repository, as the checkout of a runner is."""
    if not ACTION.is_file():
        pytest.skip("needs a checkout")
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet", "--initial-branch", "main")
    (origin / "ci.yaml").write_text(config_text())
    (origin / "en.txt").write_text("the cat\nthe mat\n")
    (origin / "mine.tiktoken").write_text(rank_file(MERGES))
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "base")
    git(tmp_path, "clone", "--quiet", "--depth", "1", origin.as_uri(), "checkout")
    git(tmp_path / "checkout", "remote", "set-branches", "origin", "none")
    git(tmp_path / "checkout", "update-ref", "-d", "refs/remotes/origin/main")
    return tmp_path / "checkout"


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    """A forge with pull request 7."""
    with serving(ForgeServer()) as server:
        server.add_pull(7, head={"label": "contributor:fix", "sha": "2"})
        yield server


@pytest.fixture
def new_runner(checkout: Path, forge: ForgeServer, tmp_path: Path) -> NewRunner:
    """Return a runner for an event; `pip` is only written down."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "python").write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/installed"\n')
    (bin_folder / "python").chmod(0o755)
    event_file = tmp_path / "event.json"
    environment = {
        **os.environ,
        "PATH": f"{bin_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GITHUB_API_URL": forge.address,
        "GITHUB_EVENT_PATH": str(event_file),
    }
    environment.pop("GITHUB_TOKEN", None)

    def new(event: dict[str, Any], event_name: str = "pull_request", **facts: str) -> ActionRunner:
        event_file.write_text(json.dumps(event))
        return ActionRunner(
            checkout=checkout,
            folder=tmp_path / "runner",
            environment=environment,
            event=event,
            event_name=event_name,
            token=TOKEN,
            **facts,  # type: ignore[arg-type]
        )

    return new


def pull_request(head: str = REPOSITORY) -> dict[str, Any]:
    """Return the event of pull request 7."""
    repository = {"default_branch": "main"}
    pull = {"number": 7, "head": {"repo": {"full_name": head}}}
    return {"pull_request": pull, "repository": repository}


def push() -> dict[str, Any]:
    """Return the event of a push."""
    return {"repository": {"default_branch": "main"}}
