"""Rank files of tiktoken: one line per entry, its bytes in base64 and its rank, which is its id."""

from __future__ import annotations

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from tokbench.bench.errors import TokenizerError
from tokbench.bench.files import write_whole
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, Merge
from tokbench.tokenizers_impl.pretokenize import PreTokenization


def model_from_ranks(
    ranks: Mapping[bytes, int],
    *,
    rule: PreTokenization,
    special_tokens: Mapping[str, int] | None = None,
    whole_piece: bool = True,
) -> BytePairModel:
    """Return the model that gives tiktoken's ids for these ranks.

    >>> ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"abc": 257, b"xyz": 258}
    >>> from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS
    >>> model = model_from_ranks(ranks, rule=PRE_TOKENIZATIONS["none"])
    >>> model.merges, model.entries[258]
    (((97, 98, 256), (256, 99, 257)), b'xyz')
    """
    missing = [b for b in range(256) if bytes([b]) not in ranks]
    if missing:
        raise TokenizerError(
            f"the ranks lack {len(missing)} of the 256 single bytes (first: 0x{missing[0]:02x}), "
            "so some text could not be encoded"
        )
    return BytePairModel(
        byte_ids=tuple(ranks[bytes([b])] for b in range(256)),
        merges=tuple(merges_from_ranks(ranks)),
        pre_tokenization=rule,
        special_tokens=dict(special_tokens or {}),
        whole_pieces=dict(ranks) if whole_piece else None,
    )


def merges_from_ranks(ranks: Mapping[bytes, int]) -> list[Merge]:
    """Return the merges that a rank file stands for, in order of rank.

    tiktoken joins any two neighbours whose joined bytes have a rank. Yet each entry has at most one
    pair that can ever be joined into it: as long as nothing is joined across the edges of a
    stretch of bytes, what happens inside it does not depend on what lies around it, so just before
    it becomes one token it is always the same two. They are found by encoding the entry alone. An
    entry whose bytes do not end as one token is never made by merging, and gets none.
    """
    pairs: dict[tuple[bytes, bytes], int] = {}
    by_length: defaultdict[int, list[bytes]] = defaultdict(list)
    for entry in ranks:
        by_length[len(entry)].append(entry)
    for length in sorted(by_length.keys() - {0, 1}):
        # Inside an entry only shorter ones are joined, and their pairs are known by now.
        found = {
            pair: ranks[entry] for entry in by_length[length] if (pair := _halves(entry, pairs))
        }
        pairs |= found
    ordered = sorted(pairs.items(), key=lambda item: item[1])
    return [(ranks[left], ranks[right], rank) for (left, right), rank in ordered]


def _halves(entry: bytes, pairs: Mapping[tuple[bytes, bytes], int]) -> tuple[bytes, bytes] | None:
    """Return the two tokens that an entry is before it is one, None when there are more."""
    parts = [entry[i : i + 1] for i in range(len(entry))]
    ranks: list[int | None] = [pairs.get(pair) for pair in pairwise(parts)]
    while len(parts) > 2:
        known = [rank for rank in ranks if rank is not None]
        if not known:
            return None
        at = ranks.index(min(known))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        if at > 0:
            ranks[at - 1] = pairs.get((parts[at - 1], parts[at]))
        if at < len(ranks):
            ranks[at] = pairs.get((parts[at], parts[at + 1]))
    return parts[0], parts[1]


def ranks_of(model: BytePairModel) -> dict[bytes, int]:
    """Return the ranks that give the model's ids in tiktoken.

    Raises `TokenizerError` when ids do not rise with the rank of their merges, since tiktoken knows
    only one number for both.
    """
    ids = [joined for _, _, joined in model.merges]
    if any(a >= b for a, b in pairwise(ids)):
        raise TokenizerError(
            "a rank file cannot hold this model: its ids are not in the order of its merges"
        )
    return {data: token for token, data in sorted(model.entries.items())}


def write_rank_file(model: BytePairModel, path: Path) -> None:
    """Write a tiktoken rank file, and its pattern and special tokens to ``<path>.json``.

    Read it with `tiktoken.load.load_tiktoken_bpe` and give the JSON's values to
    `tiktoken.Encoding`.
    """
    lines = (b"%s %d\n" % (base64.b64encode(data), rank) for data, rank in ranks_of(model).items())
    write_whole(path, b"".join(lines))
    arguments = {
        "name": path.stem,
        "pat_str": model.pre_tokenization.pattern,
        "special_tokens": dict(model.special_tokens),
    }
    write_whole(
        path.with_name(path.name + ".json"), json.dumps(arguments, ensure_ascii=False, indent=1)
    )


def read_ranks(data: bytes) -> dict[bytes, int]:
    """Return the ranks in the content of a rank file.

    >>> read_ranks(b"YQ== 0\\nYWI= 1\\n")
    {b'a': 0, b'ab': 1}
    """
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(data.splitlines(), start=1):
        if not line:
            continue
        try:
            token, rank = line.split()
            content, number_of = base64.b64decode(token, validate=True), int(rank)
        except (ValueError, binascii.Error) as exc:
            raise TokenizerError(f"line {number} is not a base64 token and a rank: {exc}") from exc
        if ranks.setdefault(content, number_of) != number_of:
            raise TokenizerError(f"line {number} has a second rank for the token {content!r}")
    return ranks
