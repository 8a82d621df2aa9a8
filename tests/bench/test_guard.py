"""Foreign code is contained, and a repository's settings run no commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.bench.environment import git_state
from tokbench.bench.guard import contained

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@posix
def test_what_a_block_moves_is_put_back_though_it_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM), os.umask(0o022)
    try:
        with pytest.raises(ValueError, match="mine"):
            _move_and_raise()
        assert Path.cwd() == tmp_path.resolve()
        assert signal.getsignal(signal.SIGTERM) == before[0]
        assert os.umask(0o022) == 0o022
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        os.umask(before[1])


def _move_and_raise() -> None:
    with contained():
        os.chdir("/")
        os.umask(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 3600)
        raise ValueError("mine")


def test_what_a_block_prints_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    print("result")  # noqa: T201
    with contained():
        print("chatter")  # noqa: T201
        os.write(1, b"from C\n")
    print("more")  # noqa: T201
    sys.stdout.flush()
    out, err = capfd.readouterr()
    assert out == "result\nmore\n"
    assert sorted(err.splitlines()) == ["chatter", "from C"]


def test_a_closed_standard_output_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with contained():
        pass
    assert sys.stdout is None


@posix
def test_git_runs_no_command_that_a_repository_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    trace = tmp_path / "PWNED"

    def git(*arguments: str) -> None:
        author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *author, *arguments], cwd=repository, check=True)

    git("init", "--quiet")
    (repository / "a.txt").write_text("one\n", encoding="utf-8")
    (repository / ".gitattributes").write_text("*.txt filter=evil\n", encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    touch = f"touch {trace}; cat"
    git("config", "core.fsmonitor", f"touch {trace}; false")
    git("config", "core.pager", touch)
    git("config", "filter.evil.clean", touch)
    git("config", "filter.evil.smudge", touch)
    git("config", "filter.evil.required", "true")
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trace}\n", encoding="utf-8")
    hook.chmod(0o755)
    monkeypatch.chdir(repository)
    os.utime(repository / "a.txt", (1, 1))  # so that git has to read it again
    state = git_state()
    assert state is not None
    assert not state["dirty"]
    (repository / "a.txt").write_text("two\n", encoding="utf-8")
    state = git_state()
    assert state is not None
    assert state["dirty"]
    assert not trace.exists()
