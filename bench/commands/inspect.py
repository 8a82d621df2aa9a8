"""How tokenizers cut one text: pieces, ids and bytes, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tokbench.bench.commands.one_text import try_each
from tokbench.bench.config.schema import Config
from tokbench.bench.corpus.open_files import MARK
from tokbench.bench.count.roundtrip import classify
from tokbench.bench.count.tally import ROUND_TRIP
from tokbench.bench.errors import UsageError
from tokbench.bench.markup import escape, markdown_table, table, visible
from tokbench.bench.model import Tokenizer
from tokbench.bench.workers.executors import Executor, Inline


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One token: its id, its raw bytes (None where it has none), and how it is shown."""

    id: int
    content: bytes | None

    @property
    def shown(self) -> str:
        """The text of the token; bytes that are no whole character as ``\\xNN``."""
        if self.content is None:
            return "(no bytes)"
        text = self.content.decode("utf-8", "surrogateescape")
        return "".join(
            f"\\x{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text
        )


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """One text under one tokenizer."""

    tokenizer: str
    pieces: tuple[Piece, ...]
    n_bytes: int
    round_trip: str

    def to_json(self) -> dict[str, Any]:
        """Return plain values; bytes are in hexadecimal."""
        return {
            "tokenizer": self.tokenizer,
            "tokens": len(self.pieces),
            "bytes": self.n_bytes,
            "round_trip": self.round_trip,
            "ids": [piece.id for piece in self.pieces],
            "pieces": [piece.shown for piece in self.pieces],
            "piece_bytes": [None if p.content is None else p.content.hex() for p in self.pieces],
        }


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
        return data.decode("utf-8").removeprefix(MARK)  # as the files of a corpus are read
    except OSError as exc:
        raise UsageError(f"{file}: cannot be read: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(f"the text is not UTF-8 (byte {exc.start})") from exc


def inspect(
    config: Config, text: str, wanted: Sequence[str], *, executor: Executor | None = None
) -> tuple[list[Inspection], list[str]]:
    """Return what each wanted tokenizer of a config makes of a text, and what could not be done.

    `executor` says where the tokenizers are asked: in this process when there is none.
    """
    return try_each(config, wanted, partial(inspection_of, text), executor or Inline())


def inspection_of(text: str, key: str, tokenizer: Tokenizer) -> Inspection:
    """Return what a tokenizer makes of a text."""
    ids = tokenizer.encode_batch([text])
    decoded = tokenizer.decode_batch(ids)[0]
    vocabulary = tokenizer.vocabulary
    unknown = any(int(i) in vocabulary.unknown_ids for i in ids[0])
    return Inspection(
        tokenizer=key,
        pieces=tuple(Piece(id=int(i), content=vocabulary.token_bytes[int(i)]) for i in ids[0]),
        n_bytes=len(text.encode()),
        round_trip=ROUND_TRIP[classify(text, decoded, unknown=unknown)],
    )


def render(text: str, views: Sequence[Inspection], *, markdown: bool) -> str:
    """Return a table of all tokenizers, then one table of pieces for each."""
    blocks = [_overview(views, markdown=markdown)]
    for view in views:
        rows = [
            [
                str(piece.id),
                escape(piece.shown) if markdown else piece.shown,
                "–" if piece.content is None else piece.content.hex(" "),
            ]
            for piece in view.pieces
        ]
        header = ["id", "piece", "bytes"]
        title = f"### {escape(view.tokenizer)}" if markdown else f"{view.tokenizer}:"
        body = markdown_table(header, rows) if markdown else table(header, rows, right=[0])
        blocks.append(f"{title}\n\n{body}" if markdown else f"{title}\n{body}")
    return "\n\n".join(blocks)


def _overview(views: Sequence[Inspection], *, markdown: bool) -> str:
    header = ["tokenizer", "tokens", "bytes/token", "round trip", "pieces"]
    rows = []
    for view in views:
        n = len(view.pieces)
        ratio = f"{view.n_bytes / n:.2f}" if n else "–"
        pieces = " | ".join(piece.shown for piece in view.pieces)
        if markdown:
            pieces = escape(pieces)
        rows.append([view.tokenizer, str(n), ratio, view.round_trip, pieces])
    return markdown_table(header, rows) if markdown else table(header, rows, right=[1, 2])
