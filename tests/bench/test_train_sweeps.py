"""A list of sizes is one tokenizer each; where merges nest, one training serves them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.commands.train import training_text
from tokbench.bench.config.schema import TrainEntry, load_config
from tokbench.bench.errors import ConfigError
from tokbench.bench.run import trained_models
from tokbench.bench.run.trained_models import SliceTexts, obtain, shared
from tokbench.tokenizers_impl.byte_bpe import trainer

CORPORA = "name: x\ncorpora: {text: {source: builtin, dataset: sentences, languages: [eng_Latn]}}\n"


def config(folder: Path, size: str, *more: str, trainer: str = "byte_bpe") -> Any:
    lines = [
        "tokenizers:",
        f"  a: {{train: {{trainer: {trainer}, corpus: text, vocab_size: {size}}}}}",
    ]
    (folder / "x.yaml").write_text(CORPORA + "\n".join([*lines, *more]) + "\n", encoding="utf-8")
    return load_config(folder / "x.yaml")


def entries(loaded: Any) -> dict[str, TrainEntry]:
    return {k: e for k, e in loaded.tokenizers.items() if isinstance(e, TrainEntry)}


def test_a_list_of_sizes_is_one_tokenizer_each(tmp_path: Path) -> None:
    found = entries(config(tmp_path, "[512, 1024]"))
    assert {key: entry.options["vocab_size"] for key, entry in found.items()} == {
        "a-512": 512,
        "a-1024": 1024,
    }


def test_one_size_keeps_its_key(tmp_path: Path) -> None:
    assert list(config(tmp_path, "512").tokenizers) == ["a"]


def test_a_list_of_one_size_is_a_sweep_all_the_same(tmp_path: Path) -> None:
    assert list(config(tmp_path, "[512]").tokenizers) == ["a-512"]


def test_set_can_make_a_sweep(tmp_path: Path) -> None:
    config(tmp_path, "512")
    loaded = load_config(
        tmp_path / "x.yaml", overrides=["tokenizers.a.train.vocab_size=[300, 400]"]
    )
    assert list(loaded.tokenizers) == ["a-300", "a-400"]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("[]", "x.yaml:4:48: tokenizers.a.train.vocab_size: is an empty list"),
        ("[512, 512]", "tokenizers.a.train.vocab_size.1: 512 is listed twice"),
        ("[512, big]", "tokenizers.a.train.vocab_size.1: a size must be a whole number above 0"),
        ("[true]", "a size must be a whole number above 0, not True"),
    ],
)
def test_a_wrong_list_is_told_with_its_place(tmp_path: Path, size: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config(tmp_path, size)
    assert message in str(raised.value)


def test_a_size_must_not_take_another_tokenizers_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a size of this sweep has the name of another tokenizer"):
        config(tmp_path, "[512, 1024]", "  a-512: {type: utf8_bytes}")


def test_a_mistake_in_a_sweep_is_told_once_and_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        config(tmp_path, "[512, 1024]", trainer="byte_bp")
    [line] = str(raised.value).splitlines()
    assert "tokenizers.a.train.trainer: unknown name 'byte_bp'; did you mean 'byte_bpe'?" in line


def test_only_what_differs_in_size_alone_is_trained_together(tmp_path: Path) -> None:
    other = "  b: {train: {trainer: byte_bpe, corpus: text, vocab_size: 300, min_frequency: 9}}"
    same = "  c: {train: {trainer: byte_bpe, corpus: text, vocab_size: 300}}"
    found = shared(entries(config(tmp_path, "[400, 500]", other, same)))
    assert [list(group) for group in found] == [["a-400", "a-500", "c"], ["b"]]


def test_trainers_that_do_not_nest_are_on_their_own(tmp_path: Path) -> None:
    found = shared(entries(config(tmp_path, "[400, 500]", trainer="wordpiece")))
    assert [list(group) for group in found] == [["a-400"], ["a-500"]]


def test_one_training_gives_what_separate_ones_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = config(tmp_path, "[100, 300, 400, 5000]")
    wanted = entries(loaded)
    slices = training_text(loaded, wanted["a-300"])
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "apart"))
    apart = {key: obtain(key, entry, slices) for key, entry in wanted.items()}
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "together"))
    [group] = shared(wanted)
    calls: list[object] = []
    learn = trainer.fast_merges
    monkeypatch.setattr(
        trainer, "fast_merges", lambda *a, **k: (calls.append(a), learn(*a, **k))[1]
    )
    together = trained_models.train(group, slices, texts=SliceTexts(slices))
    assert len(calls) == 1
    for key in wanted:
        assert together[key].facts == apart[key].facts  # the hash of every file among them
        assert trained_models.stored(key, wanted[key], slices) == together[key]
    reached = [together[key].facts["vocab_size_reached"] for key in wanted]
    assert reached[:3] == [256, 300, 400]
    assert reached[3] < 5000


def test_two_keys_may_ask_for_the_very_same_model(tmp_path: Path) -> None:
    loaded = config(
        tmp_path, "[300, 310]", "  b: {train: {trainer: byte_bpe, corpus: text, vocab_size: 310}}"
    )
    [group] = shared(entries(loaded))
    made = trained_models.train(group, training_text(loaded, group["b"]))
    assert made["b"].facts == made["a-310"].facts
    assert made["b"].source.load().vocabulary.n_ids == 310
