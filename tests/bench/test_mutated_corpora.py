"""Whatever is done to a corpus file, there is a slice or an error of our own, and soon.

Forty files by a fixed seed; `-m long` tries 200, or as many as `TOKBENCH_MUTATIONS` says.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from mutations import COUNTS, SEED
from tokbench.bench.config.corpora import CorpusEntry
from tokbench.bench.config.limits import Limits
from tokbench.bench.corpus.slices import materialise
from tokbench.bench.errors import CorpusError

SECONDS = 30.0
"""Of CPU for one file; the limit of the reading itself is lower."""

ROWS = [
    {"id": i, "text": text, "lang": "en" if i % 2 else "de", "translation": {"en": text}}
    for i, text in enumerate(["one", 'a "quoted", text', "día\tñandú", "二行\nzwei", "", "last"])
]


def _parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS * 20), sink, row_group_size=30)
    return sink.getvalue()


def _zip(data: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.jsonl", data)
    return sink.getvalue()


JSONL = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS).encode()
CSV = b'id,text,lang\n0,one,de\n1,"a ""quoted"", text",en\n2,"two\nlines",de\n'
FILES: dict[str, bytes] = {
    "a.txt": "one line\r\nzwei Zeilen\n\nпривет\n".encode(),
    "a.jsonl": JSONL,
    "a.json": json.dumps(ROWS).encode(),
    "a.csv": CSV,
    "a.tsv": b'id\ttext\tlang\n0\t"one\tde\n1\tcaf\xc3\xa9\ten\n',
    "a.parquet": _parquet(),
    "a.jsonl.gz": gzip.compress(JSONL, mtime=0),
    "a.jsonl.bz2": bz2.compress(JSONL),
    "a.jsonl.xz": lzma.compress(JSONL),
    "a.jsonl.zst": pa.Codec("zstd").compress(JSONL, asbytes=True),
    "a.jsonl.zip": _zip(JSONL),
}
ODD = [
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b'"', b"\\ud800", b"\r", b"\n" * 50,
    b"[" * 50_000, b'{"text":' * 50_000, b"9" * 5000, b"1e999", b"NaN", b"{}", b"null", b"\t,;",
    b"version https://git-lfs.github.com/spec/v1\n", b"<!DOCTYPE html>", b"\x1f\x8b\x08", b"PAR1",
    b"id,text,text\n", b'{"text": {"text": ["x"]}}\n', b'"' + b"x" * 200_000,
]  # fmt: skip
LOADERS = {".txt": "text", ".csv": "csv", ".jsonl": "json", ".json": "json", ".parquet": "parquet"}


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Do one to three things to a file: cut, flip, fill in, double, swap, replace."""
    for _ in range(chance.randint(1, 3)):
        at, to = sorted(chance.randint(0, len(data)) for _ in range(2))
        odd = chance.choice(ODD)
        flipped = bytes(byte ^ (1 << chance.randrange(8)) for byte in data[at : at + 1])
        data = chance.choice(
            [
                data[:at],
                data[at:],
                data[:at] + data[to:],
                data[:at] + flipped + data[at + 1 :],
                data[:at] + odd + data[at:],
                data[:at] + odd + data[at + len(odd) :],
                data[:to] + data[at:],
                data[to:] + data[:to],
                odd,
            ]
        )
    return data


def options(name: str, chance: random.Random) -> dict[str, Any]:
    """Return an entry that reads the file one way or another."""
    loader = LOADERS.get(Path(name).suffix)
    entry: dict[str, Any] = {"source": "files", "path": name, "language": "en"}
    if loader and chance.random() < 0.3:
        hub = {"source": "huggingface", "path": loader, "data_files": name, "split": "train"}
        return {**hub, "language": "en", "streaming": chance.random() < 0.5}
    if loader == "text":
        return {**entry, "unit": chance.choice(["line", "paragraph", "document"])}
    entry["text"] = chance.choice(["text", "text", "text", "translation.en", "lang"])
    for key, value in {"id": "id", "not_text": "skip", "missing": "refuse"}.items():
        if chance.random() < 0.3:
            entry[key] = value
    if chance.random() < 0.2:
        entry["where"] = {"lang": "de"}
    if chance.random() < 0.2:
        entry["limit"] = {"rows": 2}
    return entry


def case(number: int, folder: Path) -> dict[str, Any]:
    """Write file `number` of the series and return the entry that reads it."""
    chance = random.Random(SEED * 1_000_000 + number)
    name = chance.choice(list(FILES))
    (folder / name).write_bytes(mutated(FILES[name], chance))
    return options(name, chance)


# pandas leaves a file open when it cannot read its first line
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("n", COUNTS)
def test_a_mutated_corpus_gives_a_slice_or_an_error_of_our_own(tmp_path: Path, n: int) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(CorpusEntry)
    limits, slices = Limits(corpus_seconds=10), 0
    said: list[tuple[int, int, str]] = []
    for number in range(n):
        folder = tmp_path / str(number)
        folder.mkdir()
        entry = adapter.validate_python(case(number, folder))
        started = time.process_time()
        try:
            one = materialise("mine", entry, "en", folder, limits=limits)
            assert one.meta.documents == sum(len(batch.ids) for batch in one.batches()), number
            slices += 1
        except CorpusError as exc:
            said.append((number, exc.exit_code, str(exc)))
        except Exception as exc:
            pytest.fail(f"file {number} of seed {SEED} ({entry}): {type(exc).__name__}: {exc}")
        assert time.process_time() - started < SECONDS, number
    for number, code, message in said:
        assert code == 3, number
        assert message.startswith("corpus 'mine', language 'en': "), number
        assert str(tmp_path) not in message, number
    assert min(slices, len(said)) > n // 20  # else the series tries nothing


def test_the_unmutated_files_are_sound(tmp_path: Path) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(CorpusEntry)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
        entry = adapter.validate_python({"source": "files", "path": name, "language": "en"})
        assert materialise("mine", entry, "en", tmp_path).meta.documents >= 2


def test_a_run_over_mutated_corpora_ends_with_a_documented_code(
    tmp_path: Path, tokbench: Callable[..., Any]
) -> None:
    corpora = {}
    for number in range(24):
        (tmp_path / str(number)).mkdir()
        entry = case(number, tmp_path / str(number))
        for key in ("path", "data_files"):
            if str(entry.get(key, "")).startswith("a."):
                entry[key] = f"{number}/{entry[key]}"
        corpora[f"c{number}"] = entry
    config = {"name": "m", "corpora": corpora, "tokenizers": {"b": {"type": "utf8_bytes"}}}
    config |= {"suites": ["efficiency"], "reports": []}
    (tmp_path / "m.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(tmp_path, "run", "m.yaml")
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
