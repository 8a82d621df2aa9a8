"""`--offline` of `train` and `conform`: the Hub is there, and is not asked."""

from __future__ import annotations

import subprocess
import sys

import pytest
from stub_hub import COMMIT, parquet

CONFIG = f"""\
name: offline
corpora:
  theirs: {{source: huggingface, path: owner/texts, revision: {COMMIT}, language: eng_Latn}}
  ours: {{source: builtin, dataset: sentences, languages: [eng_Latn]}}
tokenizers:
  bytes: {{type: utf8_bytes}}
  trained: {{train: {{trainer: byte_bpe, corpus: theirs, vocab_size: 300}}}}
  remote: {{type: huggingface, hub: owner/tokenizer, revision: {COMMIT}}}
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "--tokenizer", "trained"), "data set 'owner/texts' cannot be reached"),
        (
            ("conform", "--reference", "bytes", "--engine", "remote"),
            f"Hub repository owner/tokenizer at revision '{COMMIT}' cannot be reached",
        ),
    ],
)
def test_offline_asks_nobody_and_ends_with_3(hub, environment, tmp_path, arguments, said) -> None:
    hub.add("datasets/owner/texts", {"data/train.parquet": parquet("one", "two")})
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    command, *options = arguments
    done = subprocess.run(
        [sys.executable, "-m", "tokbench", command, "c.yaml", *options, "--offline"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"{said}: no answer from the Hub (offline mode is on)" in done.stderr
    assert hub.requests == []
