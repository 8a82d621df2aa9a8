"""Suggestions for unknown words in a config: a key, a kind, a metric, a tokenizer."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from tokbench.bench import plugins
from tokbench.bench.errors import PluginError

KEYS: Mapping[str, tuple[str, ...]] = {
    "benchmarks": ("suites",),
    "checkpoint": ("hub", "path", "file"),
    "column": ("text",),
    "commit": ("revision",),
    "corpus": ("corpora",),
    "data": ("corpora", "path"),
    "dataset": ("path", "corpora"),
    "datasets": ("corpora",),
    "evals": ("suites",),
    "file": ("path",),
    "files": ("path", "file"),
    "glob": ("path",),
    "group": ("cluster",),
    "lang": ("languages",),
    "langs": ("languages",),
    "locales": ("languages",),
    "max_rows": ("limit", "rows"),
    "max_samples": ("limit", "rows"),
    "metrics": ("suites",),
    "model": ("encoding", "hub", "file", "tokenizers"),
    "models": ("tokenizers",),
    "n": ("limit", "rows"),
    "name": ("encoding", "hub", "path", "file", "dataset"),
    "output": ("reports",),
    "outputs": ("reports",),
    "pretrained": ("hub", "path"),
    "random_seed": ("seed",),
    "reference": ("pivot",),
    "regex": ("pattern",),
    "repo": ("hub", "path"),
    "repo_id": ("hub", "path"),
    "rows": ("limit",),
    "samples": ("limit", "rows"),
    "separator": ("delimiter",),
    "size": ("vocab_size",),
    "subset": ("config",),
    "tasks": ("suites",),
    "text_column": ("text",),
    "text_field": ("text",),
    "timeout": ("limits", "seconds"),
    "tokens": ("tokenizers",),
    "type": ("source", "trainer"),
    "vocab": ("file", "vocab_size"),
    "vocab_file": ("file",),
    "version": ("revision",),
}
"""Common names for keys that are called otherwise here; the first allowed one counts."""

KINDS: Mapping[str, tuple[str, ...]] = {
    "accuracy": ("fidelity",),
    "auto": ("transformers",),
    "autotokenizer": ("transformers",),
    "bert": ("huggingface", "wordpiece"),
    "bytes": ("utf8_bytes",),
    "chars": ("characters",),
    "compression": ("efficiency",),
    "csv": ("files",),
    "datasets": ("huggingface",),
    "entropy": ("information",),
    "fairness": ("multilingual",),
    "hf": ("huggingface",),
    "hub": ("huggingface",),
    "json": ("files",),
    "jsonl": ("files",),
    "latency": ("throughput",),
    "llama": ("sentencepiece",),
    "local": ("files",),
    "md": ("markdown",),
    "mistral": ("tekken",),
    "openai": ("tiktoken",),
    "parity": ("multilingual",),
    "parquet": ("files",),
    "performance": ("throughput",),
    "roundtrip": ("fidelity",),
    "sp": ("sentencepiece",),
    "speed": ("throughput",),
    "spm": ("sentencepiece", "spm_bpe"),
    "text": ("files", "summary"),
    "timing": ("throughput",),
    "tokenizers": ("huggingface", "tokenizers_bpe"),
    "txt": ("files", "summary"),
    "utf8": ("utf8_bytes",),
}
"""Common names for a kind of tokenizer, trainer, source, suite or report."""


def suggest(word: str, known: Iterable[str], others: Mapping[str, tuple[str, ...]] = KINDS) -> str:
    """Return the end of an error message about an unknown word: a suggestion, or the known words.

    >>> suggest("langages", ["languages", "limit"])
    "; did you mean 'languages'?"
    >>> suggest("hf", ["huggingface", "tiktoken"]), suggest("bpe", ["byte_bpe", "spm_bpe", "words"])
    ("; did you mean 'huggingface'?", "; did you mean 'byte_bpe' or 'spm_bpe'?")
    >>> suggest("x", ["languages", "limit"])
    '; there are: languages, limit'
    """
    known = sorted(known)
    if meant := meant_by(word, known, others):
        return f"; did you mean {' or '.join(map(repr, meant))}?"
    return f"; there are: {', '.join(known)}" if known else ""


def meant_by(word: str, known: Iterable[str], others: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return the known words closest to a word, best first; often one."""
    known = list(known)
    plain = _plain(word)
    same = [one for one in known if _plain(one) == plain]
    if not same:
        by_plain = {_plain(other): names for other, names in others.items()}
        same = [name for name in by_plain.get(plain, ()) if name in known][:1]
    holding = [one for one in known if plain in map(_plain, one.split("_"))]
    if same or holding:
        return same or holding
    return difflib.get_close_matches(word, known, n=1)


def _plain(word: str) -> str:
    return "".join(c for c in word.casefold() if c.isalnum())


def key_meant(key: str, value: Any, model: type[BaseModel]) -> str:
    """Return the end of the message on an unknown key of a model.

    A value that only one other key accepts is a better hint than the spelling of the key.
    """
    fields = model.model_fields
    takers = [name for name, field in fields.items() if value in literals(field.annotation)]
    if isinstance(value, str) and len(takers) == 1:
        return f"; did you mean {takers[0]!r}?"
    return suggest(key, fields, KEYS)


def literals(annotation: Any) -> list[Any]:
    """Return the values that an annotation lists.

    >>> from typing import Literal
    >>> literals(Literal["a", "b"] | None)
    ['a', 'b']
    """
    parts = get_args(annotation)
    values = [part for part in parts if isinstance(part, str)]
    return values + [value for part in parts for value in literals(part)]


def suite_of_metric(metric: str) -> str | None:
    """Return the installed suite that computes a metric of that name; None if there is none."""
    for name in plugins.names(plugins.SuitePlugin):
        try:
            if any(spec.name == metric for spec in plugins.find(plugins.SuitePlugin, name).metrics):
                return name
        except PluginError:
            continue
    return None
