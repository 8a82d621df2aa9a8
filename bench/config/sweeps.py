"""Sweeps: a list of sizes in a `train:` block defines one tokenizer per size.

``vocab_size: [512, 1024]`` below the key ``mine`` becomes the tokenizers ``mine-512`` and
``mine-1024``, before anything else of the config is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokbench.bench.config.mistakes import Mistake
from tokbench.bench.config.yaml_file import ConfigFile, Loc

Entries = dict[str, Any]
"""Tokenizers of a config, as they were read."""


def expand(raw: Any, where: ConfigFile, mistakes: list[Mistake]) -> tuple[Any, dict[str, str]]:
    """Return the tokenizers with every sweep spelled out, and the key each of them stands below.

    A sweep that cannot be spelled out adds to `mistakes` and is left out.
    """
    if not isinstance(raw, Mapping):
        return raw, {}
    expanded: Entries = {}
    origins: dict[str, str] = {}
    for key, entry in raw.items():
        wrong = list(_wrong(key, entry, where))
        mistakes += wrong
        for name, one in [] if wrong else _spelled_out(key, entry):
            if name in expanded or (name != key and name in raw):
                text = (
                    f"a size of this sweep has the name of another tokenizer, {name!r}; rename one"
                )
                mistakes.append(where.mistake(_place(key), text, on="key"))
                break
            expanded[name], origins[name] = one, key
    return expanded, origins


def sizes(entry: Any) -> list[Any] | None:
    """Return the sizes that a tokenizer's entry lists; None if it is not a sweep.

    >>> sizes({"train": {"vocab_size": [512, 1024]}}), sizes({"train": {"vocab_size": 512}})
    ([512, 1024], None)
    """
    block = entry.get("train") if isinstance(entry, Mapping) else None
    listed = block.get("vocab_size") if isinstance(block, Mapping) else None
    return listed if isinstance(listed, list) else None


def _spelled_out(key: str, entry: Any) -> Iterator[tuple[str, Any]]:
    listed = sizes(entry)
    if listed is None:
        yield key, entry
        return
    for size in listed:
        yield f"{key}-{size}", {**entry, "train": {**entry["train"], "vocab_size": size}}


def _wrong(key: str, entry: Any, where: ConfigFile) -> Iterator[Mistake]:
    """Yield the mistakes in the sizes that an entry lists."""
    listed = sizes(entry)
    if listed == []:
        yield where.mistake(
            _place(key), "is an empty list; write [512, 1024] or one number", on="key"
        )
    for position, size in enumerate(listed := listed or []):
        at = (*_place(key), position)
        if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
            yield where.mistake(at, f"a size must be a whole number above 0, not {size!r}")
        elif size in listed[:position]:
            yield where.mistake(at, f"{size} is listed twice")


def _place(key: str) -> Loc:
    return ("tokenizers", key, "train", "vocab_size")
