"""How tokenizers cut one text: pieces, ids and bytes, side by side."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.bench.commands.one_text import try_each
from tokbench.bench.config.schema import Config
from tokbench.bench.count.lineage import Joined, lineages, shown, written
from tokbench.bench.count.roundtrip import classify
from tokbench.bench.count.tally import ROUND_TRIP
from tokbench.bench.errors import UsageError
from tokbench.bench.model import HasMerging, HasSpelling, Tokenizer
from tokbench.bench.workers.executors import Executor, Inline

MOST_PIECES = 2_000
"""Tokens of a text that are described one by one, except where all are wanted; all are counted."""


class Piece(NamedTuple):
    """One token: its id, its raw bytes (None where it has none), and how it is shown."""

    id: int
    content: bytes | None
    raw: str | None = None
    """The entry as the vocabulary spells it, such as ``##ing``; None where it is bytes."""

    @property
    def shown(self) -> str:
        """The text of the token; bytes of incomplete characters as ``\\xNN``."""
        return "(no bytes)" if self.content is None else shown(self.content)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """One text under one tokenizer."""

    tokenizer: str
    tokens: int
    pieces: tuple[Piece, ...]
    """The first tokens; all of them unless a maximum was given."""
    n_bytes: int
    round_trip: str
    lineages: Mapping[int, tuple[Joined, ...]] | None = None
    """By id, the merges that produced a token; None unless requested."""

    def to_json(self) -> dict[str, Any]:
        """Return plain values; bytes are in hexadecimal."""
        return {
            "tokenizer": self.tokenizer,
            "tokens": self.tokens,
            "bytes": self.n_bytes,
            "round_trip": self.round_trip,
            "ids": [piece.id for piece in self.pieces],
            "pieces": [piece.shown for piece in self.pieces],
            "piece_bytes": [None if p.content is None else p.content.hex() for p in self.pieces],
            "raw": [piece.raw for piece in self.pieces],
            **self._lineages(),
        }

    def _lineages(self) -> dict[str, Any]:
        if self.lineages is None:
            return {}
        steps = {str(id): [written(step) for step in path] for id, path in self.lineages.items()}
        return {"lineage": steps}


def read_text(text: str | None, file: Path | None) -> str:
    """Return the text to inspect: the argument, a file, or stdin for ``-``."""
    if (text is None) == (file is None):
        raise UsageError("give either a TEXT or --file (TEXT may be - for standard input)")
    try:
        if file is not None:
            data = file.read_bytes()
        elif text == "-":
            data = sys.stdin.buffer.read()
        else:
            data = str(text).encode("utf-8", "surrogateescape")
            return data.decode("utf-8")
        return data.decode("utf-8").removeprefix("\ufeff")  # as the files of a corpus are read
    except OSError as exc:
        raise UsageError(f"{file}: cannot be read: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f"the text is not UTF-8 (byte {exc.start})") from exc
    except UnicodeEncodeError as exc:
        raise UsageError(
            f"the text contains a lone surrogate (character {exc.start}), which UTF-8 cannot encode"
        ) from exc


def inspect(
    config: Config,
    text: str,
    wanted: Sequence[str],
    *,
    executor: Executor | None = None,
    lineage: bool = False,
    most: int | None = None,
) -> tuple[list[Inspection], list[str]]:
    """Return a text as each requested tokenizer of a config splits it, and the errors.

    `executor` runs the tokenizers; None runs them in this process. With `lineage`, BPE tokenizers
    also return the merges that produced each token. `most` is the number of tokens to describe; None
    describes all.
    """
    look = partial(inspection_of, text, lineage=lineage, most=most)
    return try_each(config, wanted, look, executor or Inline())


def inspection_of(
    text: str, key: str, tokenizer: Tokenizer, *, lineage: bool = False, most: int | None = None
) -> Inspection:
    """Return a text as one tokenizer splits it, with its first `most` tokens (None: all)."""
    returned = tokenizer.encode_batch([text])
    decoded = tokenizer.decode_batch(returned)[0]
    ids = [int(i) for i in returned[0]]
    vocabulary = tokenizer.vocabulary
    unknown = any(i in vocabulary.unknown_ids for i in ids)
    n, ids = len(ids), ids[:most]
    raw = tokenizer.spelling(ids) if isinstance(tokenizer, HasSpelling) else [None] * len(ids)
    return Inspection(
        tokenizer=key,
        tokens=n,
        pieces=tuple(
            Piece(id=i, content=vocabulary.token_bytes[i], raw=entry)
            for i, entry in zip(ids, raw, strict=True)
        ),
        n_bytes=len(text.encode()),
        round_trip=ROUND_TRIP[classify(text, decoded, unknown=unknown)],
        lineages=_lineages(tokenizer, ids) if lineage else None,
    )


def _lineages(tokenizer: Tokenizer, ids: Sequence[int]) -> Mapping[int, tuple[Joined, ...]]:
    rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
    return {} if rules is None else lineages(rules, ids)
