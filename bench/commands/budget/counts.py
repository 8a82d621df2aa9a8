"""Tokens of texts under the tokenizers of a budget.

What was counted once is kept in the cache under the hash of the text's bytes and the identity of
the tokenizer: its options, the content of its files, and the versions of the libraries. A
tokenizer is loaded only for a text that is not there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tokbench.bench.commands.budget.schema import BudgetTokenizer
from tokbench.bench.commands.budget.store import Store
from tokbench.bench.commands.budget.texts import Content
from tokbench.bench.commands.one_text import config_of, try_each
from tokbench.bench.config.resolve import resolve
from tokbench.bench.config.schema import Config, load_entry
from tokbench.bench.errors import InputError, is_library_failure, named
from tokbench.bench.model import Tokenizer
from tokbench.bench.paths import user_path
from tokbench.bench.plugins import TokenizerPlugin, find
from tokbench.bench.workers import heartbeat
from tokbench.bench.workers.executors import Executor

_LIBRARIES = ("tokbench", "tiktoken", "tokenizers", "sentencepiece")
_SELF_CONTAINED = ("tiktoken", "huggingface", "sentencepiece", "tekken")
"""Types whose options and files say all about the tokenizer, but for the Hub and samples."""
_BATCH = 1_000_000
"""Characters that are encoded in one call, and one limit of time."""


Start = Callable[[Sequence[Content]], AbstractContextManager[Executor]]
"""Gives an executor that can encode these texts."""


@dataclass(kw_only=True)
class TextCounts:
    """Tokens by tokenizer and hash of the text, and why some are missing."""

    tokens: dict[tuple[str, str], int] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why the tokenizer could not encode a text."""
    problems: list[str] = field(default_factory=list)
    """One sentence for each tokenizer that could not be used at all."""


def entries_of(tokenizers: Mapping[str, BudgetTokenizer], folder: Path) -> tuple[Config, list[str]]:
    """Return a config with the tokenizers of a budget, and notes on ambiguous names.

    Raises `UsageError` for an unknown name.
    """
    entries: dict[str, TokenizerPlugin] = {}
    notes: list[str] = []
    for key, one in tokenizers.items():
        if isinstance(one.tokenizer, str):
            found = resolve(one.tokenizer, folder)
            notes += [found.note] if found.note else []
            entries[key] = load_entry(found.entry)
        else:
            entries[key] = load_entry(one.tokenizer)
    return config_of(entries, dict.fromkeys(entries, folder)), notes


def count_all(
    config: Config, contents: Iterable[Content], store: Store, start: Start
) -> TextCounts:
    """Return the tokens of every text under every tokenizer of a config.

    No special token is added, and text that spells one is text.
    """
    texts = {one.sha256: one for one in contents}
    names = {key: _identity(config, key) for key in config.tokenizers}
    known = {key: store.read(name, texts) for key, name in names.items()}
    found = TextCounts()
    with start([one for sha, one in texts.items() if _is_new(sha, known)]) as executor:
        for key, name in names.items():
            missing = {sha: one.text for sha, one in texts.items() if sha not in known[key]}
            if missing:
                counted = _count(config, key, missing, executor, found)
                store.write(name, counted)
                known[key] |= counted
    found.tokens = {(key, sha): n for key, some in known.items() for sha, n in some.items()}
    return found


def _is_new(sha256: str, known: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether some tokenizer has to encode a text."""
    return any(sha256 not in some for some in known.values())


def _count(
    config: Config, key: str, texts: Mapping[str, str], executor: Executor, found: TextCounts
) -> dict[str, int]:
    only = replace(config, tokenizers={key: config.tokenizers[key]})
    look = partial(tokens_of, tuple(texts.values()), config.run.limits.seconds)
    answers, problems = try_each(only, (), look, executor)
    found.problems += problems
    counted = dict(zip(texts, answers[0], strict=True)) if answers else {}
    found.failed |= {(key, sha): n for sha, n in counted.items() if isinstance(n, str)}
    return {sha: n for sha, n in counted.items() if isinstance(n, int)}


def tokens_of(
    texts: Sequence[str], seconds: float, key: str, tokenizer: Tokenizer
) -> list[int | str]:
    """Return the number of tokens of each text, or why the tokenizer could not encode it."""
    found: list[int | str] = []
    for batch in _batches(texts):
        heartbeat.at("text", seconds=seconds, limit="limits.seconds")
        found += _lengths(batch, tokenizer)
    return found


def _batches(texts: Sequence[str]) -> Iterable[Sequence[str]]:
    begin = size = 0
    for i, text in enumerate(texts):
        if i > begin and size + len(text) > _BATCH:
            yield texts[begin:i]
            begin, size = i, 0
        size += len(text)
    yield texts[begin:]


def _lengths(texts: Sequence[str], tokenizer: Tokenizer) -> list[int | str]:
    try:
        return [len(ids) for ids in tokenizer.encode_batch(texts)]
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        if len(texts) == 1:
            return [named(exc)]
    half = len(texts) // 2
    return _lengths(texts[:half], tokenizer) + _lengths(texts[half:], tokenizer)


def _identity(config: Config, key: str) -> str | None:
    """Return a hash of all that decides a tokenizer's counts; None where it is not known.

    What a name stands for on the Hub or in a package of samples may change: such counts are not
    kept.
    """
    entry = config.tokenizers[key]
    options = entry.model_dump(mode="json", exclude_none=True)
    kind = next((n for n in _SELF_CONTAINED if type(entry) is find(TokenizerPlugin, n)), None)
    if kind is None or {"hub", "sample"} & options.keys():
        return None
    try:
        files = {
            name: hashlib.sha256(
                user_path(config.homes[key], options[name]).read_bytes()
            ).hexdigest()
            for name in ("file", "spec")
            if name in options
        }
    except (OSError, InputError):
        return None  # loading it says why
    facts = [kind, options, files, {name: version(name) for name in _LIBRARIES}]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
