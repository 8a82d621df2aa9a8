"""Training WordPiece: equal to counting everything anew, whatever the order and the hash seed."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.frequent_pairs import Rule
from tokbench.tokenizers_impl.joins import learned_joins, recounted_joins
from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece
from tokbench.tokenizers_impl.wordpiece.trainer import CONTINUED, WordPieceTrainer, train_vocabulary

WORDS = {"lower": 5, "lowest": 2, "newest": 6}
TEXTS = [
    "The river runs under the little stone house; the bird is over the river.",
    "A runner ran, running under the running water. Rivers run!",
    "Ein Fluß, naïve café 東京 123 running runner's",
] * 4


def test_likelihood_joins_what_is_rarely_apart_and_frequency_what_is_often_together() -> None:
    likely = next(learned_joins(WORDS, rule="likelihood", min_frequency=1, spelling=CONTINUED))
    # ##r only ever follows ##e, five times: 5 / (19 * 5); lo: 7 / (7 * 7); ne: 6 / (6 * 19)
    assert (likely.token, likely.count, likely.score) == ("lo", 7, 7 / 49)
    frequent = next(learned_joins(WORDS, rule="frequency", min_frequency=1, spelling=CONTINUED))
    # (##w, ##e) 13 times, as for BPE
    assert (frequent.token, frequent.count) == ("##we", 13)


def test_a_minimum_frequency_keeps_single_misspellings_out() -> None:
    words = {**WORDS, "xq": 1}
    assert (
        next(learned_joins(words, rule="likelihood", min_frequency=1, spelling=CONTINUED)).token
        == "xq"
    )
    assert next(learned_joins(words, rule="likelihood", min_frequency=2)).token == "lo"


@settings(max_examples=150, deadline=None)
@given(
    words=st.dictionaries(st.text("abc", min_size=1, max_size=9), st.integers(1, 9), max_size=12),
    rule=st.sampled_from(["likelihood", "frequency"]),
    min_frequency=st.integers(1, 4),
)
def test_counts_kept_up_to_date_equal_counting_anew(
    words: dict[str, int], rule: Rule, min_frequency: int
) -> None:
    kept = learned_joins(words, rule=rule, min_frequency=min_frequency, spelling=CONTINUED)
    anew = recounted_joins(words, rule=rule, min_frequency=min_frequency, spelling=CONTINUED)
    assert list(itertools.islice(kept, 60)) == list(itertools.islice(anew, 60))


def test_real_words_equal_counting_anew(corpus_texts: object) -> None:
    from tokbench.tokenizers_impl.wordpiece.bert_characters import BertOptions, count_words

    texts = corpus_texts("flores200", "deu_Latn", 150)  # type: ignore[operator]
    words = count_words(texts, BertOptions(lowercase=True))
    kept = learned_joins(words, rule="likelihood", min_frequency=3, spelling=CONTINUED)
    anew = recounted_joins(words, rule="likelihood", min_frequency=3, spelling=CONTINUED)
    assert list(itertools.islice(kept, 80)) == list(itertools.islice(anew, 80))


def test_the_order_of_documents_does_not_matter(tmp_path: Path) -> None:
    shuffled = list(TEXTS)
    random.Random(1).shuffle(shuffled)
    trainer = WordPieceTrainer(vocab_size=120, min_frequency=2)
    first = trainer.train(TEXTS, tmp_path / "a")
    second = trainer.train(shuffled, tmp_path / "b")
    assert first.facts == second.facts


def test_the_hash_seed_does_not_matter(tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from tokbench.tokenizers_impl.wordpiece.trainer import WordPieceTrainer
model = WordPieceTrainer(vocab_size=120, min_frequency=2).train({TEXTS!r}, Path({str(tmp_path)!r}))
print(model.facts["model_sha256"])
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("rule", ["likelihood", "frequency"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_saved_format_loads_back_to_equal_ids(
    rule: Rule, lowercase: bool, tmp_path: Path
) -> None:
    trainer = WordPieceTrainer(vocab_size=150, min_frequency=2, rule=rule, lowercase=lowercase)
    model = trainer.train(TEXTS, tmp_path)
    context = LoadContext(folder=tmp_path)
    texts = [*TEXTS, "The RUNNER's   naïve café — 東京 zzz"]
    own = WordPiece(file=model.tokenizer["file"]).load(context)
    expected = list(map(list, own.encode_batch(texts)))
    vocab_txt = WordPiece(file="vocab.txt", lowercase=lowercase).load(context)
    assert vocab_txt.encode_batch(texts) == expected
    assert vocab_txt.fingerprint == own.fingerprint
    library = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [e.ids for e in library.encode_batch(texts)] == expected
    bert = tokenizers.BertWordPieceTokenizer(str(tmp_path / "vocab.txt"), lowercase=lowercase)
    assert [e.ids for e in bert.encode_batch(texts, add_special_tokens=False)] == expected


def test_characters_beyond_the_limit_and_long_words_are_not_trained_on() -> None:
    words = {"ab": 5, "q": 1, "a" * 101: 50}
    entries = train_vocabulary(words, vocab_size=99, special_tokens=["[UNK]"], limit_alphabet=2)
    assert entries == ["[UNK]", "a", "##b", "ab"]


def test_a_size_that_was_missed_is_said(tmp_path: Path) -> None:
    model = WordPieceTrainer(vocab_size=5000).train(TEXTS, tmp_path)
    assert model.vocab_size_reached < 5000
    assert "5000 was requested" in model.notes[0]
    assert model.documents == len(TEXTS)


def test_training_input_is_checked(tmp_path: Path) -> None:
    trainer = WordPieceTrainer(vocab_size=100)
    for texts, message in (
        ("bare", "bare string"),
        ([], "no documents"),
        (["a", None], "document 1"),
    ):
        with pytest.raises(TrainingError, match=message):
            trainer.train(texts, tmp_path)  # type: ignore[arg-type]
