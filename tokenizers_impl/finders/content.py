"""What kind of tokenizer a file or folder is, by what it holds and not by its name."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.adapters import samples, tiktoken_files

Entry = dict[str, Any]

MOST_BYTES = 1 << 30

KINDS = (
    "tokenizer.json, Mistral's tekken.json, a rank file of tiktoken, a SentencePiece model, the "
    "vocab.txt of a BERT model, or tokbench's own JSON"
)
IN_A_FOLDER = (
    "tokenizer.json",
    "tokenizer.json.gz",
    "tekken.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.txt",
)
"""In this order: of two files that hold one tokenizer, the first is taken."""

_OWN = {
    "tokbench.events.1": "event_bpe",
    "tokbench.words": "words",
    "tokbench.sentencepiece_bpe.1": "sentencepiece_bpe",
    "tokbench.unigram.1": "unigram",
    "tokbench.wordpiece.1": "wordpiece",
}
_GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _llama3_specials() -> dict[str, int]:
    named = ("begin_of_text", "end_of_text", "reserved_special_token_0", "reserved_special_token_1",
             "finetune_right_pad_id", "step_id", "start_header_id", "end_header_id", "eom_id",
             "eot_id", "python_tag", "image")  # fmt: skip
    names = [*named, *(f"reserved_special_token_{i}" for i in range(2, 246))]
    return {f"<|{name}|>": 128_000 + i for i, name in enumerate(names)}


_KNOWN_RANKS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55": (
        _LLAMA3_PATTERN,
        _llama3_specials(),
    ),
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126": (  # Whisper, multilingual
        _GPT2_PATTERN,
        {"<|endoftext|>": 50_257},
    ),
    **{
        sample.sha256: (sample.pattern, sample.special_tokens)
        for sample in samples.SAMPLES.values()
        if sample.pattern is not None
    },
}
"""Pattern and special tokens of rank files, which hold neither, by SHA-256."""


def recognise(path: Path, shown: str) -> Entry:
    """Return the config entry of the tokenizer at a path; `shown` is the path as it was written.

    Raises `TokenizerError` for what is none, with what it would have to be.
    """
    if path.is_dir():
        return _in_folder(path, shown)
    content = _read(path, shown)
    head = content.lstrip()[:1]
    found = (
        _json(content, shown)
        if head == b"{"
        else _ranks(content, shown)
        or _sentencepiece(content, shown)
        or _vocabulary(content, path, shown)
    )
    if found is None:
        raise TokenizerError(f"{shown} is not a tokenizer: {_what(content)}; expected {KINDS}")
    return found


def _in_folder(folder: Path, shown: str) -> Entry:
    for name in IN_A_FOLDER:
        if (folder / name).is_file():
            return recognise(folder / name, f"{shown.rstrip('/')}/{name}")
    others = sorted(p for p in folder.iterdir() if p.suffix in (".model", ".tiktoken"))
    if len(others) == 1:
        return recognise(others[0], f"{shown.rstrip('/')}/{others[0].name}")
    if others:
        known = ", ".join(path.name for path in others[:5])
        raise TokenizerError(f"{shown} is a folder of several tokenizers; name one: {known}")
    raise TokenizerError(
        f"{shown} is a folder without a tokenizer; it would have to hold one of "
        f"{', '.join(IN_A_FOLDER)}, or one .model or .tiktoken file"
    )


def _read(path: Path, shown: str) -> bytes:
    try:
        if not path.is_file():
            raise TokenizerError(f"{shown} is not a regular file; expected {KINDS}")
        if path.stat().st_size > MOST_BYTES:
            raise TokenizerError(f"{shown} is larger than 1 GB, so it is not a tokenizer")
        if path.suffix != ".gz":
            return path.read_bytes()
        with gzip.open(path) as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise TokenizerError(f"{shown} holds more than 1 GB, so it is not a tokenizer")
        return content
    except (OSError, EOFError, zlib.error) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise TokenizerError(f"{shown} cannot be read: {reason}") from exc


def _json(content: bytes, shown: str) -> Entry:
    try:
        spec = json.loads(content)
    except (ValueError, RecursionError) as exc:
        raise TokenizerError(f"{shown} begins like JSON and is not: {exc}") from exc
    model = spec.get("model")
    if isinstance(model, dict) and "vocab" in model:
        return {"type": "huggingface", "file": shown}
    if isinstance(spec.get("config"), dict) and isinstance(spec.get("vocab"), list):
        return {"type": "tekken", "file": shown}
    own = str(spec.get("format", ""))
    if own in _OWN:
        return {"type": _OWN[own], "file": shown}
    if own.startswith("tokbench.byte_bpe"):
        return {"type": "byte_bpe", "file": shown}
    keys = ", ".join(map(str, list(spec)[:5])) or "none"
    raise TokenizerError(
        f"{shown} is JSON but not a tokenizer: its keys are {keys}; a tokenizer.json has `model`, a "
        "tekken.json `config` and `vocab`, and those of tokbench `format`"
    )


def _ranks(content: bytes, shown: str) -> Entry | None:
    """Return the entry of a rank file whose pattern is known; None for another kind of file."""
    first = content.split(b"\n", 1)[0].split()
    if len(first) != 2 or not first[1].isdigit():
        return None
    try:
        base64.b64decode(first[0], validate=True)
    except binascii.Error:
        return None
    digest = hashlib.sha256(content).hexdigest()
    for encoding, blobs in tiktoken_files.BLOBS.items():
        if digest in (blob.sha256 for blob in blobs):
            return {"type": "tiktoken", "encoding": encoding}
    entry: Entry = {"type": "tiktoken", "file": shown}
    if digest in _KNOWN_RANKS:
        pattern, special_tokens = _KNOWN_RANKS[digest]
        return {**entry, "pattern": pattern, "special_tokens": dict(special_tokens)}
    raise TokenizerError(
        f"{shown} is a rank file, which holds no pattern, and its pattern is not known; name it in "
        "a config: {type: tiktoken, file: ..., pattern: ...}"
    )


def _sentencepiece(content: bytes, shown: str) -> Entry | None:
    from tokbench.tokenizers_impl.adapters.sentencepiece_proto import fields

    try:
        first = next(iter(fields(content[: 1 << 12])), None) if content[:1] == b"\n" else None
    except ValueError:
        first = None
    is_piece = first is not None and first[0] == 1 and isinstance(first[1], bytes)
    if not is_piece:
        return None
    return {"type": "sentencepiece", "file": shown}


def _vocabulary(content: bytes, path: Path, shown: str) -> Entry | None:
    """Return the entry of a BERT vocabulary: one entry a line, ``[UNK]`` among them."""
    try:
        lines = content.decode().split("\n")
    except UnicodeDecodeError:
        return None
    if "[UNK]" not in (line.rstrip() for line in lines):
        return None
    if path.suffix != ".txt":
        raise TokenizerError(f"{shown} is the vocabulary of a BERT model; call it {path.name}.txt")
    return {"type": "huggingface", "file": shown, "lowercase": _is_lowercase(lines, path)}


def _is_lowercase(lines: list[str], path: Path) -> bool:
    """Whether the model lower-cases: what its config says, else whether no entry has a capital."""
    said = _settings(path.with_name("tokenizer_config.json")).get("do_lower_case")
    if isinstance(said, bool):
        return said
    return not any(re.search(r"[A-Z]", line) for line in lines if not line.startswith("["))


def _settings(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _what(content: bytes) -> str:
    if not content:
        return "it is empty"
    if content.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer (run git lfs pull)"
    if re.match(rb"\s*<(!doctype|html)", content, re.IGNORECASE):
        return "it is an HTML page"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:64]:
        return "it is not UTF-8 text"
    return "its content is of no kind that tokbench knows"
