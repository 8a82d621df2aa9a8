"""How fast tokbench's own tokenizers encode beside the libraries of the same algorithm.

    TOKBENCH_DATA=FOLDER python -m tokbench.suites.perf.engines [PAIR...] [--kilobytes 120]

Each block of documents is text that neither side has seen; both encode it once (`new`) and once
more (`again`), on one thread, taking turns in random order. Printed are medians of library ÷ own CPU
seconds, block by block, with their quartiles: above 1 the own one is faster. Words of earlier blocks
stay known, as in a run. Ids of every document are compared.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psutil

from tokbench.bench.console import result
from tokbench.bench.errors import UsageError
from tokbench.bench.plugins import LoadContext

Texts = Sequence[str]
WARM_UP = 2
"""So many blocks are encoded before any is timed."""


@dataclass(frozen=True, kw_only=True)
class EnginePair:
    """The two sides; each encodes documents, and its answer becomes lists of ids."""

    library: Callable[[Texts], Any]
    own: Callable[[Texts], Any]
    library_ids: Callable[[Any], list[list[int]]] = list
    prepare: Callable[[Texts], Texts] = list
    """Makes what the own side takes of the library's texts, outside the timing."""


@dataclass(kw_only=True)
class BlockTurns:
    """Library ÷ own CPU seconds of each block, and how many documents had other ids."""

    new: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    unequal: int = 0


def take_turns(pair: EnginePair, blocks: Sequence[Texts]) -> BlockTurns:
    """Let both sides encode each block, twice."""
    turns, draw = BlockTurns(), random.Random(3)
    for number, block in enumerate(blocks):
        prepared = pair.prepare(block)
        calls = [lambda b=block: pair.library(b), lambda p=prepared: pair.own(p)]
        order = draw.sample((0, 1), 2)
        first, second = _timed(calls, order), _timed(calls, order)
        expected = pair.library_ids(first[0][1])
        found = [list(map(int, ids)) for ids in first[1][1]]
        turns.unequal += sum(a != b for a, b in zip(expected, found, strict=True))
        if number >= WARM_UP:
            turns.new.append(first[0][0] / first[1][0])
            turns.again.append(second[0][0] / second[1][0])
    return turns


def _timed(calls: Sequence[Callable[[], Any]], order: Sequence[int]) -> list[tuple[float, Any]]:
    answers: dict[int, tuple[float, Any]] = {}
    gc.collect()
    gc.disable()
    try:
        for side in order:
            start = time.process_time()
            answer = calls[side]()
            answers[side] = time.process_time() - start, answer
    finally:
        gc.enable()
    return [answers[side] for side in range(len(calls))]


class PerfData:
    """The folder of test data: its texts and tokenizers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokenizers = folder / "tokenizers"

    def texts(self, kind: str) -> list[str]:
        """Return the documents of a kind, shuffled, none twice."""
        documents = {"english": self._english, "chinese": self._chinese, "code": self._code}
        found = documents.get(kind, self._languages)()
        random.Random(7).shuffle(found)
        return list(dict.fromkeys(found))

    def novels(self) -> list[str]:
        """Return the paragraphs of English novels, with the line ends inside them."""
        prose = self.folder / "corpora/prose"
        names = ("pride_and_prejudice", "botchan", "alice_in_wonderland")
        novels = [(prose / f"{name}.en.txt").read_text("utf-8").split("\n\n") for name in names]
        return [text for novel in novels for text in novel if text]

    def _english(self) -> list[str]:
        rows = ("debian_handbook/en", "flores200/eng_Latn", "xquad_paragraphs/en", "tico19/en")
        return self.novels() + [t for row in rows for t in self.column(f"{row}.parquet")]

    def _chinese(self) -> list[str]:
        patterns = ("*/zh", "flores200/zho_Hans", "flores200/dev/zho_Hans")
        return [t for pattern in patterns for t in self.column(f"{pattern}.parquet")]

    def _code(self) -> list[str]:
        return [t for t in self.column("source_code/*.parquet") if len(t) < 30_000]

    def _languages(self) -> list[str]:
        return self.column("flores200/dev/*.parquet", limit=700)

    def column(self, pattern: str, limit: int | None = None) -> list[str]:
        """Return the texts of some tables, at most so many of each."""
        import pyarrow.parquet as pq

        tables = sorted((self.folder / "corpora").glob(pattern))
        columns = (pq.read_table(path, columns=["text"])["text"].to_pylist() for path in tables)
        return [text for column in columns for text in [t for t in column if t][:limit]]


def perf_data() -> PerfData:
    """Return the folder in TOKBENCH_DATA; `UsageError` where there is none."""
    folder = os.environ.get("TOKBENCH_DATA")
    if not folder or not Path(folder).is_dir():
        raise UsageError("no test data: set TOKBENCH_DATA to its folder")
    return PerfData(Path(folder))


def blocks_of(texts: Texts, n_bytes: int, most: int) -> list[Texts]:
    """Return runs of documents of about that many bytes each, at most so many."""
    blocks: list[Texts] = []
    begin = size = 0
    for end, text in enumerate(texts, start=1):
        size += len(text.encode())
        if size >= n_bytes and len(blocks) < most:
            blocks.append(texts[begin:end])
            begin, size = end, 0
    return blocks


def byte_bpe(data: PerfData, name: str) -> EnginePair:
    """Return tiktoken, document by document, and `byte_bpe`."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    from tokbench.tokenizers_impl.byte_bpe.tokenizer import ByteBPE

    if name == "llama3":
        path = data.tokenizers / "llama3/tokenizer.model"
        specs = json.loads((data.tokenizers / "tiktoken_specs.json").read_text("utf-8"))
        pattern = specs["llama3/tokenizer.model"]["pat_str"]
        ranks = load_tiktoken_bpe(str(path))
        library = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        options = {"file": str(path), "format": "tiktoken", "pattern": pattern}
    else:
        file = Path(os.environ["TIKTOKEN_CACHE_DIR"], TIKTOKEN_FILES[name])
        library = tiktoken.get_encoding("r50k_base" if name == "gpt2" else f"{name}_base")
        options = {"file": str(file), "format": "tiktoken", "pre_tokenization": name}
    own = ByteBPE.model_validate(options).load(LoadContext(folder=data.folder))
    encode = library.encode_ordinary
    return EnginePair(library=lambda texts: list(map(encode, texts)), own=own.encode_batch)


TIKTOKEN_FILES = {
    "cl100k": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "o200k": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "gpt2": "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4",
}


def wordpiece(data: PerfData, folder: str) -> EnginePair:
    """Return `tokenizers` with a BERT vocabulary, and `wordpiece`."""
    import tokenizers

    from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece

    path, lowercase = str(data.tokenizers / folder / "vocab.txt"), folder.endswith("uncased")
    library = tokenizers.BertWordPieceTokenizer(path, lowercase=lowercase)._tokenizer
    own = WordPiece(file=path, lowercase=lowercase).load(LoadContext(folder=data.folder))
    return EnginePair(
        library=lambda texts: library.encode_batch_fast(texts, add_special_tokens=False),
        library_ids=lambda encoded: [e.ids for e in encoded],
        own=own.encode_batch,
    )


def unigram(data: PerfData, file: str) -> EnginePair:
    """Return `sentencepiece` and Unigram with its pieces, on text that it has normalized."""
    from tokbench.tokenizers_impl.unigram.model import UnigramTokenizer

    library, pieces, scores, special = _sentencepiece(data.tokenizers / file)
    own = UnigramTokenizer(list(zip(pieces, scores, strict=True)), special_tokens=special)
    return EnginePair(
        library=library.encode,
        own=own.encode_marked_batch,
        prepare=lambda texts: list(map(library.normalize, texts)),
    )


def sentencepiece_bpe(data: PerfData, file: str) -> EnginePair:
    """Return `sentencepiece` and `sentencepiece_bpe` with its pieces, ranked by their scores."""
    from tokbench.tokenizers_impl.sentencepiece.bpe import SentencePieceBPETokenizer

    library, pieces, scores, special = _sentencepiece(data.tokenizers / file)
    own = SentencePieceBPETokenizer(
        pieces, scores=scores, special_tokens=special, byte_fallback=True
    )
    return EnginePair(library=library.encode, own=own.encode_batch)


def _sentencepiece(path: Path) -> tuple[Any, list[str], list[float], list[str]]:
    import sentencepiece

    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    ids = range(library.get_piece_size())
    pieces = [library.id_to_piece(i) for i in ids]
    special = [pieces[i] for i in ids if library.is_control(i) or library.is_unknown(i)]
    return library, pieces, [library.get_score(i) for i in ids], special


PAIRS: Mapping[str, tuple[Callable[[PerfData, str], EnginePair], str]] = {
    "cl100k": (byte_bpe, "cl100k"),
    "o200k": (byte_bpe, "o200k"),
    "llama3": (byte_bpe, "llama3"),
    "gpt2": (byte_bpe, "gpt2"),
    "bert-uncased": (wordpiece, "bert-base-uncased"),
    "bert-multilingual": (wordpiece, "bert-base-multilingual-cased"),
    "t5": (unigram, "t5/spiece.model"),
    "xlm-r": (unigram, "xlm-roberta/sentencepiece.bpe.model"),
    "llama2": (sentencepiece_bpe, "llama2/tokenizer.model"),
}
KINDS = ("english", "chinese", "code", "49 languages")


def rows(names: Sequence[str], kinds: Sequence[str], size: int, most: int) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    data = perf_data()
    yield "| pieces | text | batch | new | again | documents with other ids | load |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        build, argument = PAIRS[name]
        for kind in kinds:
            blocks = blocks_of(data.texts(kind), size, most)
            turns = take_turns(build(data, argument), blocks)
            load = psutil.getloadavg()[0]
            yield (
                f"| {name} | {kind} | {len(blocks)} × {size // 1000} kB | {_middle(turns.new)} "
                f"| {_middle(turns.again)} | {turns.unequal} | {load:.1f} |"
            )


def _middle(ratios: Sequence[float]) -> str:
    low, _, high = statistics.quantiles(ratios, n=4)
    return f"{statistics.median(ratios):.2f} ({low:.2f} to {high:.2f})"


@click.command()
@click.argument("names", metavar="[PAIR]...", nargs=-1, type=click.Choice(list(PAIRS)))
@click.option("--text", "kinds", multiple=True, type=click.Choice(KINDS), help="Kind of text.")
@click.option("--kilobytes", default=120, show_default=True, help="Size of a block.")
@click.option("--blocks", default=14, show_default=True, help="Most blocks of a kind of text.")
def main(names: Sequence[str], kinds: Sequence[str], kilobytes: int, blocks: int) -> None:
    """Print how fast own tokenizers encode beside the libraries, as a Markdown table."""
    os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    for line in rows(names or list(PAIRS), kinds or KINDS, 1000 * kilobytes, blocks):
        result(line)


if __name__ == "__main__":
    main()
