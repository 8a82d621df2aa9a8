"""How often the speed gate raises a false alarm, and how often it sees a slower candidate.

    python tests/false_alarms.py one_process --runs 20 --factors 1.0 1.1 1.3
    python tests/false_alarms.py two_environments --runs 20 --factors 1.0 1.1 1.2

Each run is `tokbench speed` on two sides that give the same ids; the candidate does a share of its
work twice, so that it is slower by the factor (1.0: the very same). One busy process for each CPU
runs beside it. Two environments are made with `tokenizers` of this one's version and nothing else;
the slow one is slowed in its library. The exit code is 0 when nothing unchanged raised an alarm.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

TOYS = Path(__file__).parent / "toys"
VOCABULARY = 4000
SLOWED = """
import tokenizers

_Real = tokenizers.Tokenizer


def _beginning(documents, share):
    wanted = share * sum(map(len, documents))
    for n, document in enumerate(documents):
        wanted -= len(document)
        if wanted < -len(document) / 2:
            return documents[:n]
    return documents


class _Slowed:
    def __init__(self, real):
        self._real = real

    from_file = staticmethod(lambda path: _Slowed(_Real.from_file(path)))

    def __getattr__(self, name):
        return getattr(self._real, name)

    def encode_batch_fast(self, texts, **options):
        self._real.encode_batch_fast(_beginning(texts, FACTOR - 1), **options)
        return self._real.encode_batch_fast(texts, **options)

    def decode_batch(self, ids, **options):
        self._real.decode_batch(_beginning(ids, FACTOR - 1), **options)
        return self._real.decode_batch(ids, **options)


tokenizers.Tokenizer = _Slowed
"""


def main() -> int:
    """Run every factor so many times and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("where", choices=["one_process", "two_environments"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 1.1, 1.3])
    parser.add_argument("--burners", type=int, default=os.cpu_count())
    parser.add_argument("--results", type=Path, help="Write every verdict there, as JSON lines.")
    arguments = parser.parse_args()
    false_alarms = 0
    with tempfile.TemporaryDirectory(prefix="tokbench-false-alarms-") as name:
        place = Path(name)
        make_tokenizer(place)
        with busy(arguments.burners):
            for factor in arguments.factors:
                sides = prepare(place, arguments.where, factor)
                alarms = repeat(place, sides, factor, arguments.runs, arguments.results)
                false_alarms += alarms if factor == 1 else 0
    return 1 if false_alarms else 0


def repeat(
    place: Path, sides: Sequence[str], factor: float, runs: int, results: Path | None
) -> int:
    """Return how many of the runs raised an alarm, and say what they found."""
    alarms, cells, estimates = 0, Counter[str](), list[float]()
    for number in range(runs):
        started = time.monotonic()
        found = gate(place, sides, number)
        alarms += found["exit_code"] == 1
        outcomes = Counter(verdict["outcome"] for verdict in found["verdicts"])
        cells += outcomes
        estimates += [v["ratio"]["estimate"] for v in found["verdicts"] if v["ratio"]]
        took = time.monotonic() - started
        say(
            f"×{factor:g} run {number + 1}: exit {found['exit_code']}, {dict(outcomes)}, {took:.0f} s"
        )
        if results is not None:
            with results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"factor": factor, "run": number, **found}) + "\n")
    middle = sorted(estimates)[len(estimates) // 2]
    say(
        f"×{factor:g}: {alarms} of {runs} runs raised an alarm; {sum(cells.values()) // runs} cells "
        f"in each, over all runs {dict(cells)}; median estimate {middle:.3f}, "
        f"from {min(estimates):.3f} to {max(estimates):.3f}"
    )
    return alarms


def gate(place: Path, sides: Sequence[str], seed: int) -> dict[str, Any]:
    """Return what one run of the gate found."""
    command = [sys.executable, "-m", "tokbench", "speed", *sides]
    done = subprocess.run(
        [*command, "--seed", str(seed), "--json"],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(TOYS), "TOKBENCH_CACHE": str(place / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"the gate failed: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def prepare(place: Path, where: str, factor: float) -> list[str]:
    """Return the arguments that name both sides."""
    tokenizer: dict[str, Any] = {"type": "huggingface", "file": "mine/tokenizer.json"}
    # false alarms are looked for in more cells, a slow tokenizer has to be caught in fewer
    corpora = ("sentences", "programs") if factor == 1 else ("sentences",)
    base = write_config(place / f"base_{factor:g}.yaml", tokenizer, corpora)
    if where == "one_process":
        if factor != 1:
            tokenizer = {**tokenizer, "type": "toy_slowed", "factor": factor}
        return [base, write_config(place / f"at_{factor:g}.yaml", tokenizer, corpora)]
    pythons = [
        environment(place / name, f) for name, f in (("same", 1), (f"at_{factor:g}", factor))
    ]
    return [base, "--base-python", pythons[0], "--candidate-python", pythons[1]]


def write_config(
    path: Path, tokenizer: dict[str, Any], corpora: Sequence[str] = ("sentences",)
) -> str:
    """Write a config of one tokenizer over bundled text and return its name."""
    config = {
        "name": "false_alarms",
        "corpora": {name: {"source": "builtin", "dataset": name} for name in corpora},
        "tokenizers": {"mine": tokenizer},
        "suites": {"throughput": {}},
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return path.name


def environment(folder: Path, factor: float) -> str:
    """Return the interpreter of an environment that holds `tokenizers` and nothing of tokbench."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        library = f"tokenizers=={version('tokenizers')}"
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", library]
        subprocess.run(install, check=True)
    if factor != 1:
        [packages] = folder.glob("lib/python*/site-packages")
        text = f"FACTOR = {factor}\n{SLOWED}"
        (packages / "sitecustomize.py").write_text(text, encoding="utf-8")
    return str(python)


def make_tokenizer(place: Path) -> None:
    """Train a tokenizer on the bundled sentences, so that nothing has to be downloaded."""
    block = {"trainer": "tokenizers_bpe", "corpus": "sentences", "vocab_size": VOCABULARY}
    write_config(place / "train.yaml", {"train": block})
    command = [sys.executable, "-m", "tokbench", "train", "train.yaml", "--output", ".", "--quiet"]
    variables = {**os.environ, "TOKBENCH_CACHE": str(place / "cache")}
    subprocess.run(command, cwd=place, env=variables, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep CPUs busy while the block runs."""
    loop = [sys.executable, "-c", "while True: sum(range(10_000))"]
    burners = [subprocess.Popen(loop) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def say(text: str) -> None:
    """Print one line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
