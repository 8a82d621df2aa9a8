"""`tokbench lineage`: how an entry of a BPE vocabulary is made, and what it leaves behind.

An entry is made of shorter ones. Some of these are only steps on the way: text that holds them goes
on to the longer entry, so no text ends in them and a model hardly ever sees them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from tokbench.bench.commands.inspect import Piece
from tokbench.bench.commands.one_text import try_each
from tokbench.bench.config.bundled import Dataset, text_keys, text_path
from tokbench.bench.config.schema import Config
from tokbench.bench.count.lineage import Joined, lineage
from tokbench.bench.errors import InputError
from tokbench.bench.markup import plural
from tokbench.bench.model import HasMerging, HasSpelling, Merging, Tokenizer
from tokbench.bench.workers.executors import Executor


@dataclass(frozen=True, kw_only=True)
class Step:
    """One join on the way to an entry."""

    rank: int
    left: str
    right: str
    symbols: tuple[str, ...]
    """The whole entry after the step."""
    id: int | None
    """Of the entry that the step makes."""
    occurs: int | None
    """How often the text ends in that entry."""


@dataclass(frozen=True, kw_only=True)
class Making:
    """How one entry is made."""

    tokenizer: str
    id: int
    shown: str
    start: tuple[str, ...]
    steps: tuple[Step, ...]
    occurs: int
    tokens: int
    """Of the text in which entries were counted."""

    @property
    def passed(self) -> tuple[Step, ...]:
        """The entries on the way that the text never ends in."""
        return tuple(step for step in self.steps if step.id != self.id and step.occurs == 0)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "passed": [step.id for step in self.passed]}


def making(
    config: Config, token: str, texts: Sequence[str], executor: Executor
) -> tuple[list[Making], list[str]]:
    """Return how each tokenizer of a config makes an entry, and the errors.

    `token` is an entry's text, its raw spelling, or ``#`` and its id.
    """
    return try_each(config, (), partial(making_of, token, tuple(texts)), executor)


def making_of(token: str, texts: Sequence[str], key: str, tokenizer: Tokenizer) -> Making:
    """Return how one tokenizer makes an entry.

    Raises `InputError` where it has no such entry, is not BPE, or has the entry without merging.
    """
    rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
    if rules is None:
        raise InputError("not BPE, or its merges are not available: there is no lineage")
    wanted = _id_of(token, tokenizer)
    symbols = dict(rules.entries())
    if wanted not in symbols:
        raise InputError(f"entry {wanted} is not made by merging: it is special or added")
    content = tokenizer.vocabulary.token_bytes
    used: Counter[int] = Counter()
    for ids in tokenizer.encode_batch(list(texts)):
        used.update(int(i) for i in ids)
    known = _ids_by_symbol(rules, symbols)
    return Making(
        tokenizer=key,
        id=wanted,
        shown=Piece(id=wanted, content=content[wanted]).shown,
        start=tuple(_shown(one, content) for one in symbols[wanted]),
        steps=tuple(_steps(lineage(rules, symbols[wanted]), content, known, used)),
        occurs=used[wanted],
        tokens=used.total(),
    )


def _steps(
    joined: Sequence[Joined],
    content: Sequence[bytes | None],
    known: Mapping[Any, int],
    used: Counter[int],
) -> Iterator[Step]:
    for step in joined:
        made = known.get(_together(step.left, step.right))
        yield Step(
            rank=step.rank,
            left=_shown(step.left, content),
            right=_shown(step.right, content),
            symbols=tuple(_shown(one, content) for one in step.symbols),
            id=made,
            occurs=None if made is None else used[made],
        )


def _ids_by_symbol(rules: Merging, symbols: Mapping[int, Sequence[Any]]) -> dict[Any, int]:
    """Return the id of each entry by its content; where symbols are ids, by its parts."""
    found: dict[Any, int] = {}
    for id, start in symbols.items():
        if not start:
            continue
        if isinstance(start[0], int):
            steps = lineage(rules, start) if len(start) > 1 else ()
            if steps and len(steps[-1].symbols) == 1:
                found[steps[-1].left, steps[-1].right] = id
        else:
            found[start[0][:0].join(start)] = id
    return found


def _together(left: Any, right: Any) -> Any:
    return (left, right) if isinstance(left, int) else left + right


def _shown(symbol: Any, content: Sequence[bytes | None]) -> str:
    if isinstance(symbol, int):
        symbol = content[symbol] or b""
    if isinstance(symbol, str):
        symbol = symbol.encode()
    return Piece(id=0, content=symbol).shown


def _id_of(token: str, tokenizer: Tokenizer) -> int:
    content = tokenizer.vocabulary.token_bytes
    if token.startswith("#") and token[1:].isascii() and token[1:].isdigit():
        if int(token[1:]) < len(content):
            return int(token[1:])
        raise InputError(
            f"id {token[1:]} is not in the vocabulary, whose highest is {len(content) - 1}"
        )
    wanted = token.encode("utf-8", "surrogatepass")
    found = [i for i, entry in enumerate(content) if entry == wanted]
    if not found and isinstance(tokenizer, HasSpelling):
        spelled = tokenizer.spelling(range(len(content)))
        found = [i for i, entry in enumerate(spelled) if entry == token]
    if found:
        return found[0]
    raise InputError(
        f"{token!r} is not an entry of the vocabulary; most entries of words begin with a space, and "
        "`#1234` names an entry by its id"
    )


def bundled_texts() -> list[str]:
    """Return all text that tokbench brings along: sentences in 27 languages, and programs."""
    import json

    datasets: tuple[Dataset, ...] = ("sentences", "programs")
    return [
        json.loads(line)["text"]
        for dataset in datasets
        for key in text_keys(dataset)
        for line in text_path(dataset, key).read_text(encoding="utf-8").split("\n")
        if line
    ]


def render(one: Making, where: str) -> str:
    """Return an entry's making, a step a line, and what it passed through."""
    lines = [f"{one.tokenizer}: {one.id} {one.shown}", f"  from {' '.join(one.start)}"]
    for step in one.steps:
        seen = "" if step.occurs is None else f"  {step.id}: {plural(step.occurs, 'time')}"
        lines.append(
            f"  {step.left} + {step.right} (merge {step.rank:,}) → {' '.join(step.symbols)}{seen}"
        )
    if not one.steps:
        lines.append("  an initial symbol")
    passed = ", ".join(f"{step.left}{step.right} ({step.id})" for step in one.passed) or "none"
    lines.append(
        f"  passed through, but never the end in {where} ({plural(one.tokens, 'token')}): {passed}"
    )
    return "\n".join(lines)
