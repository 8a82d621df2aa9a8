"""Models of events in a file.

    {"format": "tokbench.events.1",
     "pre_tokenization": "gpt2", "pattern": "...", "tokenizers_pattern": "...",
     "special_tokens": {"<pad>": 0},
     "tokens": ["6162", ...],                 bytes in hex, numbered from 256
     "events": [[97, 98, 256],                a join: left, right, token
                [256, [97, 98]], ...]}        a drop: token, parts

No other library's format can say that an entry is dropped, so there is no ``tokenizer.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokbench.bench.errors import ConfigError, TokenizerError
from tokbench.bench.files import write_whole
from tokbench.tokenizers_impl.files import bounded, well_formed
from tokbench.tokenizers_impl.own_json import parse, read_text
from tokbench.tokenizers_impl.picky.events import DropEvent, Event, EventModel, JoinEvent, checked
from tokbench.tokenizers_impl.pretokenize import PreTokenization, from_pattern

FORMAT = "tokbench.events.1"


def write_events(model: EventModel, path: Path) -> None:
    """Write a model."""
    content = {
        "format": FORMAT,
        "pre_tokenization": model.pre_tokenization.name,
        "pattern": model.pre_tokenization.pattern,
        "tokenizers_pattern": model.pre_tokenization.tokenizers_pattern,
        "special_tokens": dict(model.special_tokens),
        "tokens": [data.hex() for data in model.token_bytes[256:]],
        "events": [
            [event.left, event.right, event.token]
            if isinstance(event, JoinEvent)
            else [event.token, list(event.parts)]
            for event in model.events
        ],
    }
    write_whole(path, json.dumps(content, ensure_ascii=False))


def read_events(path: Path) -> EventModel:
    """Read a model; raise `TokenizerError` when the file is missing or not of this kind."""
    content = parse(read_text(path), path, FORMAT)
    with well_formed(path.name, "a model of events"):
        model = checked(_model(content))
        bounded(max(model.special_tokens.values(), default=0) + 1, path.name)
        return model


def _model(content: dict[str, Any]) -> EventModel:
    rule = PreTokenization(
        name=str(content["pre_tokenization"]),
        pattern=str(content["pattern"]),
        tokenizers_pattern=str(content["tokenizers_pattern"]),
    )
    if rule.name != "none":
        try:
            from_pattern(rule.pattern)
        except ConfigError as exc:
            raise TokenizerError(str(exc)) from exc
    tokens = [bytes([byte]) for byte in range(256)]
    return EventModel(
        token_bytes=(*tokens, *map(bytes.fromhex, content["tokens"])),
        events=tuple(map(_event, content["events"])),
        pre_tokenization=rule,
        special_tokens=dict(content["special_tokens"]),
    )


def _event(row: list[Any]) -> Event:
    if len(row) == 3:
        left, right, token = row
        return JoinEvent(left, right, token)
    token, parts = row
    return DropEvent(token, tuple(parts))
