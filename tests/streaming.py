"""Run a small and a large corpus and compare the memory that each needs.

    python tests/streaming.py --megabytes 200 2000 --limit 1.5

The corpora are prose of TOKBENCH_DATA (else the bundled sentences), repeated with every row
changed, so that no cache of texts or words helps. Memory is what all processes of a run have
resident at one moment, at its highest. The exit code is 0 when the large corpus needs at most
`limit` times as much as the small one. Linux only; the largest corpus needs three times its size
on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tokbench.bench.config.bundled import text_keys, text_path
from tokbench.bench.results.run_folder import load_results


def main() -> int:
    """Run every size and compare the last with the first."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=int, nargs=2, default=[200, 2000])
    parser.add_argument("--limit", type=float, default=1.5)
    parser.add_argument("--jobs", default="1")
    arguments = parser.parse_args()
    peaks = []
    for megabytes in arguments.megabytes:
        with tempfile.TemporaryDirectory(prefix="tokbench-streaming-") as name:
            peaks.append(peak_of(Path(name), megabytes, arguments.jobs))
    ratio = peaks[1] / peaks[0]
    say(f"{ratio:.2f} times the memory; the limit is {arguments.limit:g}")
    return 0 if ratio <= arguments.limit else 1


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def peak_of(folder: Path, megabytes: int, jobs: str) -> int:
    """Return the highest resident memory of a run over a corpus of that size, in bytes."""
    write_corpus(folder / "corpus.jsonl", megabytes * 10**6)
    config = {
        "name": "streaming",
        "corpora": {"c": {"source": "files", "path": "corpus.jsonl", "language": "en"}},
        "tokenizers": {
            "bytes": {"type": "utf8_bytes"},
            "cl100k_base": {"type": "tiktoken", "encoding": "cl100k_base"},
        },
    }
    (folder / "streaming.yaml").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "tokbench", "run", "streaming.yaml", "--jobs", jobs]
    environment = {**os.environ, "TOKBENCH_CACHE": str(folder / "cache")}
    started, highest = time.monotonic(), 0
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as run:
        while run.poll() is None:
            highest = max(highest, sum(map(resident, family(run.pid))))
            time.sleep(0.05)
    if run.returncode:
        raise SystemExit(f"the run ended with exit code {run.returncode}")
    own = load_results(folder / "runs" / "streaming-1").environment["peak_bytes"]
    each = ", ".join(f"{name} {peak / 1e6:.1f}" for name, peak in own.items())
    seconds = time.monotonic() - started
    say(f"{megabytes} MB: {highest / 1e6:.1f} MB at the highest; {each}; {seconds:.0f} s")
    return highest


def write_corpus(path: Path, size: int) -> None:
    """Write JSON Lines whose texts are about that many bytes; no two are equal."""
    rng = random.Random(0)
    rows = [text.split() for text in texts()]
    written = number = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            words = rows[number % len(rows)]
            at = rng.randrange(len(words))
            text = " ".join([*words[at:], f"{number:x}", *words[:at]])
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            written += len(text.encode())
            number += 1


def texts() -> list[str]:
    """Return paragraphs of real prose, or the bundled sentences."""
    folder = Path(os.environ.get("TOKBENCH_DATA", "none")) / "corpora" / "prose"
    found = [
        block
        for path in sorted(folder.glob("*.txt"))
        for block in path.read_text(encoding="utf-8").split("\n\n")
    ]
    if not found:
        paths = [text_path("sentences", key) for key in text_keys("sentences")]
        lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
        found = [json.loads(line)["text"] for line in lines]
    return [text for text in found if len(text.split()) > 1]


def family(pid: int) -> Iterator[int]:
    """Yield a process and all that come from it."""
    yield pid
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                for child in (thread / "children").read_text(encoding="ascii").split():
                    yield from family(int(child))


def resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 where it has ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


if __name__ == "__main__":
    sys.exit(main())
