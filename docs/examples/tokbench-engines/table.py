"""Exactness and speed of the engines by language and code, at first sight and repeated.

    python docs/examples/tokbench-engines/table.py DATA --output FOLDER

DATA is a folder of real vocabularies and corpora. The config that is run is left in FOLDER, and
so are the run and `engines.md`, the table that is printed. Engines that are not installed are
left out and named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokbench.bench.commands.conform import verdicts
from tokbench.bench.markup import markdown_table
from tokbench.bench.results.run_folder import Results, load_results

R50K = "0ea1e91bbb3a60f729a8dc8f777fd2fc07cd8df4"
CL100K = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""Names of the rank files in a cache of tiktoken."""

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
"""Of r50k_base, as tiktoken has it."""

SPECIALS = {
    "r50k": {"<|endoftext|>": 50256},
    "cl100k": {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
    "o200k": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}
TIMED = ("eng_Latn", "rus_Cyrl", "arb_Arab", "hin_Deva", "tha_Thai", "zho_Hans", "python", "cpp")
"""Languages whose speed is timed; ids are compared on all."""

_CELLS = "MB/s by the wall, and how often as fast as the reference by CPU time (≈: not resolvable)"
HEADS = {"first_sight": f"Text at first sight: {_CELLS}", "repeated": f"Repeated text: {_CELLS}"}


def main() -> int:
    """Write the config, run it, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    data, output = arguments.data.resolve(), arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    made = config(data)
    path = output / "engines.yaml"
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "tokbench", "run", str(path), "--output", str(output)]
    done = subprocess.run([*command, "--new"], stdout=subprocess.DEVNULL, check=False)
    runs = sorted(output.glob("engines-*/run.json"), key=lambda found: found.stat().st_mtime)
    if done.returncode not in (0, 3) or not runs:
        return done.returncode
    page = table(load_results(runs[-1].parent))
    (output / "engines.md").write_text(page, encoding="utf-8")
    sys.stdout.write(page)
    return 0


def config(data: Path) -> dict[str, Any]:
    """Return the config: references, the engines that are installed, text in many languages."""
    engines = {key: entry for key, entry in _engines(data).items() if find_spec(entry["type"])}
    wanted = {key.partition(".")[2] for key in engines}
    references = {key: entry for key, entry in _references(data).items() if key in wanted}
    return {
        "name": "engines",
        "description": "Fast engines of public vocabularies against their references.",
        "corpora": {"flores": _flores(data), "code": _code(data)},
        "tokenizers": {**references, **engines},
        "suites": {
            "fidelity": {},
            "conformance": {"engines": {key: key.partition(".")[2] for key in engines}},
            "throughput": {
                "by": "language",
                "languages": [*TIMED],
                "phases": ["encode"],
                "texts": ["first_sight", "repeated"],
                "references": {key: key.partition(".")[2] for key in engines},
                "max_bytes": 200_000,
            },
        },
        "reports": ["markdown"],
    }


def _references(data: Path) -> dict[str, dict[str, Any]]:
    folder = data / "tokenizers"
    llama3 = {"file": str(folder / "llama3/tokenizer.model"), "spec_key": "llama3/tokenizer.model"}
    return {
        "r50k": {"type": "tiktoken", "encoding": "r50k_base"},
        "cl100k": {"type": "tiktoken", "encoding": "cl100k_base"},
        "o200k": {"type": "tiktoken", "encoding": "o200k_base"},
        "llama3": {"type": "tiktoken", **llama3, "spec": str(folder / "tiktoken_specs.json")},
        "qwen3": {"type": "huggingface", "file": str(folder / "qwen/qwen3_tokenizer.json.gz")},
    }


def _engines(data: Path) -> dict[str, dict[str, Any]]:
    cache = data / "tiktoken_cache"
    files = {"r50k": str(cache / R50K), "cl100k": str(cache / CL100K), "o200k": str(cache / O200K)}
    schemes = {"r50k": "gpt2", "cl100k": "gpt4", "o200k": "o200k"}
    presets: dict[str, dict[str, Any]] = {
        "r50k": {"pattern": PATTERN, "special_tokens": SPECIALS["r50k"]},
        "cl100k": {"encoding": "cl100k_base"},
        "o200k": {"encoding": "o200k_base"},
    }
    found: dict[str, dict[str, Any]] = {}
    for name in ("cl100k", "o200k"):
        found[f"bpe_openai.{name}"] = {"type": "bpe_openai", "encoding": f"{name}_base"}
        found[f"quicktok.{name}"] = {"type": "quicktok", "encoding": f"{name}_base"}
    for name in ("llama3", "qwen3"):
        found[f"quicktok.{name}"] = {"type": "quicktok", "encoding": name}
    for name, file in files.items():
        found[f"fastokens.{name}"] = {"type": "fastokens", "file": file, **presets[name]}
        found[f"gigatoken.{name}"] = {
            "type": "gigatoken",
            "file": file,
            "pretokenizer": schemes[name],
            "special_tokens": SPECIALS[name],
        }
    return found


def _flores(data: Path) -> dict[str, Any]:
    folder = data / "corpora" / "flores200"
    return {
        "source": "huggingface",
        "path": str(folder),
        "config": "{language}",
        "split": "devtest",
        "id": "id",
        "languages": sorted(path.stem for path in folder.glob("*.parquet")),
    }


def _code(data: Path) -> dict[str, Any]:
    folder = data / "corpora" / "source_code"
    return {
        "source": "huggingface",
        "path": str(folder),
        "config": "{language}",
        "kind": "code",
        "languages": sorted(path.stem for path in folder.glob("*.parquet")),
    }


def table(results: Results) -> str:
    """Return verdicts, then differing documents by language, then speeds by language."""
    parts = [_verdicts(results), _differing(results)]
    for sight in ("first_sight", "repeated"):
        parts.append(f"{HEADS[sight]}\n\n{_speeds(results, sight)}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdicts(results: Results) -> str:
    rows = [[one.engine, one.verdict, one.message] for one in verdicts(results)]
    return markdown_table(["engine", "verdict", "on what"], rows, left=3)


def _rows(results: Results) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
    for row in [*results.measurements.to_pylist(), *results.throughput.to_pylist()]:
        yield row, json.loads(row["params"])


def _differing(results: Results) -> str:
    """Return the documents that differ, for the languages and engines that have any."""
    found = {
        (row["language"], row["tokenizer"]): (row["value"], row["n"])
        for row, _ in _rows(results)
        if row["metric"] == "nonconforming_texts" and row["language"] and row["value"]
    }
    rows = [
        [engine, language, f"{value:,.0f} of {n:,}", f"{value / n:.1%}"]
        for (language, engine), (value, n) in sorted(found.items(), key=lambda one: -one[1][0])
    ]
    if not rows:
        return "No document differs."
    return markdown_table(["engine", "language", "documents that differ", "share"], rows, left=2)


def _speeds(results: Results, sight: str) -> str:
    found: dict[tuple[str, str, str], tuple[dict[str, Any], Mapping[str, Any]]] = {}
    for row, params in _rows(results):
        if params.get("text") == sight and row["value"] is not None:
            found[row["metric"], row["tokenizer"], row["language"]] = row, params
    engines = {one.engine: one for one in verdicts(results)}
    wrong = {name for name, one in engines.items() if not one.right}
    rows = [
        [
            f"{name} ✗" if name in wrong else name,
            *(
                _cell(
                    found.get(("encode_throughput", name, language)),
                    found.get(("relative_speed", name, language)) if name in engines else None,
                )
                for language in TIMED
            ),
        ]
        for name in results.run["config"]["tokenizers"]
    ]
    return markdown_table(["tokenizer", *TIMED], rows)


def _cell(speed: Any, ratio: Any) -> str:
    if speed is None:
        return "–"
    shown = f"{speed[0]['value']:.1f}"
    if ratio is None:
        return shown
    unsure = "≈" if ratio[1]["verdict"] == "not resolvable" else ""
    return f"{shown} ({unsure}{ratio[0]['value']:.1f}×)"


if __name__ == "__main__":
    sys.exit(main())
