"""Byte-level byte pair encoding, to be read: bytes, joined pair by pair, lowest rank first.

A model is 256 single bytes and a list of merges. To encode a piece of text, start from its bytes
and, as long as any two neighbours are a known merge, join the two whose merge was learned first
(the leftmost of equal ones). Nothing else decides the ids, apart from where the text is cut into
pieces (`pretokenize`) and one shortcut that published vocabularies need (`whole_pieces`).

This file is the definition. `fast` gives the same ids with NumPy, `trainer`
learns merges, `formats` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.pretokenize import PreTokenization, pre_tokenization
from tokbench.tokenizers_impl.utf8 import utf8

Merge = tuple[int, int, int]
"""Left id, right id, id of the joined token."""


@dataclass(frozen=True, kw_only=True)
class BytePairModel:
    """All that decides the ids of a byte-level BPE tokenizer.

    - `byte_ids[b]`: the id of byte b; 256 ids.
    - `merges`: in the order they were learned, which is their rank.
    - `pre_tokenization`: where a text is cut first.
    - `special_tokens`: their ids; they are matched only when asked for.
    - `whole_pieces`: tiktoken's shortcut, None when off. A piece that is an entry of its own gets
      that id without any merging. For merges learned from text this changes nothing, but some
      published vocabularies hold entries that merging never reaches.

    >>> m = minbpe_example()
    >>> m.n_ids, m.token_bytes[256:]
    (259, [b'aa', b'ab', b'aaab'])
    """

    byte_ids: tuple[int, ...]
    merges: tuple[Merge, ...]
    pre_tokenization: PreTokenization
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    whole_pieces: Mapping[bytes, int] | None = None

    @cached_property
    def ranks(self) -> dict[tuple[int, int], int]:
        """The rank of each pair of ids that may be joined."""
        return {(left, right): rank for rank, (left, right, _) in enumerate(self.merges)}

    @cached_property
    def entries(self) -> dict[int, bytes]:
        """The bytes of each id that is not a special token."""
        found = {token: bytes([byte]) for byte, token in enumerate(self.byte_ids)}
        waiting: Sequence[Merge] = self.merges
        while waiting:
            later: list[Merge] = []
            for left, right, joined in waiting:
                # Llama 3 has entries of a lower rank than their parts.
                if left in found and right in found:
                    found[joined] = found[left] + found[right]
                else:
                    later.append((left, right, joined))
            if len(later) == len(waiting):
                raise TokenizerError(f"merge {later[0]} joins ids that no other merge makes")
            waiting = later
        for data, token in (self.whole_pieces or {}).items():
            found[token] = data
        return found

    @cached_property
    def token_bytes(self) -> list[bytes | None]:
        """The bytes of each id; None for special tokens and for ids that do not exist."""
        return [self.entries.get(token) for token in range(self.n_ids)]

    @cached_property
    def n_ids(self) -> int:
        """Highest id + 1."""
        return 1 + max((*self.entries, *self.special_tokens.values()))


def encode(
    model: BytePairModel, text: str, *, allowed_special: Iterable[str] = frozenset()
) -> list[int]:
    """Return the ids of a text.

    Spellings of special tokens are ordinary text, except for those named in `allowed_special`
    (the longest where several match). Raises `TokenizerError` for lone surrogates and for a name
    that is not a special token.

    >>> encode(minbpe_example(), "aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    ids: list[int] = []
    for part, special in _split_special(text, _wanted(model, allowed_special)):
        for piece in model.pre_tokenization.split(part):
            ids += encode_piece(model, utf8(piece))
        ids += [] if special is None else [special]
    return ids


def encode_piece(model: BytePairModel, piece: bytes) -> list[int]:
    """Return the ids of the bytes of one piece."""
    if model.whole_pieces is not None and piece in model.whole_pieces:
        return [model.whole_pieces[piece]]
    return apply_merges(model, piece)


def apply_merges(model: BytePairModel, piece: bytes) -> list[int]:
    """Join the bytes of a piece, lowest rank first and leftmost among equals.

    >>> apply_merges(minbpe_example(), b"aaab")
    [258]
    """
    ids = [model.byte_ids[byte] for byte in piece]
    never = len(model.merges)
    while len(ids) > 1:
        pairs = pairwise(ids)
        rank, at = min((model.ranks.get(pair, never), at) for at, pair in enumerate(pairs))
        if rank == never:
            break
        ids[at : at + 2] = [model.merges[rank][2]]
    return ids


def replay_merges(model: BytePairModel, piece: bytes) -> list[int]:
    """Return what `apply_merges` returns, by doing every merge of the model in order.

    This is how the merges were made in training. It costs one pass per merge and is here to be
    compared with. For merges that were learned from text the two are equal.

    >>> replay_merges(minbpe_example(), b"aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    ids = [model.byte_ids[byte] for byte in piece]
    for merge in model.merges:
        ids = join_pair(ids, merge)
    return ids


def join_pair(ids: Sequence[int], merge: Merge) -> list[int]:
    """Join every occurrence of one pair, from the left: ``aaaaa`` becomes ``aa aa a``.

    >>> join_pair([97, 97, 97, 97, 97], (97, 97, 256))
    [256, 256, 97]
    """
    left, right, joined = merge
    result: list[int] = []
    at = 0
    while at < len(ids):
        found = at + 1 < len(ids) and ids[at] == left and ids[at + 1] == right
        result.append(joined if found else ids[at])
        at += 2 if found else 1
    return result


def decode_bytes(model: BytePairModel, ids: Iterable[int]) -> bytes:
    """Return the bytes that ids stand for; a special token stands for its name.

    Raises `TokenizerError` for an id that does not exist.
    """
    names = {token: name.encode() for name, token in model.special_tokens.items()}
    try:
        return b"".join(names[i] if i in names else model.entries[i] for i in ids)
    except KeyError as exc:
        raise TokenizerError(f"id {exc.args[0]} is not in the vocabulary") from exc


def minbpe_example() -> BytePairModel:
    """Return the three merges learned from ``aaabdaaabac`` (the example of minbpe and Wikipedia).

    With the tie rule of `trainer`, (a, b) comes before (aa, a): both occur twice.
    """
    return BytePairModel(
        byte_ids=tuple(range(256)),
        merges=((97, 97, 256), (97, 98, 257), (256, 257, 258)),
        pre_tokenization=pre_tokenization("none"),
    )


def _wanted(model: BytePairModel, allowed: Iterable[str]) -> dict[str, int]:
    names = set(allowed)
    if unknown := sorted(names - set(model.special_tokens)):
        raise TokenizerError(
            f"{unknown[0]!r} is not a special token; there are: "
            f"{', '.join(sorted(model.special_tokens)) or 'none'}"
        )
    return {name: model.special_tokens[name] for name in names}


def _split_special(text: str, wanted: Mapping[str, int]) -> list[tuple[str, int | None]]:
    """Return parts of the text, each with the special token that follows it (the last: None)."""
    import regex

    if not wanted:
        return [(text, None)]
    longest_first = sorted(wanted, key=lambda name: (-len(name), name))
    parts = regex.split(f"({'|'.join(map(regex.escape, longest_first))})", text)
    between, names = parts[::2], parts[1::2]
    return list(zip(between, [*(wanted[name] for name in names), None], strict=True))
