"""Kill a run at random points, complete it, and compare it with one that nobody disturbed.

    python tests/chaos.py --kills 50

Each trial starts from an empty cache and an empty folder, ends the run by SIGKILL, SIGTERM or
SIGINT at a random moment, looks at every file that is left, runs the same command again, and
compares the exact files byte by byte. With `--workers` it is one worker process that is killed,
and the run must go on as if nothing had been. The exit code is 0 when every trial passed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run_files import exact_files
from streaming import family

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}
CONFIG = {
    "name": "chaos",
    "corpora": {
        "sentences": {
            "source": "builtin",
            "dataset": "sentences",
            "languages": ["eng_Latn", "fin_Latn", "ell_Grek", "arb_Arab", "jpn_Jpan"],
            "parallel": True,
            "pivot": "eng_Latn",
        }
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "characters": {"type": "characters"},
        "trained": {
            "train": {"trainer": "tokenizers_bpe", "corpus": "sentences", "vocab_size": 600}
        },
    },
    "suites": {
        "efficiency": {},
        "multilingual": {},
        "fidelity": {},
        "witnesses": {"fuzz": 2},
        "differential": {"pairs": [{"first": "bytes", "second": "trained"}], "fuzz": 1},
    },
}


def main() -> int:
    """Run the trials and say how many passed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", action="store_true", help="kill a worker, not the run")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="tokbench-chaos-") as name:
        place = Path(name)
        (place / "chaos.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")
        started = time.monotonic()
        finish(place, arguments.jobs)
        length = time.monotonic() - started
        wanted = hashes(place)
        passed = 0
        for trial in range(arguments.kills):
            number = SIGNALS[trial % len(SIGNALS)]
            after = rng.uniform(0.02, 0.98) * length
            if arguments.workers:
                number = signal.SIGKILL
                problem = rob(place, arguments.jobs, rng, after, wanted)
            else:
                problem = disturb(place, arguments.jobs, number, after, wanted)
            passed += problem is None
            say(f"{trial + 1}: {number.name} after {after:.2f} s: {problem or 'identical'}")
    say(f"{passed} of {arguments.kills} identical")
    return 0 if passed == arguments.kills else 1


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def disturb(
    place: Path, jobs: str, number: signal.Signals, after: float, wanted: dict[str, str]
) -> str | None:
    """Return what was wrong after a run was ended by a signal and completed, None if nothing."""
    process = begin_anew(place, jobs)
    try:
        process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    said = process.communicate()[1]
    if process.returncode not in (0, CODES[number], -number):
        return f"exit code {process.returncode}: {said[-500:]}"
    if "Traceback" in said:
        return f"a traceback: {said[-1500:]}"
    if broken := [str(path) for path in place.rglob("*") if not is_whole(path)]:
        return f"not whole: {broken}"
    if number != signal.SIGKILL and (left := list(place.rglob(".*.tmp"))):
        return f"left behind: {left}"
    finish(place, jobs)
    return differing(place, wanted)


def rob(
    place: Path, jobs: str, rng: random.Random, after: float, wanted: dict[str, str]
) -> str | None:
    """Return what was wrong after a run lost one worker process (Linux), None if nothing."""
    process = begin_anew(place, jobs)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=after)
    workers = list(family(process.pid))[1:]
    with contextlib.suppress(ProcessLookupError, IndexError):
        os.kill(rng.choice(workers), signal.SIGKILL)
    said = process.communicate()[1]
    if process.returncode:
        return f"exit code {process.returncode}: {said[-500:]}"
    return differing(place, wanted)


def differing(place: Path, wanted: dict[str, str]) -> str | None:
    """Return which exact files are not as they should be, None if all are."""
    found = hashes(place)
    differ = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
    return f"exact files differ: {', '.join(differ)}" if differ else None


def begin_anew(place: Path, jobs: str) -> subprocess.Popen[str]:
    """Start the run with nothing kept from before."""
    for folder in ("cache", "runs"):
        shutil.rmtree(place / folder, ignore_errors=True)
    return begin(place, jobs)


def begin(place: Path, jobs: str) -> subprocess.Popen[str]:
    """Start the run."""
    command = [sys.executable, "-m", "tokbench", "run", "chaos.yaml", "--jobs", jobs]
    environment = {**os.environ, "TOKBENCH_CACHE": str(place / "cache")}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=place, env=environment, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def finish(place: Path, jobs: str) -> None:
    """Run to the end, which may be at once."""
    plan = place / "runs" / "chaos-1" / "plan.json"
    if not (plan.exists() and json.loads(plan.read_text(encoding="utf-8"))["finished"]):
        process = begin(place, jobs)
        said = process.communicate()[1]
        if process.returncode:
            raise SystemExit(f"the run failed: {said}")


def is_whole(path: Path) -> bool:
    """Return whether a file under its final name can be read to its end."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tokbench.bench.run.cell_files import is_intact

    if not path.is_file() or path.name.startswith("."):
        return True
    if any(part.startswith(".") for part in path.parts):
        return True  # inside a folder that is still being built
    try:
        if path.suffix == ".parquet":
            pq.read_table(path)
        elif path.suffix == ".json":
            json.loads(path.read_text(encoding="utf-8"))
        elif path.suffix == ".arrow":
            pa.ipc.open_file(pa.memory_map(str(path))).read_all().validate(full=True)
        elif path.suffix == ".cell":
            return is_intact(path)
    except (OSError, ValueError, pa.ArrowException):
        return False
    return True


def hashes(place: Path) -> dict[str, str]:
    """Return the SHA-256 of every exact file of the run."""
    files = exact_files(place / "runs" / "chaos-1", "report.md")
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


if __name__ == "__main__":
    sys.exit(main())
