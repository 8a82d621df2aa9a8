"""Words by a segmenter that the config names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import regex

from tokbench.bench.config.corpora import FilesCorpus, canonical
from tokbench.bench.config.schema import load_config
from tokbench.bench.corpus.segmenters import WordFinder, spans_of
from tokbench.bench.corpus.slices import Slice
from tokbench.bench.errors import ConfigError, CorpusError
from tokbench.bench.plugins import SegmenterPlugin, find

Make = Callable[..., Slice]


def words_of(part: Slice) -> list[str]:
    found = []
    for batch in part.batches():
        assert batch.word_starts is not None
        assert batch.word_ends is not None
        for start, end in zip(batch.word_starts, batch.word_ends, strict=True):
            found.append(bytes(batch.buffer[start:end]).decode())
    return found


@pytest.fixture
def thai(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "t.txt").write_text("กขคง จฉ!\n", encoding="utf-8")
    return {"source": "files", "path": "t.txt"}


def test_words_are_those_of_the_segmenter_and_its_version_is_recorded(
    make: Make, thai: dict[str, Any], toys: None
) -> None:
    part = make("tha_Thai", **thai, segmenters={"tha_Thai": "toy_pairs"})
    assert words_of(part) == ["กข", "คง", "จฉ"]  # the mark is no word
    assert (part.meta.segmenter, part.meta.words, part.meta.words_reason) == ("toy 1.0", 3, None)


def test_without_one_such_text_has_no_words(make: Make, thai: dict[str, Any]) -> None:
    part = make("tha_Thai", **thai)
    assert (part.meta.segmenter, part.meta.words) == (None, None)


def test_only_the_language_that_has_one_gets_another_slice() -> None:
    options: dict[str, Any] = {
        "source": "files",
        "path": "{language}.txt",
        "languages": ["th", "en"],
    }
    plain = FilesCorpus(**options)
    named = FilesCorpus.model_construct(**{**plain.__dict__, "segmenters": {"th": "thai"}})
    assert canonical(named, "en") == canonical(plain, "en")
    assert canonical(named, "th") != canonical(plain, "th")


def test_a_library_that_is_missing_is_named(make: Make, thai: dict[str, Any], toys: None) -> None:
    with pytest.raises(CorpusError, match="requires toylib, which is not installed"):
        make("tha_Thai", **thai, segmenters={"tha_Thai": "toy_missing"})


@pytest.mark.parametrize(
    ("segmenters", "message"),
    [
        ({"tha_Thai": "thay"}, "unknown segmenter 'thay'"),
        ({"lao_Laoo": "thai"}, "'lao_Laoo' is not among the languages"),
    ],
)
def test_a_wrong_name_is_a_mistake_of_the_config(
    segmenters: dict[str, str], message: str, tmp_path: Path
) -> None:
    corpus = {"source": "files", "path": "t.txt", "language": "tha_Thai", "segmenters": segmenters}
    config = {"name": "n", "corpora": {"t": corpus}, "tokenizers": {"b": {"type": "utf8_bytes"}}}
    with pytest.raises(ConfigError, match=message):
        load_config(config)


def test_a_piece_that_is_not_in_the_text_is_refused() -> None:
    with pytest.raises(CorpusError, match="segmenter toy returned 'x', which does not follow"):
        spans_of(["ab"], [["a", "x"]], "toy")


TEXTS = {
    "thai": ("ภาษาไทยเป็นภาษาที่ใช้ 3.5 OK", "pythainlp", ["ภาษาไทย", "เป็น", "ภาษา", "ที่", "ใช้", "3.5", "OK"]),
    "chinese": ("今天很好，OK", "jieba", ["今天", "很", "好", "OK"]),
    "japanese": ("猫である。OK", "janome", ["猫", "で", "ある", "OK"]),
    "khmer": ("ខ្ញុំចង់\u200bទៅសាលា OK", "khmernltk", ["ខ្ញុំ", "ចង់", "ទៅ", "សាលា", "OK"]),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_the_named_libraries_cut_their_language(name: str) -> None:
    text, library, expected = TEXTS[name]
    pytest.importorskip(library, reason=f"{library} is not installed (extra: words)")
    spans = WordFinder(name=name).load()([text])
    data = text.encode()
    words = [data[a:b].decode() for a, b in zip(spans.starts, spans.ends, strict=True)]
    assert words == expected
    assert regex.search(r"\d", find(SegmenterPlugin, name)().version())
