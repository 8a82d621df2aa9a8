"""How fast the tokenizers of a run were, as the report of the run tells it."""

from __future__ import annotations

from collections.abc import Iterator

from bench.markup import escape, number
from bench.markup import markdown_table as table
from reports.view import Row, View


def speed_section(view: View) -> Iterator[str]:
    """Yield throughputs; nothing where nothing was timed."""
    metrics = ("encode_throughput", "decode_throughput")
    rows = [r for r in view.rows if r["metric"] in metrics and r["value"] is not None]
    if not rows:
        return
    yield "## Speed"
    params = rows[0]["params"]
    yield (
        f"Median of {rows[0]['n']} rounds, in which the tokenizers took turns, each in a process of "
        f"its own: one {params['call']} call on {params['threads']} thread, the same text every round "
        "(caches are warm). MB/s is 10⁶ bytes of UTF-8; in brackets the quartiles. A single machine's "
        "word: compare within this table only."
    )
    body = []
    for corpus in view.corpora:
        for name in view.tokenizers:
            encode = view.row("encode_throughput", name, corpus)
            decode = view.row("decode_throughput", name, corpus)
            if encode is not None and encode["value"] is not None:
                body.append(
                    [escape(name), escape(corpus), _speed_cell(encode), _speed_cell(decode)]
                )
    yield table(["tokenizer", "corpus", "encode MB/s", "decode MB/s"], body, left=2)


def _speed_cell(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    low, high = row["params"]["quartiles"]
    return f"{number(row['value'], 1)} ({number(low, 1)} to {number(high, 1)})"
