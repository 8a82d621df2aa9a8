"""Sweeps: a list of sizes in a `train:` block stands for one tokenizer per size.

``vocab_size: [512, 1024]`` below the key ``mine`` becomes the tokenizers ``mine-512`` and
``mine-1024``, before anything else of the config is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokbench.bench.config.yaml_file import ConfigFile, Loc
from tokbench.bench.errors import ConfigError

Entries = dict[str, Any]
"""Tokenizers of a config, as they were read."""


def expand(raw: Any, where: ConfigFile, problems: list[str]) -> tuple[Any, dict[str, str]]:
    """Return the tokenizers with every sweep spelled out, and the key each of them stands below.

    A sweep that cannot be spelled out adds to `problems` and is left out.
    """
    if not isinstance(raw, Mapping):
        return raw, {}
    expanded: Entries = {}
    origins: dict[str, str] = {}
    for key, entry in raw.items():
        try:
            for name, one in _spelled_out(key, entry, where):
                if name in expanded or (name != key and name in raw):
                    raise ConfigError(
                        f"{where.at(_place(key))}: a size of this sweep is called {name!r}, as "
                        "another tokenizer is; rename one of the two"
                    )
                expanded[name], origins[name] = one, key
        except ConfigError as exc:
            problems.append(str(exc))
    return expanded, origins


def sizes(entry: Any) -> list[Any] | None:
    """Return the sizes that a tokenizer's entry lists, None where it is no sweep.

    >>> sizes({"train": {"vocab_size": [512, 1024]}}), sizes({"train": {"vocab_size": 512}})
    ([512, 1024], None)
    """
    block = entry.get("train") if isinstance(entry, Mapping) else None
    listed = block.get("vocab_size") if isinstance(block, Mapping) else None
    return listed if isinstance(listed, list) else None


def _spelled_out(key: str, entry: Any, where: ConfigFile) -> Iterator[tuple[str, Any]]:
    listed = sizes(entry)
    if listed is None:
        yield key, entry
        return
    _check(key, listed, where)
    for size in listed:
        yield f"{key}-{size}", {**entry, "train": {**entry["train"], "vocab_size": size}}


def _check(key: str, listed: list[Any], where: ConfigFile) -> None:
    if not listed:
        raise ConfigError(
            f"{where.at(_place(key))}: lists no size; write [512, 1024] or one number"
        )
    for position, size in enumerate(listed):
        at = where.at((*_place(key), position))
        if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
            raise ConfigError(f"{at}: a size is a whole number above 0, not {size!r}")
        if size in listed[:position]:
            raise ConfigError(f"{at}: {size} is listed twice")


def _place(key: str) -> Loc:
    return ("tokenizers", key, "train", "vocab_size")
