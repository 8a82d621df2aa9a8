"""A training that will take long says so before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tokbench.bench.cli import main
from tokbench.bench.plugins import TextSizes, TrainerPlugin
from tokbench.tokenizers_impl.adapters.huggingface_trainer import TokenizersBPE
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer


def sizes(*documents: int) -> TextSizes:
    return TextSizes(
        documents=len(documents),
        bytes=sum(documents),
        longest=max(documents),
        squares=sum(n * n for n in documents),
    )


def test_time_grows_with_the_square_of_a_line_and_memory_with_all_text() -> None:
    trainer = TokenizersBPE(vocab_size=1000, pre_tokenization="none")
    once, twice = trainer.warning(sizes(200_000)), trainer.warning(sizes(200_000, 200_000))
    assert once is not None
    assert twice is not None
    assert "(200,000 bytes)" in once
    assert "about 20 s and 20 MB" in once  # 0.5 ns × 200,000²; 120 bytes × 200,000
    assert "about 40 s and 50 MB" in twice


@pytest.mark.parametrize(
    ("trainer", "documents"),
    [
        (TokenizersBPE(vocab_size=1000), [10_000_000]),
        (TokenizersBPE(vocab_size=1000, pre_tokenization="none"), [9_999] * 100),
        (ByteBPETrainer(vocab_size=1000, pre_tokenization="none"), [1_000_000]),
        (ByteBPETrainer(vocab_size=1000), [100_000_000]),
    ],
)
def test_what_is_cut_or_short_or_cheap_is_not_warned_of(
    trainer: TrainerPlugin, documents: list[int]
) -> None:
    assert trainer.warning(sizes(*documents)) is None


def test_our_own_trainer_warns_of_memory() -> None:
    trainer = ByteBPETrainer(vocab_size=1000, pre_tokenization="none")
    assert "about 60 s and 4.0 GB" in (trainer.warning(sizes(100_000_000)) or "")


@pytest.mark.parametrize("command", ["validate", "train", "run"])
def test_a_line_of_60_000_characters_is_warned_of_first(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "t.txt").write_text("ab cd" * 12_000, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        "name: c\ncorpora: {t: {source: files, language: en, path: t.txt}}\ntokenizers:\n"
        "  mine: {train: {trainer: tokenizers_bpe, corpus: t, vocab_size: 260, "
        "pre_tokenization: none}}\nsuites: [efficiency]\n"
    )
    monkeypatch.chdir(tmp_path)
    lines = CliRunner().invoke(main, [command, "c.yaml"]).stderr.splitlines()
    warned = [line for line in lines if line.startswith("warning: ")]
    assert len(warned) == 1
    assert "mine: pre_tokenization: none makes one piece of the longest document" in warned[0]
