"""The documents that the token explorer shows, packed language by language.

The page unpacks a language when a reader looks at it. What follows from the text is left out:
most entries of a vocabulary are spelled by a rule from the bytes that the token stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from tokbench.bench.markup import plural
from tokbench.reports.page.data import packed
from tokbench.reports.view import Row, View

Token = dict[str, Any]
"""One row of `segments/tokens/`."""

RULES = ("level", "space")
"""`level`: each byte as a printable character, as GPT-2 does. `space`: ``▁`` for a space."""


def texts_of(view: View) -> list[dict[str, Any]]:
    """Return the packed documents of each corpus whose text the run holds."""
    stored = [c for c in view.ordered_corpora if view.results.has_segments(c)]
    tokens = {name: _tokens(view, name) for name in view.tokenizers if stored}
    rules = {name: rule_of(list(found.values())) for name, found in tokens.items()}
    return [
        {
            "corpus": corpus,
            "about": _about(view, corpus, rows),
            "rules": [rules[name] for name in view.tokenizers],
            "languages": dict(_languages(view, corpus, rows, tokens, rules)),
        }
        for corpus in stored
        if (rows := view.results.segments(corpus).to_pylist())
    ]


def _tokens(view: View, tokenizer: str) -> dict[int, Token]:
    name = f"segments/tokens/{tokenizer}.parquet"
    if not (view.results.folder / name).is_file():  # left out of a copy
        return {}
    return {row["id"]: row for row in view.results.segment_tokens(tokenizer).to_pylist()}


def _about(view: View, corpus: str, rows: Sequence[Row]) -> str:
    texts = [row for row in rows if row["tokenizer"] is None]
    witnesses = sum(row["why"] == "witness" for row in texts)
    asked = view.run["config"].get("texts")
    reason = "the config asks for it with texts: " + json.dumps(asked)
    if asked is None:
        reason = "it comes with tokbench"
    licence = "" if view.is_bundled(corpus) else " Mind its licence before you pass the page on."
    return (
        f"This page holds the text of {plural(len(texts), 'document')} of {corpus}, because {reason}: "
        f"a sample spread evenly over each language, and {plural(witnesses, 'witness', 'witnesses')} "
        f"of what a round trip loses.{licence}"
    )


def rule_of(tokens: Sequence[Token]) -> str | None:
    """Return the rule that spells most entries, None where no entry is spelled.

    >>> rule_of([{"bytes": b" a", "spelling": "\\u2581a"}]), rule_of([{"bytes": b"a", "spelling": None}])
    ('space', None)
    """
    spelled = [token for token in tokens if token["spelling"] is not None]
    if not spelled:
        return None
    return max(
        RULES, key=lambda rule: sum(derived(rule, t["bytes"]) == t["spelling"] for t in spelled)
    )


def derived(rule: str | None, content: bytes | None) -> str | None:
    """Return how an entry with these bytes is spelled by a rule, None where the rule cannot tell.

    >>> derived("level", b" a"), derived("space", b" a"), derived(None, b"a")
    ('\\u0120a', '\\u2581a', None)
    """
    if content is None or rule is None:
        return None
    if rule == "level":
        table = _level_table()
        return "".join(table[byte] for byte in content)
    try:
        return content.decode().replace(" ", "▁")
    except UnicodeDecodeError:
        return None


@cache
def _level_table() -> tuple[str, ...]:
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    other = iter(range(256, 512))
    return tuple(chr(b) if b in plain else chr(next(other)) for b in range(256))


def _languages(
    view: View,
    corpus: str,
    rows: Sequence[Row],
    tokens: Mapping[str, Mapping[int, Token]],
    rules: Mapping[str, str | None],
) -> Iterator[tuple[str, str]]:
    """Yield the place of each language in the page's data, and its packed documents."""
    places = {key: place for place, key in enumerate(view.languages(corpus))}
    for language, some in groupby(rows, key=lambda row: row["language"]):
        documents = [list(of) for _, of in groupby(some, key=lambda row: row["document_id"])]
        odd: dict[str, dict[int, list[Any]]] = {name: {} for name in view.tokenizers}
        chunk = {
            "documents": [[d[0]["document_id"], d[0]["why"], d[0]["text"]] for d in documents],
            "cuts": [_cuts(d, tokens, rules, odd) for d in documents],
            "odd": [odd[name] for name in view.tokenizers],
        }
        text = json.dumps(chunk, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        yield str(places[language]), packed(text.encode(), level=6)


def _cuts(
    document: Sequence[Row],
    tokens: Mapping[str, Mapping[int, Token]],
    rules: Mapping[str, str | None],
    odd: dict[str, dict[int, list[Any]]],
) -> list[Any]:
    """Return for each tokenizer its ids, and lengths of tokens; a sentence where there are none.

    Adds to `odd` the entries that the page could not tell from the text.
    """
    content = document[0]["text"].encode()
    by_name = {row["tokenizer"]: row for row in document[1:]}
    found: list[Any] = []
    for name, mine in odd.items():
        row = by_name.get(name)
        if row is None or row["ids"] is None:
            found.append((row and row["detail"]) or "it could not be encoded")
            continue
        _note_odd(mine, row, content, tokens[name], rules[name])
        found.append(_lengths(row))
    return found


def _lengths(row: Row) -> list[Any]:
    """Return ids, lengths in bytes, and the gap before each token where there are any."""
    if row["ends"] is None:
        return [row["ids"]]
    before = [0, *row["ends"]][: len(row["ends"])]  # no token has no start either
    starts = row["starts"] or before
    lengths = [end - start for start, end in zip(starts, row["ends"], strict=True)]
    if row["starts"] is None:
        return [row["ids"], lengths]
    gaps = [start - end for start, end in zip(starts, before, strict=True)]
    return [row["ids"], lengths, gaps]


def _note_odd(
    odd: dict[int, list[Any]],
    row: Row,
    content: bytes,
    tokens: Mapping[int, Token],
    rule: str | None,
) -> None:
    starts = row["starts"] or [0, *(row["ends"] or ())]
    for i, token in enumerate(row["ids"]):
        if token in odd or (entry := tokens.get(token)) is None:
            continue
        part = content[starts[i] : row["ends"][i]] if row["ends"] is not None else None
        plain = entry["bytes"] == part and entry["kind"] == "ordinary"
        if not plain or derived(rule, part) != entry["spelling"]:
            known = entry["bytes"]
            odd[token] = [entry["spelling"], None if known is None else known.hex(), entry["kind"]]
