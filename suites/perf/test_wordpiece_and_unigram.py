"""How fast the from-scratch WordPiece and Unigram are beside the libraries of the same algorithm.

Run with `pytest suites/perf --benchmark-only`. Both sides take turns on the same text, on one
thread, and the ratio of their CPU times (library ÷ ours, above 1 means faster than the library)
is the result, in `extra_info`. First sight is a fresh tokenizer; again is the same text once more.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.unigram.model import UnigramTokenizer
from tokbench.tokenizers_impl.unigram.trainer import UnigramTrainer
from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece
from tokbench.tokenizers_impl.wordpiece.trainer import WordPieceTrainer

pytest.importorskip("pytest_benchmark")

FOLDER = Path(
    os.environ.get("TOKBENCH_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
)
ROUNDS = 3
TEXTS = {
    "english": ["xquad_paragraphs/en", "tico19/en"],
    "code": ["source_code/python"],
    "chinese": ["debian_handbook/zh"],
    "mixed": [
        f"flores200/{x}" for x in ("fin_Latn", "rus_Cyrl", "arb_Arab", "hin_Deva", "tha_Thai")
    ],
}


@pytest.fixture(autouse=True)
def _only_when_asked_for(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("benchmark_only", default=False):
        pytest.skip("a speed measurement: run with --benchmark-only")
    if not FOLDER.is_dir():
        pytest.skip(f"no test data in {FOLDER} (set TOKBENCH_DATA)")


@cache
def texts(name: str) -> tuple[str, ...]:
    """Return the documents of a kind of text."""
    rows: list[str] = []
    for file in TEXTS[name]:
        table = pyarrow.parquet.read_table(FOLDER / "corpora" / f"{file}.parquet")
        rows += [row for row in table["text"].to_pylist() if row]
    return tuple(rows)


def cpu_seconds(call: Callable[[], object]) -> float:
    """Time one call, garbage collection off."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.enable()


def compare(
    benchmark: Any,
    n_bytes: int,
    library: Callable[[], object],
    fresh: Callable[[], Callable[[], object]],
) -> None:
    """Take turns; `fresh` makes our call anew, with nothing remembered."""
    first, again, theirs = [], [], []
    for _ in range(ROUNDS):
        call = fresh()
        first.append(cpu_seconds(call))
        theirs.append(cpu_seconds(library))
        again.append(cpu_seconds(call))
    megabytes = n_bytes / 1e6
    median = statistics.median
    benchmark.extra_info.update(
        ratio_first_sight=round(median(t / o for t, o in zip(theirs, first, strict=True)), 3),
        ratio_again=round(median(t / o for t, o in zip(theirs, again, strict=True)), 3),
        library_mb_per_s=round(megabytes / median(theirs), 2),
        ours_mb_per_s=round(megabytes / median(first), 2),
    )
    benchmark.pedantic(fresh(), rounds=1)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", ["bert-base-uncased", "bert-base-multilingual-cased"])
def test_wordpiece_encoding(name: str, kind: str, benchmark: Any) -> None:
    import tokenizers

    path = FOLDER / "tokenizers" / name / "vocab.txt"
    lowercase = name.endswith("uncased")
    documents = list(texts(kind))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    library = tokenizers.BertWordPieceTokenizer(str(path), lowercase=lowercase)._tokenizer

    def fresh() -> Callable[[], object]:
        mine = WordPiece(file=str(path), lowercase=lowercase).load(LoadContext(folder=FOLDER))
        return lambda: mine.encode_batch(documents)

    def theirs() -> list[list[int]]:
        encoded = library.encode_batch_fast(documents, add_special_tokens=False)
        return [e.ids for e in encoded]

    assert fresh()() == theirs()
    compare(benchmark, sum(len(t.encode()) for t in documents), theirs, fresh)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", ["t5/spiece.model", "xlm-roberta/sentencepiece.bpe.model"])
def test_unigram_encoding(name: str, kind: str, benchmark: Any) -> None:
    import sentencepiece

    model = str(FOLDER / "tokenizers" / name)
    library = sentencepiece.SentencePieceProcessor(model_file=model)
    pieces = [
        (library.id_to_piece(i), library.get_score(i)) for i in range(library.get_piece_size())
    ]
    # the library normalizes within its call; normalizing again changes nothing, but costs it time
    marked = [library.normalize(text) for text in texts(kind)]
    documents = [text.replace("▁", " ").removeprefix(" ") for text in marked]

    def fresh() -> Callable[[], object]:
        mine = UnigramTokenizer(pieces)
        return lambda: mine.encode_marked_batch(marked)

    def theirs() -> object:
        return library.encode(documents, num_threads=1)

    assert fresh()() == theirs()
    compare(benchmark, sum(len(t.encode()) for t in documents), theirs, fresh)


@pytest.mark.parametrize("kind", ["english", "chinese"])
def test_unigram_training(kind: str, tmp_path: Path, benchmark: Any) -> None:
    from tokbench.tokenizers_impl.adapters.sentencepiece_trainer import SpmUnigram

    documents = list(texts(kind))
    mine = UnigramTrainer(vocab_size=8000)
    library = SpmUnigram(
        vocab_size=8000,
        byte_fallback=True,
        normalization="identity",
        remove_extra_whitespaces=False,
    )
    compare(
        benchmark,
        sum(len(t.encode()) for t in documents),
        lambda: library.train(documents, tmp_path),
        lambda: lambda: mine.train(documents, tmp_path),
    )


@pytest.mark.parametrize("rule", ["likelihood", "frequency"])
def test_wordpiece_training(rule: str, tmp_path: Path, benchmark: Any) -> None:
    from tokbench.tokenizers_impl.adapters.huggingface_trainer import TokenizersWordPiece

    documents = list(texts("mixed") + texts("english"))
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    mine = WordPieceTrainer.model_validate({"vocab_size": 16000, "rule": rule})
    library = TokenizersWordPiece(vocab_size=16000, min_frequency=5)
    compare(
        benchmark,
        sum(len(t.encode()) for t in documents),
        lambda: library.train(documents, tmp_path),
        lambda: lambda: mine.train(documents, tmp_path),
    )
