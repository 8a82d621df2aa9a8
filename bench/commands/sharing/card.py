"""The card of an exported run: what the Hub reads at its top, and what people read below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import count, escape, markdown_table, one_line, plural
from tokbench.bench.results.run_folder import Results

MADE_BY = "<!-- written by tokbench export hub -->"

CITATION = """@software{tokbench,
  title = {tokbench: a benchmark and evaluation harness for tokenizers},
  author = {{tokbench contributors}},
  version = {VERSION}
}"""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))

ABOUT = {
    "measurements": "Every exact value, one row each.",
    "documents": "Counts per document of every tokenizer on every corpus; never the text.",
    "findings": "Witnesses, refusals, failures and warnings.",
    "throughput": "Timed values, in the columns of `measurements`.",
    "timings": "Every raw sample behind them.",
    "vocabulary": "Bytes and kind of every id.",
    "segments": "Text and tokens of some documents.",
    "segment_tokens": "Bytes and spelling of the ids in `segments`.",
}
"""What each config of the data set holds."""


class CardPart(NamedTuple):
    """One config of a data set: its files, and how many rows they have."""

    paths: Sequence[str]
    rows: int


def card(
    results: Results, parts: Mapping[str, CardPart], license_id: str, citation: str | None
) -> str:
    """Return `README.md`: metadata as `huggingface_hub` writes it, and the page."""
    from huggingface_hub import DatasetCardData

    data = DatasetCardData(
        pretty_name=one_line(results.run["name"]),
        license=license_id,
        language=_languages(results) or None,
        tags=["tokenizer", "tokenization", "benchmark", "tokbench"],
        size_categories=[_size(sum(part.rows for part in parts.values()))],
        configs=list(_configs(parts)),
    )
    blocks = [f"---\n{data.to_yaml()}\n---", MADE_BY, *_body(results, parts, license_id, citation)]
    return "\n\n".join(blocks) + "\n"


def check_license(license_id: str) -> None:
    """Raise `UsageError` for a licence that cannot be an identifier of the Hub."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", license_id):
        raise UsageError(
            f"--license {license_id}: write an identifier of the Hub such as cc-by-4.0, cc0-1.0, "
            "mit or other"
        )


def _configs(parts: Mapping[str, CardPart]) -> Iterator[dict[str, Any]]:
    for name, part in parts.items():
        files = [{"split": "train", "path": list(part.paths)}]
        yield {
            "config_name": name,
            "data_files": files,
            **({"default": True} if name == "measurements" else {}),
        }


def _languages(results: Results) -> list[str]:
    """Return the ISO 639 codes of the languages, as the Hub wants them."""
    tags = {
        str(meta["tag"]).partition("-")[0].lower()
        for metas in results.run["corpora"].values()
        for meta in metas.values()
        if meta["tag"]
    }
    return sorted(tag for tag in tags if re.fullmatch(r"[a-z]{2,3}", tag) and tag != "und")


def _size(rows: int) -> str:
    """Return the Hub's name for a number of rows.

    >>> _size(999), _size(1000), _size(5_000_000)
    ('n<1K', '1K<n<10K', '1M<n<10M')
    """
    return next((name for limit, name in _SIZES if rows < limit), "1M<n<10M")


def _body(
    results: Results, parts: Mapping[str, CardPart], license_id: str, citation: str | None
) -> Iterator[str]:
    run = results.run
    yield f"# {escape(run['name'])}: tokenizers measured"
    if about := run["config"].get("description"):
        yield escape(about)
    yield (
        f"Results of tokbench: {plural(len(run['tokenizers']), 'tokenizer')} on "
        f"{plural(len(run['corpora']), 'corpus', 'corpora')}. What the columns and metrics mean is "
        "in its documentation; definitions are in `provenance.json` too."
    )
    yield '```python\nfrom datasets import load_dataset\n\nload_dataset(".", "measurements")\n```'
    rows = [[f"`{name}`", ABOUT[name], count(part.rows)] for name, part in parts.items()]
    yield markdown_table(["config", "what", "rows"], rows, left=2)
    yield "## Tokenizers"
    yield markdown_table(
        ["tokenizer", "fingerprint", "entries"],
        [
            [escape(name), f"`{facts['fingerprint']}`", count(facts["n_entries"])]
            for name, facts in run["tokenizers"].items()
        ],
        left=2,
    )
    yield "## Provenance"
    yield _corpora(results)
    versions = ", ".join(f"{escape(k)} {escape(v)}" for k, v in run["versions"].items())
    yield f"Made with {versions}. Digest of all exact values: `{run['digest']}`."
    yield "`provenance.json` has the config, versions, tokenizers, corpora and cells of the run."
    if "segments" not in parts:
        yield (
            "Sentences that may quote a text are left out: `message` and `data` of findings, and "
            "details of failures."
        )
    yield "## Licence"
    yield (
        f"These results: `{escape(license_id)}`. The corpora and tokenizers have licences of their "
        "own, and none of their text is here unless the config `segments` is."
    )
    yield "## Citation"
    version = str(run["versions"].get("tokbench", "unknown"))
    if citation:
        yield _fenced(citation)
    yield _fenced(CITATION.replace("VERSION", version))


def _fenced(text: str) -> str:
    """Return text as a code block that it cannot end."""
    lines = "\n".join(one_line(line) for line in text.strip().splitlines())
    longest = max((len(ticks) for ticks in re.findall("`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}bibtex\n{lines}\n{fence}"


def _corpora(results: Results) -> str:
    config = results.run["config"]["corpora"]
    rows = []
    for corpus, metas in results.run["corpora"].items():
        entry = config[corpus]
        source = [
            str(entry[key]) for key in ("source", "dataset", "path", "revision") if entry.get(key)
        ]
        documents = sum(meta["documents"] for meta in metas.values())
        rows.append([escape(corpus), escape(" ".join(source)), count(len(metas)), count(documents)])
    return markdown_table(["corpus", "source", "languages", "documents"], rows, left=2)
