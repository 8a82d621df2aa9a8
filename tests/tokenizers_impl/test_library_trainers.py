"""The libraries' trainers: what they skip is counted, what they refuse is readable."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import sentencepiece
import tokenizers

from tokbench.bench.errors import TrainingError
from tokbench.bench.plugins import TrainerPlugin
from tokbench.tokenizers_impl.adapters.huggingface_trainer import (
    TokenizersBPE,
    TokenizersUnigram,
    TokenizersWordPiece,
)
from tokbench.tokenizers_impl.adapters.sentencepiece_trainer import (
    SpmBPE,
    SpmUnigram,
)

ALL: list[type[TrainerPlugin]] = [
    TokenizersBPE,
    TokenizersWordPiece,
    TokenizersUnigram,
    SpmBPE,
    SpmUnigram,
]
WORDS = [
    "the",
    "a",
    "river",
    "stone",
    "little",
    "house",
    "bird",
    "over",
    "café",
    "naïve",
    "straße",
    "Ελλάδα",
    "привет",
    "東京",
    "नमस्ते",
    "12",
    ".",
]


def corpus(n: int = 300) -> list[str]:
    draw = random.Random(0)
    return [" ".join(draw.choice(WORDS) for _ in range(draw.randint(4, 14))) for _ in range(n)]


def trainer(kind: type[TrainerPlugin], **options: object) -> TrainerPlugin:
    return kind.model_validate({"vocab_size": 400, **options})


@pytest.mark.parametrize("kind", ALL)
def test_documents_and_bytes_are_those_of_the_corpus(
    kind: type[TrainerPlugin], tmp_path: Path
) -> None:
    texts = corpus()
    model = trainer(kind).train(texts, tmp_path)
    assert model.documents == len(texts)
    assert model.bytes == sum(len(t.encode()) for t in texts)
    assert (tmp_path / model.tokenizer["file"]).exists()
    assert model.vocab_size_requested == 400


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one bare string", "bare string"),
        (["a b", None, "c"], "document 1 is NoneType"),
        (["a b", "c \ud800"], "document 1 holds a lone surrogate at code point 2"),
        ([], "no documents"),
        (iter([]), "already read"),
        (["", ""], "all 2 documents are empty"),
    ],
)
def test_input_that_is_not_text_is_refused_by_name(
    kind: type[TrainerPlugin], texts: Sequence[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=message):
        trainer(kind).train(texts, tmp_path)


@pytest.mark.parametrize("kind", ALL)
def test_a_corpus_that_cannot_fill_the_vocabulary_gives_a_smaller_one_and_says_so(
    kind: type[TrainerPlugin], tmp_path: Path
) -> None:
    model = trainer(kind, vocab_size=8000).train(corpus(), tmp_path)
    assert 0 < model.vocab_size_reached < 8000
    assert f"8000 was requested and {model.vocab_size_reached} reached" in model.notes[0]


@pytest.mark.parametrize("kind", [SpmBPE, SpmUnigram, TokenizersUnigram])
def test_a_vocabulary_smaller_than_the_characters_is_refused_with_the_size_needed(
    kind: type[TrainerPlugin], tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=r"vocab_size 10 is too small .* need \d\d"):
        trainer(kind, vocab_size=10).train(corpus(), tmp_path)


def test_bpe_keeps_all_bytes_even_when_fewer_entries_were_asked_for(tmp_path: Path) -> None:
    model = trainer(TokenizersBPE, vocab_size=50).train(corpus(), tmp_path)
    assert model.vocab_size_reached == 256
    assert "the alphabet alone is larger" in model.notes[0]


@pytest.mark.parametrize("kind", [SpmBPE, SpmUnigram])
def test_lines_that_sentencepiece_skips_are_counted(
    kind: type[TrainerPlugin], tmp_path: Path
) -> None:
    long, reserved = "long " * 1000, "bars ▃▅▇"
    model = trainer(kind).train([*corpus(), long, f"fine\n{reserved}\n\n"], tmp_path)
    assert model.lines_skipped == 2
    assert model.bytes_skipped == 5000 + len(reserved.encode())
    assert "1 lines longer than 4192 bytes" in " ".join(model.notes)
    assert "U+2585" in " ".join(model.notes)


@pytest.mark.parametrize("kind", [SpmBPE, SpmUnigram])
def test_a_corpus_of_long_lines_only_is_refused_in_words(
    kind: type[TrainerPlugin], tmp_path: Path
) -> None:
    with pytest.raises(TrainingError, match=r"no line of the 2 documents .* longer than 4192"):
        trainer(kind).train(["x" * 5000, "y" * 5000], tmp_path)


def test_special_tokens_take_the_first_ids_in_their_order(tmp_path: Path) -> None:
    specials = ("<pad>", "</s>", "<unk>", "<mask>")
    model = trainer(SpmBPE, special_tokens=specials).train(corpus(), tmp_path)
    loaded = sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / model.tokenizer["file"])
    )
    assert [loaded.id_to_piece(i) for i in range(4)] == list(specials)
    assert loaded.unk_id() == 2
    assert loaded.bos_id() == -1


def test_without_an_unknown_token_training_is_refused(tmp_path: Path) -> None:
    for kind in (TokenizersWordPiece, TokenizersUnigram, SpmUnigram):
        with pytest.raises(TrainingError, match="special_tokens must name"):
            trainer(kind, special_tokens=("<mask>",)).train(corpus(), tmp_path)


def test_wordpiece_characters_are_not_special_tokens(tmp_path: Path) -> None:
    trainer(TokenizersWordPiece).train(corpus(), tmp_path)
    loaded = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [t.content for t in loaded.get_added_tokens_decoder().values()] == [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
    ]  # fmt: skip
    assert loaded.encode("The river").tokens == ["the", "river"]


TRAIN_AND_HASH = """
import sys, tempfile
from pathlib import Path
from tests_corpus import corpus
from tokbench.tokenizers_impl.adapters import huggingface_trainer, sentencepiece_trainer
for module in (huggingface_trainer, sentencepiece_trainer):
    for name in ("TokenizersBPE", "TokenizersWordPiece", "SpmBPE", "SpmUnigram"):
        if kind := getattr(module, name, None):
            with tempfile.TemporaryDirectory() as folder:
                options = {"limit_alphabet": 20} if name == "TokenizersWordPiece" else {}
                model = kind(vocab_size=400, **options).train(corpus(), Path(folder))
                assert model.deterministic
                print(name, model.facts["model_sha256"])
"""


def test_trainers_that_claim_it_give_one_model_in_every_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / "src"
    source = Path(__file__).read_text(encoding="utf-8")
    start, stop = source.index("WORDS ="), source.index("def trainer(")
    (tmp_path / "tests_corpus.py").write_text("import random\n" + source[start:stop], "utf-8")
    outputs = {
        subprocess.run(
            [sys.executable, "-c", TRAIN_AND_HASH],
            env={"PYTHONPATH": f"{root}:{tmp_path}", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == 4
