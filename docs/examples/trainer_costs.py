"""CPU and peak memory of trainers and of what they make, taking turns: `trainer_costs.py FOLDER`.

FOLDER holds one text file for each language, named after it, all with the same number of lines.
Every measurement is a fresh process; the kinds take turns, round by round. Printed are medians.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any

from tokbench.bench.plugins import find
from tokbench.plugins import LoadContext, TokenizerPlugin, TrainerPlugin

SIZE, ROUNDS = 8000, 3
KINDS: dict[str, dict[str, Any]] = {
    "byte_bpe": {"trainer": "byte_bpe", "vocab_size": SIZE},
    "superbpe": {"trainer": "superbpe", "vocab_size": SIZE, "transition": SIZE * 4 // 5},
    "extended_bpe": {"trainer": "extended_bpe", "additional_entries": SIZE // 4, "base": True},
    "parity_bpe": {"trainer": "parity_bpe", "vocab_size": SIZE},
    "parity_bpe, half global": {
        "trainer": "parity_bpe", "vocab_size": SIZE, "global_merges": SIZE // 2,
    },
    "picky_bpe": {"trainer": "picky_bpe", "vocab_size": SIZE},
    "trimmed_bpe": {"trainer": "trimmed_bpe", "least": 20, "base": True},
}  # fmt: skip


class Texts:
    """The lines of each language, as trainers read them."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*.txt"))

    def __iter__(self) -> Iterator[str]:
        for text, weight in self.weighted():
            yield from repeat(text, weight)

    def weighted(self) -> Iterator[tuple[str, int]]:
        """Yield each line."""
        return ((text, weight) for text, weight, _ in self.labelled())

    def labelled(self) -> Iterator[tuple[str, int, str]]:
        """Yield each line with its language."""
        for path in self.files:
            for line in path.read_text(encoding="utf-8").splitlines():
                yield line, 1, path.stem


def measured(kind: str, texts: Texts, place: Path) -> dict[str, float]:
    """Train one kind in this process, and encode the same text with what it made."""
    options = dict(KINDS[kind])
    if options.pop("base", False):
        options["file"] = str(place / "byte_bpe" / "model.json")
    trainer = find(TrainerPlugin, options.pop("trainer")).model_validate(options)
    lines = list(texts)
    began = time.process_time()
    model = trainer.train(texts, place / kind)
    trained = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    entry = dict(model.tokenizer)
    plugin = find(TokenizerPlugin, entry.pop("type")).model_validate(entry)
    tokenizer = plugin.load(LoadContext(folder=place / kind))
    began = time.process_time()
    n_tokens = sum(map(len, tokenizer.encode_batch(lines)))
    encoded = time.process_time() - began
    n_bytes = sum(len(line.encode()) for line in lines)
    return {
        "CPU s": trained,
        "peak MB": peak,
        "encode MB/s": n_bytes / 1e6 / encoded,
        "bytes per token": n_bytes / n_tokens,
    }


def main(folder: Path) -> None:
    """Measure all kinds, and print a table."""
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as place:
        for _ in range(ROUNDS):
            for kind in KINDS:
                command = [sys.executable, __file__, str(folder), kind, place]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found[kind].append(json.loads(done.stdout))
    columns = list(found["byte_bpe"][0])
    sys.stdout.write(f"| trainer | {' | '.join(columns)} |\n| :--- |{' ---: |' * len(columns)}\n")
    for kind, rows in found.items():
        cells = [f"{median(row[c] for row in rows):,.3g}" for c in columns]
        sys.stdout.write(f"| {kind} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        sys.stdout.write(
            json.dumps(measured(sys.argv[2], Texts(Path(sys.argv[1])), Path(sys.argv[3])))
        )
