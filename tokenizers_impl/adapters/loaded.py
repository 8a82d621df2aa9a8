"""What a loaded `tokenizers.Tokenizer` really does, where its file says otherwise.

The library gives added tokens ids of its own where the declared ones leave a gap or are taken, and
a Unigram model matches the special tokens that it has as pieces, whatever the options say. So ids
are asked of the object that encodes, and what it does with spelled special tokens is measured.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tokbench.bench.markup import plural
from tokbench.tokenizers_impl.adapters import tokenizer_json
from tokbench.tokenizers_impl.adapters.tokenizer_json import Spec

_EXAMPLES = 3


def with_true_ids(spec: Spec, library: Any) -> tuple[Spec, list[str]]:
    """Return the file with the ids that the library gave its added tokens, and notes on them."""
    given = {token.content: i for i, token in library.get_added_tokens_decoder().items()}
    declared = spec.get("added_tokens") or []
    moved = [t for t in declared if given.get(t["content"]) not in (None, t["id"])]
    tokens = {
        t["content"]: {**t, "id": given[t["content"]]} for t in declared if t["content"] in given
    }
    notes = []
    if moved:
        shown = ", ".join(
            f"{t['content']!r} {t['id']} → {given[t['content']]}" for t in moved[:_EXAMPLES]
        )
        notes.append(
            f"the library gives {plural(len(moved), 'added token')} other ids than the file "
            f"declares ({shown}); ids here are the library's"
        )
    if lost := [t["content"] for t in declared if t["content"] not in given]:
        notes.append(f"the library does not know the added token {lost[0]!r} of the file")
    if not (moved or lost or len(tokens) < len(declared)):
        return spec, notes
    return {**spec, "added_tokens": list(tokens.values())}, notes


def doubtful_entries(spec: Spec) -> Iterator[str]:
    """Yield notes on entries that share an id, occur twice, or stand for nothing."""
    vocab = spec["model"]["vocab"]
    pairs = (
        [(piece, i) for i, (piece, _score) in enumerate(vocab)]
        if isinstance(vocab, list)
        else list(vocab.items())
    )
    ids = Counter(i for _, i in pairs)
    if shared := [i for i, n in ids.items() if n > 1]:
        names = [piece for piece, i in pairs if i == shared[0]]
        yield (
            f"{plural(len(shared), 'id')} with several entries "
            f"({shared[0]}: {', '.join(map(repr, names[:_EXAMPLES]))}); one of them decodes"
        )
    spellings = Counter(piece for piece, _ in pairs)
    if twice := [piece for piece, n in spellings.items() if n > 1]:
        yield f"{plural(len(twice), 'piece')} listed twice ({twice[0]!r}); the last one is used"
    if spellings[""]:
        yield f"the entry with id {next(i for piece, i in pairs if not piece)} decodes to nothing"


def read_as_special(
    library: Any, special: Mapping[str, int], unknown: int | None
) -> tuple[list[str], int]:
    """Encode each special token as part of a text; return those that gave their special id.

    Also returns how many were tried: the unknown token is not, since its id says nothing.
    """
    names = [name for name, i in special.items() if name.strip() and i != unknown]
    texts = [f"a{name}a" for name in names]
    encoded = library.encode_batch_fast(texts, add_special_tokens=False)
    return [n for n, e in zip(names, encoded, strict=True) if special[n] in e.ids], len(names)


def special_token_notes(read: list[str], tried: int, *, match: bool) -> list[str]:
    """Say which special tokens a text that spells them gets, where it gets any."""
    if not (read or match):
        return []
    how = f"special tokens spelled in a text: {len(read)} of {tried} read as the special token"
    if match:
        return [f"{how} (special_tokens: match)"]
    shown = ", ".join(map(repr, read[:_EXAMPLES]))
    return [f"{how} although special_tokens is `text`: the model has them as pieces ({shown})"]


def with_ordinary_specials(spec: Spec) -> str | None:
    """Return the tokenizer.json in which a Unigram model does not match special tokens.

    Their pieces get a space in front. Where spaces are replaced by a mark before the model runs, no
    text gives such a piece; scores and ids of all others stay. None where that cannot be done.
    """
    if tokenizer_json.model_type(spec) != "Unigram" or tokenizer_json.space_mark(spec) is None:
        return None
    special = {t.content for t in tokenizer_json.added_tokens(spec) if t.special}
    vocab = spec["model"]["vocab"]
    unknown = tokenizer_json.unknown_id(spec)
    hidden = {
        i
        for i, (piece, _) in enumerate(vocab)
        if (piece in special and not tokenizer_json.is_byte_piece(spec, piece)) or i == unknown
    }
    if not hidden:
        return None
    named = {vocab[i][0] for i in hidden}
    changed = {
        **spec,
        "truncation": None,
        "padding": None,
        "post_processor": None,
        "added_tokens": [
            t
            for t in spec.get("added_tokens") or []
            if not (t["special"] and t["content"] in named)
        ],
        "model": {
            **spec["model"],
            "vocab": [
                [f" {piece}" if i in hidden else piece, score]
                for i, (piece, score) in enumerate(vocab)
            ],
        },
    }
    return json.dumps(changed, ensure_ascii=False)
