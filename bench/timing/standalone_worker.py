"""Time a tokenizer's library in any Python from 3.9 on: this file and that library are enough.

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
from collections.abc import Callable, Sequence
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
    """Return what of this Python decides how fast it is."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "machine": platform.machine(),
        "debug": hasattr(sys, "gettotalrefcount"),
    }


class LibraryCalls:
    """The calls of one loaded tokenizer, by name, the quickest first."""

    def __init__(
        self,
        encoders: dict[str, Encode],
        decode: Callable[[Sequence[Any]], Any],
        version: str,
    ) -> None:
        self.encoders = encoders
        self.decode = decode
        self.version = version


def _tokenizers(spec: Facts) -> LibraryCalls:
    import tokenizers

    library = tokenizers.Tokenizer.from_file(spec["file"])
    library.no_truncation()
    library.no_padding()
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
    )


def _ids_of(call: Callable[..., Any]) -> Encode:
    return lambda texts: [one.ids for one in call(texts, add_special_tokens=False)]


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
    return LibraryCalls(encoders, lambda ids: [decode(one) for one in ids], _version("tiktoken"))


def _sentencepiece(spec: Facts) -> LibraryCalls:
    import sentencepiece

    library = sentencepiece.SentencePieceProcessor(model_file=spec["file"])
    return LibraryCalls(
        {"encode": lambda texts: library.encode(texts, out_type=int, num_threads=1)},
        lambda ids: library.decode(ids, num_threads=1),
        sentencepiece.__version__,
    )


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
