"""Bisection over an index of tiny packages that this test makes, and over that of the world."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import tokbench

ENCODERS = {
    "1.0": "list(text.encode())",
    "1.1": "list(text.encode())",
    "1.2": None,  # cannot be imported
    "1.3rc1": "[0]",
    "1.3": "[b + 1 for b in text.encode()]",
    "1.4": "[b + 1 for b in text.encode()] + [9] * text.count('t')",
    "1.5": "[0]",
    "1.6": "[0]",
}
"""How each version encodes a text."""

WORK = {"1.6": 60_000}
"""Steps of a loop for each text, 10,000 in the others: five times or more the work."""

LIBRARY = """
class Library:
    def encode_batch(self, texts):
        return [{encoder} for text in texts if all(True for _ in range({work}))]
    def decode_batch(self, ids):
        return ["" for one in ids if all(True for _ in range(10_000))]
"""


def wheel(folder: Path, version: str, source: str) -> None:
    """Write a wheel of one module, toyids."""
    info = f"toyids-{version}.dist-info"
    files = {
        "toyids.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: toyids\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"toyids-{version}-py3-none-any.whl", "w") as made:
        for name, content in files.items():
            made.writestr(name, content)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of wheels that pip takes for the only index."""
    folder = tmp_path_factory.mktemp("index")
    for version, encoder in ENCODERS.items():
        source = "import nothing_of_that_name"
        if encoder:
            source = LIBRARY.format(encoder=encoder, work=WORK.get(version, 10_000))
        wheel(folder, version, source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        yield folder


CONFIG = """
name: bisected
corpora:
  c: {source: files, path: texts.jsonl, language: en}
tokenizers:
  toy: {type: toy_library, factory: "toyids:Library"}
  bytes: {type: utf8_bytes}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("config")
    (folder / "texts.jsonl").write_text('{"text": "the cat"}\n{"text": "dog"}\n', encoding="utf-8")
    (folder / "bisect.yaml").write_text(CONFIG, encoding="utf-8")
    return folder / "bisect.yaml"


def bisect(config: Path, good: str, bad: str, *more: str) -> Any:
    options = ["--package", "toyids", "--good", good, "--bad", bad, *more]
    return tokbench("bisect", config, *options)


@pytest.mark.long
@pytest.mark.usefixtures("index", "toys_known")
@pytest.mark.parametrize(
    ("by", "first", "last_same", "unknown"),
    [("ids", "1.3", "1.1", ["1.2"]), ("size", "1.4", "1.3", [])],
)
def test_the_first_version_that_changes_something_is_found_with_its_evidence(
    config: Path, by: str, first: str, last_same: str, unknown: list[str]
) -> None:
    kept = config.parent / "environments"
    done = bisect(config, "1.0", "1.4", "--by", by, "--json", "--environments", str(kept))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["first"], found["last_same"]) == (first, last_same)
    assert (found["unknown"], found["tokenizers"]) == (unknown, ["toy"])
    tried = {one["version"]: one for one in found["tried"]}
    assert "1.3rc1" not in tried
    if by == "ids":
        assert "nothing_of_that_name" in tried["1.2"]["reason"]
        [text, special] = tried["1.3"]["differences"]
        assert (text["where"], text["call"], text["example"]) == ("c en", "encode_batch", "the cat")
        assert text["before"] == " ".join(map(str, b"the cat"))
        assert text["after"] == " ".join(str(b + 1) for b in b"the cat")
        assert (special["where"], special["example"]) == ("special tokens", "<end>")
    else:  # two texts with two t
        [change] = tried["1.4"]["differences"]
        assert (change["before"], change["after"]) == ("10 tokens", "12 tokens")


@pytest.mark.long
@pytest.mark.usefixtures("index", "toys_known")
def test_the_version_that_became_slower_is_found(config: Path) -> None:
    kept = config.parent / "environments"
    settings = [
        "gate.speed={max_processes: 5, process_pairs: 5, rounds: 10, milliseconds: 2}",
        "gate.rules=[{metric: decode_throughput, gated: false}]",
    ]
    chosen = [part for setting in settings for part in ("--set", setting)]
    by = ["--by", "speed", "--json", "--environments", str(kept)]
    done = bisect(config, "1.5", "1.6", *by, *chosen)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["first"] == "1.6"
    [slower] = [d for d in found["tried"][-1]["differences"] if "encode" in d["tokenizer"]]
    assert "slower" in slower["after"]


@pytest.mark.long
@pytest.mark.usefixtures("index", "toys_known")
@pytest.mark.parametrize(
    ("good", "bad", "code", "said"),
    [
        ("1.0", "1.1", 3, "toyids 1.1 does not differ from 1.0 in ids"),
        ("1.0", "1.2", 3, "toyids 1.2 (--bad) cannot be tried: "),
        ("1.2", "1.4", 3, "toyids 1.2 (--good): "),
        ("1.0", "1.9", 2, "--bad 1.9: the index has no such version of toyids"),
        ("1.4", "1.0", 2, "--good 1.4 must be older than --bad 1.0"),
        ("one", "1.0", 2, "Invalid version"),
    ],
)
def test_what_cannot_be_bisected_is_said(
    config: Path, good: str, bad: str, code: int, said: str
) -> None:
    kept = config.parent / "environments"
    done = bisect(config, good, bad, "--environments", str(kept))
    assert done.exit_code == code, done.output
    assert said in done.output


@pytest.mark.long
@pytest.mark.usefixtures("index", "toys_known")
def test_a_folder_that_is_no_environment_is_left_as_it_is(config: Path, tmp_path: Path) -> None:
    mine = tmp_path / "toyids-1.0" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine", encoding="utf-8")
    done = bisect(config, "1.0", "1.4", "--environments", str(tmp_path))
    assert done.exit_code == 2
    assert "toyids-1.0: is not an environment" in done.output
    assert mine.read_text(encoding="utf-8") == "mine"


@pytest.mark.long
@pytest.mark.usefixtures("index", "toys_known")
def test_a_package_that_no_tokenizer_uses_is_wrong_usage(config: Path) -> None:
    done = bisect(config, "1.0", "1.4", "--set", "tokenizers={bytes: {type: utf8_bytes}}")
    assert done.exit_code == 2
    assert (
        "no tokenizer of the config uses toyids (bytes: its type requires tokbench)" in done.output
    )


@pytest.mark.long
def test_tiktoken_0_11_is_the_first_that_reads_spelled_special_tokens_as_text_in_encode_to_numpy(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--quiet",
        "--dest",
        str(tmp_path),
    ]
    there = subprocess.run(
        [*asked, "tiktoken==0.11.0"], capture_output=True, text=True, check=False
    )
    if there.returncode:
        pytest.skip(f"needs a package index: {there.stderr.strip()[-200:]}")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    config = tmp_path / "tiktoken.yaml"
    config.write_text(
        "name: x\ncorpora:\n  s: {source: builtin, dataset: sentences, languages: [eng_Latn]}\n"
        "tokenizers:\n  gpt2: {type: tiktoken, encoding: gpt2}\n",
        encoding="utf-8",
    )
    options = ["--package", "tiktoken", "--good", "0.9.0", "--bad", "0.11.0", "--json"]
    done = tokbench("bisect", config, *options)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["first"], found["last_same"]) == ("0.11.0", "0.10.0")
    differences = found["tried"][-1]["differences"]
    numpy = [one for one in differences if one["call"].startswith("encode_to_numpy(disallowed")]
    assert {one["where"] for one in numpy} == {"special tokens"}
    assert [(one["example"], one["before"]) for one in numpy] == [("<|endoftext|>", "50256")]
