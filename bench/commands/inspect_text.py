"""The outputs of `tokbench inspect`: lines for a terminal, Markdown, a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokbench.bench.commands.inspect import MOST_PIECES, Inspection, Piece
from tokbench.bench.console import Painted
from tokbench.bench.count.lineage import written
from tokbench.bench.markup import cell_width, escape, html, markdown_table, one_line, plural, table

BOUNDARY = " | "


def lines(
    views: Sequence[Inspection], *, width: int, pieces: bool = False
) -> Iterator[list[Painted]]:
    """Yield the lines for a terminal: a table, then each tokenizer's tokens in colours.

    With `pieces`, each token also has a row with its id, raw spelling and bytes.
    """
    yield from _plain(_overview(views, width))
    for view in views:
        yield []
        yield [(one_line(view.tokenizer), None)]
        yield from _flow(view.pieces[:MOST_PIECES], width)
        if rest := _rest(view):
            yield [(rest, None)]
        if pieces:
            yield []
            yield from _plain(_piece_table(view, width))
        if view.lineages is not None:
            yield []
            yield from _plain("\n".join(_lineage(view)))


def _plain(text: str) -> Iterator[list[Painted]]:
    for line in text.split("\n"):
        yield [(line, None)]


def _rest(view: Inspection) -> str:
    """Return how many tokens are not shown; empty where all are."""
    more = view.tokens - min(len(view.pieces), MOST_PIECES)
    return f"… {plural(more, 'more token')}; --format json has all" if more else ""


def _overview(views: Sequence[Inspection], width: int) -> str:
    header = ["tokenizer", "tokens", "bytes/token", "round trip"]
    rows = [
        [_short(view.tokenizer, width - 36), *_figures(view), view.round_trip] for view in views
    ]
    return table(header, rows, right=[1, 2])


def _figures(view: Inspection) -> tuple[str, str]:
    n = view.tokens
    return f"{n:,}", f"{view.n_bytes / n:.2f}" if n else "–"


def _short(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _flow(pieces: Sequence[Piece], width: int) -> Iterator[list[Painted]]:
    """Yield tokens in sequence, separated by a mark, in lines of the given width."""
    line: list[Painted] = []
    used = 0
    for number, piece in enumerate(pieces):
        size = cell_width(piece.shown)
        if line and used + len(BOUNDARY) + size > width:
            yield line
            line, used = [], 0
        if line:
            line.append((BOUNDARY, None))
            used += len(BOUNDARY)
        line.append((piece.shown, number))
        used += size
    if line:
        yield line


def _piece_table(view: Inspection, width: int) -> str:
    has_raw = any(piece.raw is not None for piece in view.pieces)
    header = ["id", "text", *(["raw"] if has_raw else []), "bytes"]
    room = max(8, width // 3)
    rows = [
        [
            str(piece.id),
            _short(piece.shown, room),
            *([_short(piece.raw or "–", room)] if has_raw else []),
            _short(_hex(piece), room),
        ]
        for piece in view.pieces[:MOST_PIECES]
    ]
    return table(header, rows, right=[0])


def _hex(piece: Piece) -> str:
    return "–" if piece.content is None else piece.content.hex(" ")


def _lineage(view: Inspection) -> Iterator[str]:
    if not view.lineages:
        yield "no lineage: the tokenizer is not BPE, or its merges are not available"
        return
    for piece in {piece.id: piece for piece in view.pieces[:MOST_PIECES]}.values():
        steps = view.lineages.get(piece.id)
        if steps is None:
            yield f"{piece.id} {piece.shown}: not produced by merges"
        else:
            yield f"{piece.id} {piece.shown}:{'' if steps else ' an initial symbol'}"
            yield from (f"  {written(step)}" for step in steps)


def markdown(views: Sequence[Inspection]) -> str:
    """Return a table of all tokenizers, then one table of tokens for each."""
    header = ["tokenizer", "tokens", "bytes/token", "round trip", "pieces"]
    rows = [
        [
            escape(view.tokenizer),
            *_figures(view),
            view.round_trip,
            escape(BOUNDARY.join(piece.shown for piece in view.pieces[:MOST_PIECES])),
        ]
        for view in views
    ]
    blocks = [markdown_table(header, rows)]
    for view in views:
        header = ["id", "piece", "raw", "bytes"]
        rows = [
            [str(p.id), escape(p.shown), escape(p.raw or "–"), escape(_hex(p))]
            for p in view.pieces[:MOST_PIECES]
        ]
        blocks += [f"### {escape(view.tokenizer)}", markdown_table(header, rows)]
        if rest := _rest(view):
            blocks.append(rest)
        if view.lineages is not None:
            blocks.append("\n".join(f"- {escape(line.strip())}" for line in _lineage(view)))
    return "\n\n".join(blocks)


_STYLE = """\
body{font:16px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
.text{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
.text span{padding:.1em .15em;border-right:2px solid #444;white-space:pre-wrap}
.c0{background:#cfe3ff}.c1{background:#ffd9d9}.c2{background:#d5f5d5}.c3{background:#fff0c2}.c4{background:#e8dbff}
table{border-collapse:collapse}th,td{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}td.m{font-family:ui-monospace,monospace;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.text span,td.m{color:#111}td.m{color:inherit}}
"""


def page(views: Sequence[Inspection]) -> str:
    """Return an HTML page without scripts or external resources."""
    overview = "".join(
        f"<tr><td>{html(view.tokenizer)}</td>"
        + "".join(f'<td class="n">{html(figure)}</td>' for figure in _figures(view))
        + f"<td>{html(view.round_trip)}</td></tr>\n"
        for view in views
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>How tokenizers split a text</title>\n<style>\n{_STYLE}</style>\n"
        "<h1>How tokenizers split a text</h1>\n<table>\n<tr><th>tokenizer<th>tokens"
        f"<th>bytes/token<th>round trip</tr>\n{overview}</table>\n"
        + "".join(map(_section, views))
        + "</html>\n"
    )


def _section(view: Inspection) -> str:
    spans = "".join(
        f'<span class="c{number % 5}" title="id {piece.id}: {html(_hex(piece))}">'
        f"{html(piece.shown)}</span><wbr>"
        for number, piece in enumerate(view.pieces[:MOST_PIECES])
    )
    rows = "".join(
        f'<tr><td class="n">{piece.id}<td class="m">{html(piece.shown)}'
        f'<td class="m">{html(piece.raw or "–")}<td class="m">{html(_hex(piece))}</tr>\n'
        for piece in view.pieces[:MOST_PIECES]
    )
    steps = "" if view.lineages is None else "".join(f"<li>{html(one)}" for one in _lineage(view))
    rest = f"<p>{html(_rest(view))}</p>\n" if _rest(view) else ""
    return (
        f'<h2>{html(view.tokenizer)}</h2>\n<p class="text">{spans}</p>\n{rest}<details><summary>'
        "ids, raw spelling and bytes</summary>\n<table>\n<tr><th>id<th>text<th>raw<th>bytes</tr>\n"
        f"{rows}</table></details>\n" + (f"<ul>{steps}</ul>\n" if steps else "")
    )
