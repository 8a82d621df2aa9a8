"""Code files of subword-nmt and fastBPE cut words as these tools do."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext
from tokbench.tokenizers_impl.subword.codes import CodesTokenizer, SubwordCodes, read_codes

TEXT = "the lowest tide came slower than the newest of the older ones\n" * 3 + "naïve 今天 今天\n"
HEAD = "#version: 0.2\n"


def learned(text: str, n: int) -> str:
    learn = pytest.importorskip("subword_nmt.learn_bpe", reason="subword-nmt is not installed")
    out = io.StringIO()
    learn.learn_bpe(io.StringIO(text), out, n, min_frequency=1)
    return out.getvalue()


def theirs(codes: str, text: str) -> list[str]:
    apply = pytest.importorskip("subword_nmt.apply_bpe", reason="subword-nmt is not installed")
    segmented: str = apply.BPE(io.StringIO(codes)).segment(text)
    return segmented.split(" ") if segmented else []


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("version", ["0.2", "0.1"])
def test_segmentations_are_those_of_subword_nmt(n: int, version: str) -> None:
    codes = learned(TEXT, n)
    if version == "0.1":  # the same merges read with the end of a word apart
        codes = codes.replace("#version: 0.2", "#version: 0.1")
    ours = CodesTokenizer(read_codes(codes, "codes"))
    for line in [*TEXT.split("\n"), "slowest  times", " a ", "unseen ß words"]:
        assert ours.segment(line) == theirs(codes, line), line


@settings(max_examples=60, deadline=None)
@given(train=st.text(alphabet="abc ", min_size=20, max_size=120), text=st.text(alphabet="abcd "))
def test_so_they_are_on_generated_text(train: str, text: str) -> None:
    if not train.strip():
        return
    codes = learned(train, 12)
    ours = CodesTokenizer(read_codes(codes, "codes"))
    assert ours.segment(text) == theirs(codes, text.strip("\r\n "))


@pytest.mark.real
def test_and_on_every_flores_language(data: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for file in sorted((data / "corpora" / "flores200").glob("*devtest*.parquet"))[::5]:
        texts = parquet.read_table(file)["text"].to_pylist()[:60]
        codes = learned("\n".join(texts[:30]), 150)
        ours = CodesTokenizer(read_codes(codes, file.name))
        for text in texts:
            assert ours.segment(text) == theirs(codes, text), file.name


def test_segmentations_are_those_of_fast_bpe(tmp_path: Path) -> None:
    library = pytest.importorskip(
        "fastBPE", reason="fastBPE is not installed: it is built from source with a C++ compiler"
    )
    merges = learned(TEXT, 60).split("\n")[1:-1]
    (tmp_path / "codes").write_text("".join(f"{m} 5\n" for m in merges), encoding="utf-8")
    ours = SubwordCodes(file="codes").load(LoadContext(folder=tmp_path))
    lines = [line for line in TEXT.split("\n") if line] + ["slowest times", "unseen ß words"]
    found = library.fastBPE(str(tmp_path / "codes")).apply(lines)
    assert [" ".join(ours.segment(line)) for line in lines] == found


def test_ids_count_words_back_and_name_what_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text(f"{HEAD}l o\nlo w</w>\n", encoding="utf-8")
    tokenizer = SubwordCodes(file="codes").load(LoadContext(folder=tmp_path))
    ids = tokenizer.encode_batch(["low  lol", "low ü"])
    assert [tokenizer.spelling(one) for one in ids] == [
        ["low</w>", "lo", "l</w>"],
        ["low</w>", "<unk>"],
    ]
    assert tokenizer.decode_batch(ids[:1]) == ["low lol"]
    assert tokenizer.vocabulary.unknown_ids == {0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a b c d\n", "line 1: 'a b c d' is not a merge"),
        ("#version: 0.2\nab\n", "line 2: 'ab' is not a merge"),
        ("a b 3\na c\n", "some lines have a count and some have none"),
        ("#version: 9\na b\n", "version 9 of code files is not known"),
    ],
)
def test_what_is_no_code_file_is_refused(content: str, message: str) -> None:
    with pytest.raises(TokenizerError, match=message):
        read_codes(content, "codes")
