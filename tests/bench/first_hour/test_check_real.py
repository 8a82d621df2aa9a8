"""`tokbench check` on real tokenizers and on sick ones: what is known of them comes out."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Tokbench = Callable[..., subprocess.CompletedProcess[str]]
Checked = Callable[..., Mapping[str, tuple[str, str]]]

pytestmark = [pytest.mark.real, pytest.mark.long]


@pytest.fixture
def checked(
    tokbench: Tokbench, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Checked:
    """Return a function that checks a file and returns verdict and text by name of the check."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))

    def check(file: Path | str, *options: str) -> Mapping[str, tuple[str, str]]:
        path = data_folder / "tokenizers" / file
        done = tokbench(tmp_path, "check", str(path), "--no-growth", "--json", *options)
        report = json.loads(done.stdout)
        failed = any(check["verdict"] == "fail" for check in report["checks"])
        assert (done.returncode, report["problems"]) == (int(failed), []), done.stderr
        return {one["name"]: (one["verdict"], one["text"]) for one in report["checks"]}

    return check


@pytest.mark.parametrize(
    ("file", "entries", "loss"),
    [
        ("claude-legacy/tokenizer.json", "65,000 entries", "compatibility form (NFKC)"),
        ("qwen/qwen3_tokenizer.json.gz", "151,669 entries", "(NFC, canonical equivalence)"),
        ("t5/spiece.model", "32,000 entries", "characters became an unknown token"),
    ],
)
def test_a_model_that_changes_text_is_reported_with_the_class_of_loss(
    file: str, entries: str, loss: str, checked: Checked
) -> None:
    found = checked(file)
    assert found["entries"][1].startswith(entries)
    verdict, text = found["hard strings"]
    assert verdict == "warn"
    assert loss in text


def test_an_alphabet_with_holes_fails_and_a_file_that_truncates_is_a_warning(
    checked: Checked, case_tokenizers: Path
) -> None:
    assert checked(case_tokenizers / "bl_noalphabet.json")["bytes"][0] == "fail"
    verdict, text = checked(case_tokenizers / "bl_trunc16.json")["entries"]
    assert verdict == "warn"
    assert "cuts every text at 16 tokens" in text


def test_missing_ids_fail_and_line_ends_of_windows_are_a_warning(
    checked: Checked, cases_folder: Path
) -> None:
    gap = checked(cases_folder / "more" / "N03_gap.json")["entries"]
    assert gap == (
        "fail",
        "2 entries differ from the file: id 512 is missing and id 513 is missing",
    )
    verdict, text = checked(cases_folder / "more" / "N12_vocab_crlf.txt")["entries"]
    assert verdict == "warn"
    assert "12 lines end in CR LF" in text


def test_two_files_of_one_model_agree_or_the_difference_is_named(
    checked: Checked, data_folder: Path
) -> None:
    gpt2 = checked("gpt2/tokenizer.json", "--against", "gpt2")
    assert gpt2["against gpt2-2"][0] == "pass"
    other = str(data_folder / "tokenizers" / "mistral" / "tokenizer_v1.json")
    verdict, text = checked("mistral/tokenizer_v1.model", "--against", other)[
        "against tokenizer_v1-2"
    ]
    assert verdict == "fail"
    assert "tokenizer_v1 puts a space before the text" in text
