"""Byte-level BPE models in files: tiktoken's rank file, `tokenizer.json`, and a JSON of our own.

What each format can hold:

- a **rank file** has one line per entry, its bytes in base64 and its rank, which is also its id.
  It has no pattern and no special tokens, so these are written to ``<name>.json`` beside it, under
  the names of `tiktoken.Encoding`'s arguments. It has no merges either: a pair may be joined when
  the joined bytes are an entry (`merges_from_ranks` finds the one pair that ever is).
- **tokenizer.json** spells each byte as a printable character (`byte_alphabet`) and holds merges,
  pattern and special tokens; ``ignore_merges`` is tiktoken's whole-piece shortcut.
- **tokbench's JSON** holds the fields of `BytePairModel`:

      {"format": "tokbench.byte_bpe", "version": 1,
       "pre_tokenization": "gpt2",          name, or "custom"
       "pattern": "...", "tokenizers_pattern": "...",
       "whole_piece": false,                tiktoken's shortcut
       "special_tokens": {"<pad>": 0},
       "byte_ids": [...],                   256 ids, by byte
       "merges": [[left, right, id], ...],  in order of rank
       "unreachable": {"e29680": 9}}        entries no merge makes: bytes in hex, id
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.errors import ConfigError, TokenizerError
from tokbench.bench.files import write_whole
from tokbench.tokenizers_impl import byte_alphabet
from tokbench.tokenizers_impl.byte_bpe.model import BytePairModel, Merge
from tokbench.tokenizers_impl.byte_bpe.rank_files import model_from_ranks, read_ranks
from tokbench.tokenizers_impl.files import MALFORMED, bounded, json_of, read_file
from tokbench.tokenizers_impl.pretokenize import PRE_TOKENIZATIONS, PreTokenization, from_pattern

Format = Literal["auto", "tiktoken", "tokenizer.json", "json"]
OWN_FORMAT = "tokbench.byte_bpe"


def load_model(
    path: Path,
    *,
    format: Format = "auto",
    rule: PreTokenization | None = None,
    special_tokens: Mapping[str, int] | None = None,
    whole_piece: bool | None = None,
) -> BytePairModel:
    """Read a model; arguments that are given win over what the file says.

    Raises `TokenizerError` for a file that cannot be read, is not of the format, or needs a
    pattern that is not given.
    """
    data = read_file(path, path.name)
    try:
        if format == "tiktoken" or (format == "auto" and not data.lstrip().startswith(b"{")):
            return checked(_load_ranks(data, rule, special_tokens, whole_piece))
        content = json_of(data, path.name)
        own = content.get("format") == OWN_FORMAT if format == "auto" else format == "json"
        read = _from_own_json if own else model_from_tokenizer_json
        return checked(read(content, rule, special_tokens, whole_piece))
    except TokenizerError as exc:
        named = str(exc).startswith(path.name)
        raise TokenizerError(str(exc) if named else f"{path.name}: {exc}") from exc
    except MALFORMED as exc:
        raise TokenizerError(
            f"{path.name} is not a byte-level BPE file of format {format!r}: {exc!r}"
        ) from exc


def checked(model: BytePairModel) -> BytePairModel:
    """Return the model; raise `TokenizerError` where its ids cannot be those of a vocabulary."""
    ids = [*model.entries, *model.special_tokens.values()]
    if not all(isinstance(i, int) and i >= 0 for i in ids):
        raise TokenizerError("an id is not a whole number from 0 on")
    bounded(max(ids) + 1, "it")
    if len(model.byte_ids) != 256 or len(set(model.byte_ids)) != 256:
        raise TokenizerError("the 256 bytes do not have 256 ids")
    made = [joined for _, _, joined in model.merges]
    if taken := set(model.byte_ids).intersection(made):
        raise TokenizerError(f"a merge makes id {min(taken)}, which is that of a byte")
    if taken := set(model.special_tokens.values()).intersection(model.entries):
        raise TokenizerError(f"id {min(taken)} is that of a special token and of an entry")
    return model


# --- tiktoken -------------------------------------------------------------------------------------


def _load_ranks(
    data: bytes,
    rule: PreTokenization | None,
    special_tokens: Mapping[str, int] | None,
    whole_piece: bool | None,
) -> BytePairModel:
    if rule is None:
        raise TokenizerError(
            "a rank file has no pattern; give `pre_tokenization` "
            f"({', '.join(PRE_TOKENIZATIONS)}) or `pattern`"
        )
    return model_from_ranks(
        read_ranks(data),
        rule=rule,
        special_tokens=special_tokens,
        whole_piece=whole_piece is not False,
    )


# --- tokenizer.json -------------------------------------------------------------------------------


def spell(data: bytes) -> str:
    """Return bytes as `tokenizer.json` spells them.

    >>> spell(" é".encode())
    'ĠÃ©'
    """
    return data.decode("latin-1").translate(byte_alphabet.CHARACTER_OF)


def unspell(token: str) -> bytes:
    """Return the bytes of a token as `tokenizer.json` spells it."""
    if (data := byte_alphabet.to_bytes(token)) is None:
        raise TokenizerError(f"{token!r} is not spelled in byte-level characters")
    return data


def tokenizer_json(model: BytePairModel) -> dict[str, Any]:
    """Return the content of a `tokenizer.json` that gives the model's ids in `tokenizers`."""
    spelled = {token: spell(data) for token, data in model.entries.items()}
    special = sorted(model.special_tokens.items(), key=lambda item: item[1])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    vocab = {**{spelled[token]: token for token in sorted(spelled)}, **dict(special)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": token, "content": name, **flags, "special": True} for name, token in special
        ],
        "normalizer": None,
        "pre_tokenizer": _pre_tokenizer_json(model.pre_tokenization),
        "post_processor": None,
        "decoder": _byte_level(),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.whole_pieces is not None,
            "vocab": vocab,
            "merges": [[spelled[left], spelled[right]] for left, right, _ in model.merges],
        },
    }


def write_tokenizer_json(model: BytePairModel, path: Path) -> None:
    """Write a `tokenizer.json` for `tokenizers.Tokenizer.from_file`."""
    _write_json(path, tokenizer_json(model))


def _byte_level() -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }


def _pre_tokenizer_json(rule: PreTokenization) -> dict[str, Any]:
    if rule.name == "none":
        return _byte_level()
    split = {
        "type": "Split",
        "pattern": {"Regex": rule.tokenizers_pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, _byte_level()]}


def model_from_tokenizer_json(
    content: Mapping[str, Any],
    rule: PreTokenization | None = None,
    special_tokens: Mapping[str, int] | None = None,
    whole_piece: bool | None = None,
) -> BytePairModel:
    """Return the model in the content of a `tokenizer.json`.

    Raises `TokenizerError` for one that does more than byte-level BPE.
    """
    bpe = content["model"]
    _refuse_what_we_lack(content, bpe)
    added = {token["content"]: token["id"] for token in content.get("added_tokens") or []}
    vocab = {unspell(k): v for k, v in bpe["vocab"].items() if k not in added}
    missing = [b for b in range(256) if bytes([b]) not in vocab]
    if missing:
        raise TokenizerError(
            f"the vocabulary lacks {len(missing)} of the 256 single bytes; such a tokenizer drops "
            "text silently, so load it with type: huggingface, which reports that"
        )
    shortcut = bpe.get("ignore_merges", False) if whole_piece is None else whole_piece
    return BytePairModel(
        byte_ids=tuple(vocab[bytes([b])] for b in range(256)),
        merges=tuple(_merges_json(bpe["merges"], vocab)),
        pre_tokenization=rule or _rule_json(content.get("pre_tokenizer")),
        special_tokens={**added, **(special_tokens or {})},
        whole_pieces=vocab if shortcut else None,
    )


def _merges_json(merges: Iterable[Any], vocab: Mapping[bytes, int]) -> Iterable[Merge]:
    for merge in merges:
        left, right = map(unspell, merge.split(" ") if isinstance(merge, str) else merge)
        yield vocab[left], vocab[right], vocab[left + right]


def _refuse_what_we_lack(content: Mapping[str, Any], bpe: Mapping[str, Any]) -> None:
    added = content.get("added_tokens") or []
    lacking = {
        "a model that is not BPE": bpe.get("type", "BPE") != "BPE",
        "a normalizer": bool(content.get("normalizer")),
        "merge dropout": bool(bpe.get("dropout")),
        "byte fallback": bool(bpe.get("byte_fallback")),
        "a continuing-subword prefix": bool(bpe.get("continuing_subword_prefix")),
        "an end-of-word suffix": bool(bpe.get("end_of_word_suffix")),
        "added tokens that are not special": not all(token["special"] for token in added),
    }
    for what in (name for name, present in lacking.items() if present):
        raise TokenizerError(
            f"it has {what}, which byte_bpe does not support; use type: huggingface"
        )


def _rule_json(spec: Mapping[str, Any] | None) -> PreTokenization:
    """Return the rule that a pre_tokenizer stands for: [Split by a regex,] ByteLevel."""
    steps = [] if spec is None else spec.get("pretokenizers", [spec])
    kinds = [step["type"] for step in steps]
    if kinds not in (["ByteLevel"], ["Split", "ByteLevel"]) or steps[-1]["add_prefix_space"]:
        raise TokenizerError(
            f"its pre-tokenizer ({' + '.join(kinds) or 'none'}) is not supported by byte_bpe: "
            "ByteLevel without a prefix space, after at most one Split; use type: huggingface"
        )
    own_regex = steps[-1].get("use_regex", True)
    if len(steps) == 1:
        return PRE_TOKENIZATIONS["gpt2" if own_regex else "none"]
    split = steps[0]
    if (
        own_regex
        or split["behavior"] != "Isolated"
        or split["invert"]
        or "Regex" not in split["pattern"]
    ):
        raise TokenizerError("its Split is not an isolating regex; use type: huggingface")
    try:
        return from_pattern(split["pattern"]["Regex"], dialect="tokenizers")
    except ConfigError as exc:
        raise TokenizerError(str(exc)) from exc


# --- our own --------------------------------------------------------------------------------------


def own_json(model: BytePairModel) -> dict[str, Any]:
    """Return the content of tokbench's own JSON (described at the top of this file)."""
    made = {*model.byte_ids, *(joined for _, _, joined in model.merges)}
    return {
        "format": OWN_FORMAT,
        "version": 1,
        "pre_tokenization": model.pre_tokenization.name,
        "pattern": model.pre_tokenization.pattern,
        "tokenizers_pattern": model.pre_tokenization.tokenizers_pattern,
        "whole_piece": model.whole_pieces is not None,
        "special_tokens": dict(model.special_tokens),
        "byte_ids": list(model.byte_ids),
        "merges": [list(merge) for merge in model.merges],
        "unreachable": {
            data.hex(): token for token, data in model.entries.items() if token not in made
        },
    }


def write_own_json(model: BytePairModel, path: Path) -> None:
    """Write tokbench's own JSON."""
    _write_json(path, own_json(model))


def _from_own_json(
    content: Mapping[str, Any],
    rule: PreTokenization | None,
    special_tokens: Mapping[str, int] | None,
    whole_piece: bool | None,
) -> BytePairModel:
    if content.get("format") != OWN_FORMAT or content.get("version") != 1:
        raise TokenizerError(
            f"its format is {content.get('format')!r} version {content.get('version')!r}; "
            f"this tokbench reads {OWN_FORMAT!r} version 1"
        )
    stored = PreTokenization(
        name=str(content["pre_tokenization"]),
        pattern=str(content["pattern"]),
        tokenizers_pattern=str(content["tokenizers_pattern"]),
    )
    try:
        from_pattern(stored.pattern)
    except ConfigError as exc:
        raise TokenizerError(str(exc)) from exc
    model = BytePairModel(
        byte_ids=tuple(content["byte_ids"]),
        merges=tuple((left, right, joined) for left, right, joined in content["merges"]),
        pre_tokenization=rule or stored,
        special_tokens={**content["special_tokens"], **(special_tokens or {})},
    )
    shortcut = content["whole_piece"] if whole_piece is None else whole_piece
    if not shortcut:
        return model
    unreachable = {bytes.fromhex(data): token for data, token in content["unreachable"].items()}
    pieces = {data: token for token, data in model.entries.items()} | unreachable
    return BytePairModel(
        byte_ids=model.byte_ids,
        merges=model.merges,
        pre_tokenization=model.pre_tokenization,
        special_tokens=model.special_tokens,
        whole_pieces=pieces,
    )


def _write_json(path: Path, content: object) -> None:
    write_whole(path, json.dumps(content, ensure_ascii=False, indent=1))
