"""What making a slice costs beside encoding its text once with tiktoken, and how large it is.

    TOKBENCH_DATA=FOLDER python -m tokbench.suites.perf.first_slices [--rounds 9]

Each round makes the slices of one kind of text anew from JSON lines, finds words and graphemes of
the same batches, and encodes the text with cl100k_base, in random order, on one thread. Printed are
medians of CPU seconds ÷ those of tiktoken in the same round, with their range, and the bytes on disk
for each byte of text.
"""

from __future__ import annotations

import gc
import json
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import psutil

from tokbench.bench.config.corpora import FilesCorpus
from tokbench.bench.console import result
from tokbench.bench.corpus import segment
from tokbench.bench.corpus.slice_file import Slice
from tokbench.bench.corpus.slices import materialise
from tokbench.suites.perf.engines import PerfData, perf_data

TEN = "eng_Latn deu_Latn fra_Latn spa_Latn rus_Cyrl arb_Arab hin_Deva tur_Latn vie_Latn kor_Hang"


def texts_of(data: PerfData) -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return the documents of each kind of text by language."""
    flores = {name: data.column(f"flores200/{name}.parquet") for name in TEN.split()}
    return {
        "English, with line ends": {"en": data.novels()},
        "code": {"python": data.texts("code")},
        "10 languages": flores,
    }


class SliceCosts:
    """The steps that are timed, over the text of one kind in a folder of its own."""

    def __init__(
        self,
        languages: Mapping[str, Sequence[str]],
        folder: Path,
        encode: Callable[[str], object],
        *,
        code: bool,
    ) -> None:
        self._folder, self._languages = folder, list(languages)
        for name, texts in languages.items():
            rows = (json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
            (folder / f"{name}.jsonl").write_text("".join(rows), "utf-8")
        self._corpus = FilesCorpus.model_validate(
            {
                "source": "files",
                "path": "{language}.jsonl",
                "kind": "code" if code else "natural",
                "languages": self._languages,
            }
        )
        self._encode = encode
        self._batches = [batch.texts for one in self.slices() for batch in one.batches()]

    def steps(self) -> dict[str, Callable[[], object]]:
        """Return what is timed, by name."""
        return {"encode": self.encode, "words": self.words, "slice": self.slices}

    def encode(self) -> None:
        """Encode every document."""
        for texts in self._batches:
            for text in texts:
                self._encode(text)

    def words(self) -> None:
        """Find words and graphemes; code has graphemes only."""
        for texts in self._batches:
            segment.grapheme_counts(texts)
            if self._corpus.kind != "code":
                segment.word_spans(texts)

    def slices(self) -> list[Slice]:
        """Make all slices in an empty cache."""
        cache = self._folder / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        os.environ["TOKBENCH_CACHE"] = str(cache)
        made = [materialise("text", self._corpus, n, self._folder) for n in self._languages]
        self.disk = sum(one.path.stat().st_size for one in made)
        self.text = sum(one.meta.bytes for one in made)
        return made


def take_rounds(costs: SliceCosts, rounds: int) -> dict[str, list[float]]:
    """Return CPU seconds ÷ those of encoding, round by round, for words and for the whole slice."""
    found: dict[str, list[float]] = {"words": [], "slice": []}
    draw = random.Random(3)
    for _ in range(rounds):
        steps = list(costs.steps().items())
        draw.shuffle(steps)
        seconds = {name: _cpu(step) for name, step in steps}
        for name, values in found.items():
            values.append(seconds[name] / seconds["encode"])
    return found


def _cpu(step: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    step()
    return time.process_time() - start


def rows(rounds: int) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    import tiktoken

    encode = tiktoken.get_encoding("cl100k_base").encode_ordinary
    yield "| text | MB | words and graphemes | whole slice | on disk, bytes per byte | load |"
    yield "|---|---|---|---|---|---|"
    for kind, languages in texts_of(perf_data()).items():
        with tempfile.TemporaryDirectory(prefix="tokbench-slices-") as folder:
            costs = SliceCosts(languages, Path(folder), encode, code=kind == "code")
            found = take_rounds(costs, rounds)
        yield (
            f"| {kind} | {costs.text / 1e6:.2f} | {_middle(found['words'])} "
            f"| {_middle(found['slice'])} | {costs.disk / costs.text:.2f} "
            f"| {psutil.getloadavg()[0]:.1f} |"
        )


def _middle(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


@click.command()
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(min=1))
def main(rounds: int) -> None:
    """Print what making slices costs beside encoding, as a Markdown table."""
    for line in rows(rounds):
        result(line)


if __name__ == "__main__":
    main()
