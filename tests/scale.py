"""Measure what a run costs as its corpus grows: CPU seconds per MB, memory, disk.

    python tests/scale.py --text FILE... --megabytes 200 2000 --format jsonl

The corpus is made by perturbing the text of the files, a document of some two kilobytes from a few
of their lines, and is deleted before the next one is made. Sizes are 10^6 bytes of text. One JSON
line is printed for each size; nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE_BYTES = 64 * 10**6


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--text", type=Path, nargs="+", required=True)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[200, 2000])
    parser.add_argument("--format", choices=["jsonl", "parquet"], default="jsonl")
    parser.add_argument("--tokenizer", default="utf8_bytes")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--folder", type=Path, default=None)
    arguments = parser.parse_args()
    lines = [line for path in arguments.text for line in path.read_text("utf-8").splitlines()]
    lines = [line for line in lines if line.strip()]
    for size in arguments.megabytes:
        with tempfile.TemporaryDirectory(prefix="tokbench-scale-", dir=arguments.folder) as name:
            place = Path(name)
            free = shutil.disk_usage(place).free
            if min(free, 30 * 10**9) < size * 10**6 * 3.5:
                raise SystemExit(
                    f"{size} MB need {size * 3.5 / 1e3:.1f} GB; {free / 1e9:.1f} are free"
                )
            write(place / "text", lines, size * 10**6, arguments.format)
            print_line(measured(place, size, arguments))


def print_line(found: dict[str, Any]) -> None:
    """Print one result at once."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def documents(lines: list[str], wanted: int) -> Iterator[str]:
    """Yield documents of some two kilobytes until there are so many bytes."""
    rng, done = random.Random(0), 0
    while done < wanted:
        at, text = rng.randrange(len(lines)), ""
        while len(text) < 2000:
            text += lines[at % len(lines)] + f" {rng.random():.9f}\n"
            at += 1
        done += len(text.encode())
        yield text


def write(folder: Path, lines: list[str], wanted: int, kind: str) -> None:
    """Write the corpus as files of `FILE_BYTES`."""
    folder.mkdir()
    some: list[str] = []
    size = number = 0
    for text in documents(lines, wanted):
        some.append(text)
        size += len(text)
        if size > FILE_BYTES:
            write_file(folder / f"{number:05}.{kind}", some)
            some, size, number = [], 0, number + 1
    if some:
        write_file(folder / f"{number:05}.{kind}", some)


def write_file(path: Path, texts: list[str]) -> None:
    """Write one file of the corpus."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": texts}), path, row_group_size=4096)
        return
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")


def measured(place: Path, size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run once with an empty cache; return what it cost."""
    config = {
        "name": "scale",
        "corpora": {
            "c": {"source": "files", "path": f"text/*.{arguments.format}", "language": "en"}
        },
        "tokenizers": [arguments.tokenizer],
        "suites": ["efficiency", "information", "fidelity"],
        "reports": ["markdown"],
    }
    (place / "scale.yaml").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "tokbench", "run", "scale.yaml", "--quiet"]
    started = time.monotonic()
    environment = {**os.environ, "TOKBENCH_CACHE": str(place / "cache")}
    command += ["--jobs", arguments.jobs]
    subprocess.run(command, cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - started
    told = json.loads((place / "runs/scale-1/environment.json").read_text("utf-8"))
    peaks = dict(told["peak_bytes"])
    disk = sum(p.stat().st_size for p in place.rglob("*") if p.is_file() and "text" not in p.parts)
    return {
        "megabytes": size,
        "format": arguments.format,
        "wall_seconds": round(wall, 1),
        "cpu_seconds_per_mb": round(sum(told["cpu_seconds"].values()) / size, 4),
        "cpu_seconds": told["cpu_seconds"],
        "driver_peak_mb": round(peaks.pop("run") / 1e6),
        "worker_peak_mb": round(max(peaks.values()) / 1e6),
        "disk_mb": round(disk / 1e6),
    }


if __name__ == "__main__":
    main()
