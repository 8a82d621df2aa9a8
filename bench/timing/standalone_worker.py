"""Time and ask a tokenizer's library in any Python from 3.9 on: this file and it are enough.

Run as a script by the interpreter of another environment, which needs no tokbench. It reads one
JSON object a line from its input and answers each with one line. tokbench's own workers use
`timed` too, so that there is one clock.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Encode = Callable[[Sequence[str]], Any]
Facts = dict[str, Any]


def timed(call: Callable[[], object], passes: int = 1) -> tuple[float, float]:
    """Return wall seconds and CPU seconds of all threads of this process.

    The collector is off inside. What the call returns is dropped inside, in every pass alike.
    """
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(passes):
            call()
        return time.perf_counter() - wall, time.process_time() - cpu
    finally:
        if was_on:
            gc.enable()


def thinned(documents: Sequence[str], stride: int) -> Sequence[str]:
    """Return every stride-th document: the same mix of texts, whole documents, less of them."""
    return documents if stride == 1 else documents[::stride]


def python_facts() -> Facts:
    """Return the facts about this Python that decide its speed."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "machine": platform.machine(),
        "debug": hasattr(sys, "gettotalrefcount"),
    }


class LibraryCalls:
    """The calls of one loaded tokenizer, by name, the quickest first.

    `every` has each public way to encode, with what it is called with: what the version is compared
    by, not what is timed.
    """

    def __init__(
        self,
        encoders: dict[str, Encode],
        decode: Callable[[Sequence[Any]], Any],
        version: str,
        every: dict[str, Encode] | None = None,
    ) -> None:
        self.encoders = encoders
        self.decode = decode
        self.version = version
        self.every = encoders if every is None else every


def _tokenizers(spec: Facts) -> LibraryCalls:
    import tokenizers

    library = tokenizers.Tokenizer.from_file(spec["file"])
    library.no_truncation()
    library.no_padding()
    if getattr(library.model, "dropout", None):
        library.model.dropout = None
    encoders: dict[str, Encode] = {}
    if hasattr(library, "encode_special_tokens"):
        library.encode_special_tokens = spec["special_tokens"] == "text"
    for name in ("encode_batch_fast", "encode_batch"):
        call = getattr(library, name, None)
        if call is not None:
            encoders[name] = _ids_of(call)
    return LibraryCalls(
        encoders,
        lambda ids: library.decode_batch(ids, skip_special_tokens=False),
        tokenizers.__version__,
        dict(_every_of_tokenizers(library)),
    )


def _every_of_tokenizers(library: Any) -> Iterator[tuple[str, Encode]]:
    offered = hasattr(library, "encode_special_tokens")  # older versions always match them
    for mode in (True, False) if offered else (False,):
        suffix = f", encode_special_tokens={mode}"
        for name in ("encode", "encode_batch", "encode_batch_fast"):
            call = getattr(library, name, None)
            if call is not None:
                batched = _each(call) if name == "encode" else call
                batched = _in_mode(library, mode, batched) if offered else batched
                yield f"{name}(add_special_tokens=False){suffix}", _ids_of(batched)
                yield f"{name}(add_special_tokens=True){suffix}", _ids_of(batched, added=True)


def _each(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda texts, **options: [call(text, **options) for text in texts]


def _in_mode(library: Any, mode: bool, call: Callable[..., Any]) -> Callable[..., Any]:
    def encode(texts: Sequence[str], **options: Any) -> Any:
        before = library.encode_special_tokens
        library.encode_special_tokens = mode
        try:
            return call(texts, **options)
        finally:
            library.encode_special_tokens = before

    return encode


def _ids_of(call: Callable[..., Any], *, added: bool = False) -> Encode:
    return lambda texts: [one.ids for one in call(texts, add_special_tokens=added)]


def _tiktoken(spec: Facts) -> LibraryCalls:
    import tiktoken

    with open(spec["file"], "rb") as file:  # noqa: PTH123
        pairs = [line.split() for line in file.read().splitlines() if line]
    encoding = tiktoken.Encoding(
        name="timed",
        pat_str=spec["pattern"],
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in pairs},
        special_tokens=spec["special_tokens"],
    )
    encoders: dict[str, Encode] = {}
    if hasattr(encoding, "encode_to_numpy"):
        to_numpy = encoding.encode_to_numpy
        encoders["encode_to_numpy"] = lambda texts: [
            to_numpy(text, disallowed_special=()) for text in texts
        ]
    ordinary = encoding.encode_ordinary
    encoders["encode_ordinary"] = lambda texts: [ordinary(text) for text in texts]
    decode = encoding.decode
    every = dict(_every_of_tiktoken(encoding))
    version = _version("tiktoken")
    return LibraryCalls(encoders, lambda ids: [decode(one) for one in ids], version, every)


_SPECIALS: dict[str, Facts] = {
    "": {},
    "disallowed_special=()": {"disallowed_special": ()},
    'allowed_special="all"': {"allowed_special": "all"},
}
"""How tiktoken is asked about special tokens that a text spells; by default it refuses them."""


def _every_of_tiktoken(encoding: Any) -> Iterator[tuple[str, Encode]]:
    for name in ("encode_ordinary", "encode_ordinary_batch"):
        call = getattr(encoding, name, None)
        if call is not None:
            yield f"{name}()", call if name.endswith("batch") else _each(call)
    for name in ("encode", "encode_batch", "encode_to_numpy", "encode_with_unstable"):
        call = getattr(encoding, name, None)
        if call is None:
            continue
        for shown, options in _SPECIALS.items():
            batched = call if name.endswith("batch") else _each(call)
            if name == "encode_with_unstable":
                batched = _flattened(batched)
            yield f"{name}({shown})", _with(batched, options)


def _with(call: Callable[..., Any], options: Facts) -> Encode:
    return lambda texts: call(texts, **options)


def _flattened(call: Callable[..., Any]) -> Callable[..., Any]:
    """The stable ids, -1, and the completions in order, each ended by -1."""

    def encode(texts: Sequence[str], **options: Any) -> Any:
        return [
            [*stable, -1, *(i for one in sorted(completions) for i in (*one, -1))]
            for stable, completions in call(texts, **options)
        ]

    return encode


def _sentencepiece(spec: Facts) -> LibraryCalls:
    import sentencepiece

    library = sentencepiece.SentencePieceProcessor(model_file=spec["file"])
    return LibraryCalls(
        {"encode": lambda texts: library.encode(texts, out_type=int, num_threads=1)},
        lambda ids: library.decode(ids, num_threads=1),
        sentencepiece.__version__,
        dict(_every_of_sentencepiece(library)),
    )


def _every_of_sentencepiece(library: Any) -> Iterator[tuple[str, Encode]]:
    yield "encode(texts)", lambda texts: library.encode(list(texts), out_type=int)
    both = {"out_type": int, "add_bos": True, "add_eos": True}
    yield "encode(texts, add_bos=True, add_eos=True)", lambda t: library.encode(list(t), **both)
    for name in ("encode", "encode_as_ids", "tokenize"):
        call = getattr(library, name, None)
        if call is not None:
            options: Facts = {} if name == "encode_as_ids" else {"out_type": int}
            yield f"{name}(text)", _with(_each(call), options)


def _module(spec: Facts) -> LibraryCalls:
    """Any other library: a function that returns an object with `encode_batch`, `decode_batch`."""
    module, _, name = spec["factory"].partition(":")
    tokenizer = getattr(importlib.import_module(module), name)(**spec.get("options", {}))
    return LibraryCalls(
        {"encode_batch": tokenizer.encode_batch},
        tokenizer.decode_batch,
        _version(module.partition(".")[0]),
    )


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


LOADERS: dict[str, Callable[[Facts], LibraryCalls]] = {
    "tokenizers": _tokenizers,
    "tiktoken": _tiktoken,
    "sentencepiece": _sentencepiece,
    "module": _module,
}


class _Session:
    """One tokenizer, its texts, and the calls that have been prepared."""

    def __init__(self, spec: Facts, texts: str) -> None:
        self.calls = LOADERS[spec["library"]](spec)
        with open(texts, encoding="utf-8") as file:  # noqa: PTH123
            self.cells: list[Facts] = json.load(file)
        self._prepared: dict[tuple[int, str, int], Callable[[], object]] = {}

    def hello(self) -> Facts:
        facts = {**python_facts(), "version": self.calls.version}
        return {"facts": facts, "encoders": list(self.calls.encoders)}

    def ids(self, encoder: str) -> list[str]:
        return [
            digest_of_ids(self.calls.encoders[encoder](cell["documents"])) for cell in self.cells
        ]

    def outcomes(self, skipped: list[int]) -> dict[str, list[Facts | None]]:
        """What each public call makes of each cell: None for those of `skipped` where it is slow."""
        return {
            name: [
                None
                if number in skipped and name.startswith(_SLOW)
                else outcome_of(encoded_by(call, cell["documents"]))
                for number, cell in enumerate(self.cells)
            ]
            for name, call in self.calls.every.items()
        }

    def documents(self, call: str, cell: int) -> list[str]:
        """A hash of the ids of each document, or the error that it ends in."""
        found = encoded_by(self.calls.every[call], self.cells[cell]["documents"])
        return [one if isinstance(one, str) else digest_of_ids([one]) for one in found]

    def document(self, call: str, cell: int, document: int) -> list[int] | str:
        """The ids of one document, or its error."""
        texts = [self.cells[cell]["documents"][document]]
        [found] = encoded_by(self.calls.every[call], texts)
        return found

    def lap(self, cell: int, encoder: str, stride: int, passes: int) -> Facts:
        wall, cpu = timed(self._call(cell, encoder, stride), passes)
        return {"wall": wall, "cpu": cpu}

    def _call(self, number: int, encoder: str, stride: int) -> Callable[[], object]:
        key = (number, encoder, stride)
        if key not in self._prepared:
            cell = self.cells[number]
            documents = thinned(cell["documents"], stride)
            self._prepared[key] = prepared(
                self.calls.encoders[encoder], self.calls.decode, cell, documents
            )
            gc.collect()
            gc.freeze()  # so that a collection before each lap has little to walk
        return self._prepared[key]


def prepared(
    encode: Encode, decode: Callable[[Sequence[Any]], Any], cell: Facts, documents: Sequence[str]
) -> Callable[[], object]:
    """Return the call to time: all documents at once, or in batches of so many."""
    if cell["phase"] == "decode":
        ids = encode(documents)
        parts = batches(list(ids), cell["batch_size"])
        return lambda: [decode(part) for part in parts]
    parts = batches(documents, cell["batch_size"])
    if len(parts) == 1:
        only = parts[0]
        return lambda: encode(only)
    return lambda: [encode(part) for part in parts]


def batches(items: Sequence[Any], size: int | None) -> list[Sequence[Any]]:
    """Return the items in batches of so many, all in one where there is no size.

    >>> batches("abcde", 2), batches("abc", None)
    (['ab', 'cd', 'e'], ['abc'])
    """
    if size is None:
        return [items]
    return [items[start : start + size] for start in range(0, len(items), size)]


def digest_of_ids(documents: Sequence[Any]) -> str:
    """Return a hash of the ids of some documents: equal hashes mean equal ids.

    >>> digest_of_ids([[1, 2], [3]]) == digest_of_ids([[1], [2, 3]])
    False
    """
    digest = hashlib.sha256()
    for ids in documents:
        digest.update((",".join(str(int(i)) for i in ids) + ";").encode())
    return digest.hexdigest()[:16]


_SLOW = "encode_with_unstable"
"""A call that is not for whole corpora: it looks for every way that a text could go on."""


def encoded_by(call: Encode, documents: Sequence[str]) -> list[list[int] | str]:
    """Return the ids of each document; where the call fails, of each alone, or its error's name.

    Messages may change between versions, so an error is compared by its class.

    >>> def call(texts):
    ...     return [[len(text)] if text else [1 // 0] for text in texts]
    >>> encoded_by(call, ["ab", ""])
    [[2], 'ZeroDivisionError']
    """
    try:
        return [[int(i) for i in ids] for ids in call(documents)]
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # a panic of a Rust library is no Exception
        if len(documents) == 1:
            return [type(exc).__name__]
    return [one for text in documents for one in encoded_by(call, [text])]


def outcome_of(documents: Sequence[list[int] | str]) -> Facts:
    """Return a hash of ids and errors, and how many tokens and errors there are."""
    digest = hashlib.sha256()
    for one in documents:
        text = one if isinstance(one, str) else ",".join(map(str, one))
        digest.update(f"{type(one).__name__} {text};".encode())
    ids = [one for one in documents if not isinstance(one, str)]
    return {
        "digest": digest.hexdigest()[:16],
        "tokens": sum(map(len, ids)),
        "errors": len(documents) - len(ids),
    }


def main() -> None:
    """Answer requests until the input ends; what goes wrong is an answer too."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what a library prints must not look like an answer
    session: _Session | None = None
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        try:
            if do == "load":
                session = _Session(**request)
                answer: Any = session.hello()
            else:
                answer = getattr(session, do)(**request)
        except KeyboardInterrupt:
            return
        except BaseException as exc:  # a panic of a Rust library is no Exception
            answer = {"error": f"{type(exc).__name__}: {exc}"[:500]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
