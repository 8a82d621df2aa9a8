"""Nothing that is printed or stored holds a password, a home, a user's name or an absolute path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tokbench.bench.errors import CorpusError, ResultsError, named
from tokbench.bench.privacy import foreign, stored, without_secrets

PASSWORD, NAME = "correct-horse-7", "wilhelmina"
CONFIG = """\
name: leaky
corpora:
  good: {source: files, language: en, path: good.txt}
  far: {source: files, language: en, path: HOME/far.txt}
  gone: {source: files, language: en, path: HOME/missing.txt}
  net: {source: huggingface, path: json, data_files: "https://wilhelmina:correct-horse-7@127.0.0.1:9/x.jsonl", language: en}
  hub: {source: huggingface, path: nowhere/nothing, language: en}
tokenizers:
  bytes: {type: utf8_bytes}
  broken: {type: unigram, file: HOME/broken.json}
  piece: {type: sentencepiece, file: HOME/broken.json}
  json: {type: huggingface, file: HOME/broken.json}
  ranks: {type: tiktoken, file: HOME/broken.json, pattern: "."}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    place = tmp_path / "users" / NAME
    work = place / "work"
    work.mkdir(parents=True)
    (work / "good.txt").write_text("one\ntwo\n", encoding="utf-8")
    (place / "far.txt").write_text("three\n", encoding="utf-8")
    (place / "broken.json").write_bytes(b"\0\377")
    (work / "c.yaml").write_text(CONFIG.replace("HOME", str(place)), encoding="utf-8")
    return place


def run_in(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("HF_", "TOKBENCH"))},
        "HOME": str(home),
        "USER": NAME,
        "HF_ENDPOINT": f"http://{NAME}:{PASSWORD}@127.0.0.1:9",
        "HTTPS_PROXY": f"http://{NAME}:{PASSWORD}@127.0.0.1:9",
        "HF_TOKEN": f"hf_{PASSWORD}",
        "TOKBENCH_CACHE": str(home / "cache"),
    }
    return subprocess.run(
        [sys.executable, "-m", "tokbench", *arguments],
        cwd=home / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def leaks(text: str, home: Path) -> list[str]:
    places = [str(home.parents[1]), NAME, PASSWORD]
    return [line for line in text.splitlines() if any(place in line for place in places)]


def written(folder: Path) -> str:
    """Everything that a folder holds, as text."""
    parts = []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if path.suffix == ".parquet":
            parts.append(str(pq.read_table(path).to_pylist()))
        parts.append(path.read_bytes().decode("utf-8", "replace"))
    return "\n".join(parts)


def test_a_run_folder_and_all_output_of_failing_commands_hold_nothing_private(home: Path) -> None:
    done = run_in(home, "run", "c.yaml", "--set", "limits.hub_seconds=2")
    assert done.returncode == 3, done.stderr
    assert "broken" in done.stderr
    assert leaks(done.stdout + done.stderr, home) == []
    assert leaks(written(home / "work" / "runs"), home) == []
    for command in (
        ("validate", "c.yaml"),
        ("plan", "c.yaml"),
        ("inspect", "abc", "--config", "c.yaml"),
        ("which", "abc", "--config", "c.yaml", "--json"),
        ("run", str(home / "missing.yaml")),
        ("report", str(home / "nothing")),
        ("compare", str(home / "a"), str(home / "b")),
        ("baseline", "save", str(home / "a"), str(home / "b" / "c")),
        ("inspect", "abc", "--file", str(home / "none.txt")),
        ("which", "abc", "--costs", str(home / "none.yaml")),
        ("doctor", "--offline"),
        ("doctor", "--json"),
    ):
        done = run_in(home, *command)
        assert "Traceback" not in done.stderr, done.stderr
        assert leaks(done.stdout + done.stderr, home) == [], command


def test_what_a_library_says_loses_folders_and_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://bob:tr%40vel-9@hub.example")
    said = OSError(
        "/srv/secret/area/x.bin: login tr@vel-9 refused by 'https://a:b@hub.example/q'\n"
    )
    assert named(said) == "OSError: …/x.bin: login *** refused by 'https://***@hub.example/q'"


def test_an_error_cleans_what_it_quotes_and_keeps_the_path_of_the_user() -> None:
    with pytest.raises(CorpusError) as caught:
        raise CorpusError("/data/mine.txt: cannot be read: no /srv/a/b.txt") from OSError(
            "no /srv/a/b.txt"
        )
    assert str(caught.value) == "/data/mine.txt: cannot be read: no …/b.txt"


def test_an_error_names_no_password_and_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/wilhelmina")
    assert str(ResultsError("/home/wilhelmina/x: no")) == "~/x: no"
    assert str(ResultsError("/home/wilhelminas/x: no")) == "/home/wilhelminas/x: no"
    assert str(ResultsError("https://u:p@h/x")) == "https://***@h/x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:p@ss@h.example/x", "https://***@h.example/x"),
        ("GET http://h/x?api_key=abcdef&n=1", "GET http://h/x?api_key=***&n=1"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer ***"),
        ("token hf_abcdefghijklmnopqrstuv", "token ***"),
        ("a 1/2 / b://c", "a 1/2 / b://c"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_the_words_around_a_path_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert foreign(f"see {tmp_path}/a/b.txt (line 3)") == "see a/b.txt (line 3)"
    assert foreign(r"C:\Users\bob\x.txt is open") == "…/x.txt is open"
    assert foreign("and/or, 3/4, https://h.example/a/b/c") == "and/or, 3/4, https://h.example/a/b/c"


def test_a_run_keeps_paths_from_the_folder_of_its_config() -> None:
    folder = Path("/srv/project")
    assert stored({"path": ["/srv/project/a/*.txt", "b.txt"]}, folder) == {
        "path": ["a/*.txt", "b.txt"]
    }
    assert stored("/elsewhere/deep/x.txt", folder) == "…/x.txt"
    assert stored("https://u:p@h/x.txt", folder) == "https://***@h/x.txt"
