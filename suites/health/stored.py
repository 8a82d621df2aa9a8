"""The entries that a tokenizer's file names, read without its library.

Understood are `tokenizer.json`, `vocab.txt` and files of base64 ranks; of others nothing is said.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST_BYTES = 500 * 10**6
"""Unpacked size above which a file is left alone."""


@dataclass(frozen=True, kw_only=True)
class Stored:
    """What a file says: pieces as it spells them (bytes of ranks), and what is odd in it."""

    entries: Mapping[int, str | bytes] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def read(path: Path) -> Stored | None:
    """Return what a file says of its entries, None where it is of another kind or too large."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        return None
    if data.lstrip()[:1] == b"{":
        return _of_json(data)
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    return _of_ranks(lines) or _of_lines(lines)


def _of_json(data: bytes) -> Stored | None:
    try:
        spec: Any = json.loads(data)
        model = spec["model"]
        vocab, added = model["vocab"], spec.get("added_tokens") or ()
        pairs = (
            [(piece, int(i)) for piece, i in vocab.items()]
            if isinstance(vocab, dict)
            else [(piece, i) for i, (piece, *_) in enumerate(vocab)]
        )
        pairs += [(one["content"], int(one["id"])) for one in added]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return Stored(entries=_agreed(pairs), remarks=(*_switches(spec), *_shared(pairs)))


def _agreed(pairs: list[tuple[str, int]]) -> dict[int, str | bytes]:
    """Return the pieces of ids that only one piece has."""
    found: dict[int, set[str]] = {}
    for piece, i in pairs:
        found.setdefault(i, set()).add(piece)
    return {i: next(iter(pieces)) for i, pieces in found.items() if len(pieces) == 1}


def _shared(pairs: list[tuple[str, int]]) -> list[str]:
    pieces: dict[int, set[str]] = {}
    for piece, i in pairs:
        pieces.setdefault(i, set()).add(piece)
    twice = [i for i, some in pieces.items() if len(some) > 1]
    return [f"{len(twice)} ids are those of two pieces, such as {twice[0]}"] if twice else []


def _switches(spec: Mapping[str, Any]) -> list[str]:
    """Return what the file would do to every text that is encoded by it as it is."""
    found = []
    if isinstance(cut := spec.get("truncation"), Mapping):
        found.append(
            f"the file cuts every text at {cut.get('max_length')} tokens (truncation); tokbench "
            "switches that off, other programs may not"
        )
    if spec.get("padding"):
        found.append("the file pads texts (padding); switched off here")
    return found


def _of_ranks(lines: list[str]) -> Stored | None:
    entries: dict[int, str | bytes] = {}
    for line in filter(None, map(str.strip, lines)):
        content, _, rank = line.partition(" ")
        try:
            entries[int(rank)] = base64.b64decode(content, validate=True)
        except (ValueError, binascii.Error):
            return None
    return Stored(entries=entries) if entries else None


def _of_lines(lines: list[str]) -> Stored | None:
    pieces = lines[:-1] if lines and not lines[-1] else lines
    if not any(piece.strip("\r") in ("[UNK]", "<unk>") for piece in pieces):
        return None
    windows = sum(piece.endswith("\r") for piece in pieces)
    remarks = []
    if windows:
        remarks.append(f"{windows} lines end in CR LF; programs that do not expect it see no [UNK]")
    plain = [piece.rstrip("\r") for piece in pieces]
    if len(set(plain)) < len(plain):
        remarks.append(f"{len(plain) - len(set(plain))} lines are repeated")
    entries: dict[int, str | bytes] = dict(enumerate(plain))
    return Stored(entries=entries, remarks=tuple(remarks))
