"""Damaged tokenizer files of every kind: an error of our own or a tokenizer, never anything else.

200 files by a fixed seed; more, or others, by environment variables:

    TOKBENCH_MUTATIONS=2000 TOKBENCH_SEED=7 pytest tests/tokenizers_impl/test_mutated_files.py
"""

from __future__ import annotations

import base64
import copy
import faulthandler
import gzip
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.errors import TokenizerError, is_library_failure
from tokbench.bench.plugins import LoadContext, TokenizerPlugin, find
from tokbench.tokenizers_impl.adapters.huggingface_trainer import (
    TokenizersBPE,
    TokenizersUnigram,
    TokenizersWordPiece,
)
from tokbench.tokenizers_impl.adapters.sentencepiece_trainer import SpmUnigram
from tokbench.tokenizers_impl.baselines.words import WordsTrainer
from tokbench.tokenizers_impl.byte_bpe.trainer import ByteBPETrainer
from tokbench.tokenizers_impl.picky.trainers import PickyBPETrainer
from tokbench.tokenizers_impl.sentencepiece.bpe_trainer import SentencePieceBPETrainer
from tokbench.tokenizers_impl.unigram.trainer import UnigramTrainer
from tokbench.tokenizers_impl.wordpiece.trainer import WordPieceTrainer

N = int(os.environ.get("TOKBENCH_MUTATIONS", "200"))
SEED = int(os.environ.get("TOKBENCH_SEED", "1"))
SECONDS = 10.0
"""Longest that one file may take; loading an undamaged one takes a hundredth of that."""
CORPORA = {"corpora": {"t": {"source": "files", "language": "en", "path": "t.txt"}}}
TEXTS = ["the lower newest tide", "Zürich 今天 🙂\n\t<s> [MASK] <0x41>", "", "a\0b"]
CORPUS = [
    "the lowest tide came slower than the newest of the older ones",
    "今天 naïve <s> 12345",
] * 9

Files = Mapping[str, tuple[dict[str, Any], bytes]]
"""By kind: the config entry without its file, and the content."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """One small undamaged file of every kind that a config can name."""
    root = tmp_path_factory.mktemp("whole")
    trainers: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "hf_bpe.json": (
            TokenizersBPE(vocab_size=300, special_tokens=("<s>",)), "tokenizer.json",
            {"type": "huggingface"},
        ),
        "hf_wordpiece.json": (
            TokenizersWordPiece(vocab_size=80), "tokenizer.json", {"type": "huggingface"},
        ),
        "hf_unigram.json": (
            TokenizersUnigram(vocab_size=60, special_tokens=("<unk>", "<s>")), "tokenizer.json",
            {"type": "huggingface"},
        ),
        "spm.model": (SpmUnigram(vocab_size=60), "tokenizer.model", {"type": "sentencepiece"}),
        "own_bpe.json": (ByteBPETrainer(vocab_size=290), "model.json", {"type": "byte_bpe"}),
        "own_events.json": (
            PickyBPETrainer(vocab_size=280, threshold=0.6), "events.json", {"type": "event_bpe"},
        ),
        "own_unigram.json": (UnigramTrainer(vocab_size=60), "unigram.json", {"type": "unigram"}),
        "own_spbpe.json": (
            SentencePieceBPETrainer(vocab_size=60), "sentencepiece_bpe.json",
            {"type": "sentencepiece_bpe"},
        ),
        "own_wordpiece.json": (
            WordPieceTrainer(vocab_size=80), "wordpiece.json", {"type": "wordpiece"},
        ),
        "words.json": (WordsTrainer(vocab_size=20), "words.json", {"type": "words"}),
    }  # fmt: skip
    found: dict[str, tuple[dict[str, Any], bytes]] = {}
    for name, (trainer, file, entry) in trainers.items():
        trainer.train(CORPUS, root / name)
        found[name] = (entry, (root / name / file).read_bytes())
    vocab = (root / "own_wordpiece.json" / "vocab.txt").read_bytes()
    ranks = (root / "own_bpe.json" / "ranks.tiktoken").read_bytes()
    found["hf_vocab.txt"] = ({"type": "huggingface", "lowercase": True}, vocab)
    found["own_vocab.txt"] = ({"type": "wordpiece", "lowercase": True}, vocab)
    found["own_bpe.tiktoken"] = ({"type": "byte_bpe", "pre_tokenization": "gpt2"}, ranks)
    found["ranks.tiktoken"] = ({"type": "tiktoken", "pattern": r"\S+|\s+"}, ranks)
    found["tekken.json"] = ({"type": "tekken"}, _tekken())
    found["packed.json.gz"] = (
        {"type": "huggingface"},
        gzip.compress(found["hf_bpe.json"][1], mtime=0),
    )
    return found


def _tekken() -> bytes:
    tokens = [bytes([b]) for b in range(256)] + [b"th", b"the"]
    vocab = [{"rank": i, "token_bytes": base64.b64encode(t).decode()} for i, t in enumerate(tokens)]
    config = {"pattern": r"\S+|\s+", "default_vocab_size": 261, "default_num_special_tokens": 3}
    return json.dumps({"config": config, "vocab": vocab, "special_tokens": []}).encode()


def test_a_damaged_file_gives_an_error_of_our_own_or_a_tokenizer(
    files: Files, tmp_path: Path
) -> None:
    """No traceback and no hang, whatever happened to the file."""
    rng = random.Random(SEED)
    names = sorted(files)
    for n in range(N):
        name = names[n % len(names)]
        entry, content = files[name]
        (tmp_path / name).write_bytes(_mutated(content, name, rng))
        with interrupted_after(SECONDS, f"{name}, mutation {n}"):
            _loaded_and_used({**entry, "file": name}, tmp_path, f"{name}, mutation {n}")


class Hung(BaseException):
    """A file that took too long; nothing of the project's catches it."""


@contextmanager
def interrupted_after(seconds: float, what: str) -> Iterator[None]:
    """Raise `Hung` after so many seconds of this process's CPU; a library's call ends first.

    Where such a call does not end, the traceback of all threads is written and the process ends.
    """

    def hung(number: int, frame: object) -> None:
        raise Hung(f"{what}: more than {seconds} s")

    before = signal.signal(signal.SIGPROF, hung)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(30 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_a_file_that_never_ends_is_interrupted() -> None:
    with pytest.raises(Hung, match=r"endless: more than 0.1 s"):
        _endless()


def _endless() -> None:
    with interrupted_after(0.1, "endless"):
        while True:
            pass


def test_the_command_line_ends_with_0_or_3_and_no_traceback(files: Files, tmp_path: Path) -> None:
    """A smaller sample, through `tokbench inspect` in a process of its own that is not waited for."""
    rng = random.Random(SEED)
    for n, name in enumerate(sorted(files)[SEED % 3 :: 3]):
        entry, content = files[name]
        (tmp_path / name).write_bytes(_mutated(content, name, rng))
        config = {"name": "c", **CORPORA, "tokenizers": {"it": {**entry, "file": name}}}
        (tmp_path / "c.yaml").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "tokbench", "inspect", "--config", "c.yaml", TEXTS[0]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode in (0, 3), (name, n, done.stderr)
        assert "Traceback" not in done.stdout + done.stderr, (name, n)
        assert done.returncode == 0 or done.stderr.strip(), (name, n)


def test_the_undamaged_files_all_load_and_encode(files: Files, tmp_path: Path) -> None:
    for name, (entry, content) in files.items():
        (tmp_path / name).write_bytes(content)
        assert _loaded_and_used({**entry, "file": name}, tmp_path, name), name


def _loaded_and_used(entry: dict[str, Any], folder: Path, what: str) -> bool:
    options = dict(entry)
    plugin = find(TokenizerPlugin, options.pop("type")).model_validate(options)
    try:
        tokenizer = plugin.load(LoadContext(folder=folder))
        assert tokenizer.vocabulary.n_ids == len(tokenizer.vocabulary.token_bytes)
        assert len(tokenizer.fingerprint.sha256) == 64
    except TokenizerError as exc:
        message = str(exc)
    else:
        return _used(tokenizer)
    assert message, what
    assert str(folder) not in message, what
    return False


def _used(tokenizer: Any) -> bool:
    ours = type(tokenizer).__module__.split(".")[2] != "adapters"
    assert all(isinstance(note, str) for note in tokenizer.notes)
    try:
        tokenizer.decode_batch(tokenizer.encode_batch(TEXTS))
    except TokenizerError:
        pass
    except BaseException as exc:
        # the worker that counts reports what a library does with a text; our own has no excuse
        if ours or not is_library_failure(exc):
            raise
    return True


def _mutated(content: bytes, name: str, rng: random.Random) -> bytes:
    if name.endswith(".json") and rng.random() < 0.6:
        spec = json.loads(content)
        for _ in range(rng.choice((1, 1, 2, 5))):
            spec = _other_shape(spec, rng)
        return json.dumps(spec).encode()
    return rng.choice(_BYTE_MUTATIONS)(content, rng)


ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**31, 2**40, 10**30, "", " ", "\0", "x" * 300, [], {}, [[]], {"type": "BPE"},
    "\u2581", "##", "<unk>", [1, 2, 3], {"": 0}, float("nan"),
)  # fmt: skip


def _other_shape(spec: Any, rng: random.Random) -> Any:
    """Walk down to a random place of the JSON and change it: another value, none, or twice."""
    if not isinstance(spec, dict | list) or not spec or rng.random() < 0.12:
        return copy.deepcopy(rng.choice(ODD_VALUES))
    keys: list[Any] = list(spec) if isinstance(spec, dict) else list(range(len(spec)))
    key = rng.choice(keys)
    if rng.random() < 0.1:
        if isinstance(spec, dict):
            del spec[key]
        else:
            spec.append(spec[key])
        return spec
    spec[key] = _other_shape(spec[key], rng)
    return spec


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def _flip(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.choice((1, 3, 30))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _swap_lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a] = lines[b]
    return b"\n".join(lines)


def _doubled(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + content[max(0, at - rng.randrange(1, 200)) :]


def _numbers(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b" 1", rng.choice((b" -1", b" 99999999999999", b" 1e9", b" 2", b"")), 3)


_BYTE_MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _flip, _flip, _swap_lines, _doubled, _numbers,
)  # fmt: skip


# --- files that are something else ----------------------------------------------------------------

IMPOSTORS: Mapping[str, tuple[bytes, str]] = {
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12\n",
        r"is a Git LFS pointer.*git lfs pull",
    ),
    "html": (b"<!DOCTYPE html>\n<html><body>404</body></html>", r"is an HTML page; download"),
    "empty": (b"", r"is empty"),
    "utf-16": ('{"model": {"vocab": {}}}\n'.encode("utf-16"), r"is UTF-16 or UTF-32; convert"),
    "utf-16 without a mark": (
        ('{"model": {"vocab": {"abc": 1}}}\n' * 9).encode("utf-16-le"),
        r"UTF-16 or UTF-32 without a byte order mark; convert",
    ),
    "zip": (b"PK\x03\x04" + b"\0" * 40, r"is packed with ZIP"),
    "gzip without the suffix": (gzip.compress(b"{}"), r"is packed with gzip"),
}


@pytest.mark.parametrize("impostor", IMPOSTORS)
def test_what_is_something_else_is_refused_by_that_name(
    files: Files, tmp_path: Path, impostor: str
) -> None:
    content, message = IMPOSTORS[impostor]
    for name, (entry, _) in files.items():
        packed = name.endswith(".gz")
        (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
        with pytest.raises(TokenizerError, match=message) as caught:
            _load({**entry, "file": name}, tmp_path)
        assert name in str(caught.value)


def test_json_of_a_hundred_thousand_levels_is_refused(files: Files, tmp_path: Path) -> None:
    for name, (entry, _) in files.items():
        if not name.endswith(".json"):
            continue
        (tmp_path / name).write_bytes(b'{"model":' + b"[" * 100_000)
        with pytest.raises(TokenizerError, match=f"{name} is JSON nested too deeply"):
            _load({**entry, "file": name}, tmp_path)


def test_a_packed_file_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.tokenizers_impl import files as reading

    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(b"0" * (1 << 21)))
    with pytest.raises(TokenizerError, match=r"t\.json\.gz holds more than"):
        _load({"type": "huggingface", "file": "t.json.gz"}, tmp_path)


def _load(entry: dict[str, Any], folder: Path) -> object:
    options = dict(entry)
    plugin = find(TokenizerPlugin, options.pop("type")).model_validate(options)
    return plugin.load(LoadContext(folder=folder))
