"""Writing YAML that `tokbench.bench.config.yaml_file` reads back as it was."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def as_yaml(values: Mapping[str, Any], comment: str = "") -> str:
    """Return plain values as YAML 1.2, with a comment above.

    >>> print(as_yaml({"name": "x", "languages": ["no", "en"]}, "Mine."), end="")
    # Mine.
    name: x
    languages:
    - no
    - en
    """
    return (f"# {comment}\n" if comment else "") + _written(json.dumps(_plain(values)))


@lru_cache(maxsize=4)
def _written(plain_json: str) -> str:
    """Return JSON as YAML; a run writes its config into `config.yaml` and onto its page."""
    from ruamel.yaml import YAML

    writer = YAML()
    writer.allow_unicode = True
    writer.width = 4096
    stream = io.StringIO()
    writer.dump(json.loads(plain_json), stream)
    return stream.getvalue()


def _plain(value: Any) -> Any:
    """Return values without keys that are null: a config says so by leaving them out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
