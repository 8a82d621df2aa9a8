"""`balance` of a `train:` block: how often the text of each language is seen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from pathlib import Path

import pytest

from tokbench.bench.commands.train import training_text
from tokbench.bench.config.schema import TrainEntry, load_config
from tokbench.bench.corpus.balance import BalancedTexts, by_premium, factors
from tokbench.bench.errors import ConfigError, TrainingError
from tokbench.bench.run.trained_models import Trained, obtain, shared, stored

EN = ["the cat sat on the mat", "the dog sat on the log", "the end of the day", "at the sea"]
DE = ["die Katze saß auf der Matte"]


@dataclass
class Labelled:
    """Texts with language and weight."""

    rows: list[tuple[str, int, str]]

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        return ((text, weight) for text, weight, _ in self.rows)

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        return iter(self.rows)


def test_documents_are_seen_more_often_evenly_spread() -> None:
    texts = Labelled([*((str(i), 1, "is") for i in range(4)), ("x", 1, "en")])
    seen = BalancedTexts(texts, {"is": Fraction(5, 2), "en": Fraction(1)})
    assert [weight for _, weight in seen.weighted()] == [2, 3, 2, 3, 1]
    assert Counter(seen) == {"0": 2, "1": 3, "2": 2, "3": 3, "x": 1}
    assert list(seen) == list(seen)


def test_weights_of_documents_are_kept_in_it() -> None:
    seen = BalancedTexts(Labelled([("a", 3, "is"), ("b", 1, "is")]), {"is": Fraction(3, 2)})
    assert list(seen.weighted()) == [("a", 4), ("b", 2)]  # of 4 sightings, 6


def test_bytes_and_languages_are_raised_to_the_largest() -> None:
    texts = Labelled([("ab", 1, "en"), ("abcd", 1, "en"), ("ä", 1, "de")])
    assert factors(texts, "bytes") == {"en": 1, "de": 3}  # 6 bytes ÷ 2
    assert factors(texts, "languages") == {"en": 1, "de": 2}


def test_premium_weighs_by_tokens_over_those_of_the_cheapest() -> None:
    assert by_premium({"en": 200, "de": 300, "my": 900}) == {
        "en": 1, "de": Fraction(3, 2), "my": Fraction(9, 2),
    }  # fmt: skip


def test_a_language_without_text_is_refused() -> None:
    with pytest.raises(TrainingError, match="is has no text"):
        factors(Labelled([("a", 1, "en"), ("", 1, "is")]), "bytes")


def config(folder: Path, balance: str | None, *, parallel: bool = False, **options: int) -> Path:
    for name, texts in ("en", EN), ("de", DE * (len(EN) if parallel else 1)):
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    corpus = {"source": "files", "path": "{language}.txt", "languages": ["en", "de"]}
    if parallel:
        corpus |= {"parallel": True, "pivot": "en"}  # type: ignore[dict-item]
    train = {"trainer": "byte_bpe", "corpus": "text", "vocab_size": 280, **options}
    if balance is not None:
        train["balance"] = balance
    (folder / "c.yaml").write_text(
        json.dumps(
            {"name": "c", "corpora": {"text": corpus}, "tokenizers": {"a": {"train": train}}}
        )
    )
    return folder / "c.yaml"


def trained(path: Path) -> Trained:
    loaded = load_config(path)
    entry = loaded.tokenizers["a"]
    assert isinstance(entry, TrainEntry)
    slices = training_text(loaded, entry)
    model = obtain("a", entry, slices)
    assert stored("a", entry, slices) == model
    return model


def test_a_balanced_training_is_another_model_that_says_how_it_was_balanced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    plain = trained(config(tmp_path, None))
    balanced = trained(config(tmp_path, "languages"))
    assert balanced.source.folder != plain.source.folder
    assert (plain.facts["documents"], balanced.facts["documents"]) == (5, 8)
    assert balanced.facts["facts"]["balance"] == "languages"
    assert balanced.facts["facts"]["seen"] == {"en": 1.0, "de": 4.0}


def test_premium_is_what_a_training_without_balance_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "cache"))
    model = trained(config(tmp_path, "premium", parallel=True, vocab_size=256))
    n_en, n_de = (sum(len(t.encode()) for t in texts) for texts in (EN, DE * 4))
    assert model.facts["facts"]["seen"] == {"en": 1.0, "de": round(n_de / n_en, 4)}


def test_sizes_share_a_training_but_for_premium(tmp_path: Path) -> None:
    for balance, groups in ("bytes", 1), ("premium", 2):
        path = config(tmp_path, balance, parallel=True)
        text = path.read_text().replace('"vocab_size": 280', '"vocab_size": [280, 290]')
        path.write_text(text)
        entries = {
            k: e for k, e in load_config(path).tokenizers.items() if isinstance(e, TrainEntry)
        }
        assert len(shared(entries)) == groups


def test_premium_on_text_that_is_not_parallel_is_a_mistake_of_the_config(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="balance: `premium` requires parallel text"):
        load_config(config(tmp_path, "premium"))
