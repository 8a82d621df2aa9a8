from __future__ import annotations

import json

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.corpus.segment import LetterCounts, segmenter, word_spans


def words(text: str) -> list[str]:
    spans, data = word_spans([text]), text.encode()
    return [data[a:b].decode() for a, b in zip(spans.starts, spans.ends, strict=True)]


def leads(text: str) -> list[str]:
    spans, data = word_spans([text]), text.encode()
    return [data[a:b].decode() for a, b in zip(spans.leads, spans.starts, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("can't stop", ["can't", "stop"]),
        ("3.14, then 1,000", ["3.14", "then", "1,000"]),
        ("naïve café", ["naïve", "café"]),
        ("well-known", ["well", "known"]),
        ("snake_case", ["snake_case"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("... -- !", []),
        ("", []),
    ],
)
def test_words_are_those_of_uax_29(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_the_lead_of_a_word_is_all_white_space_directly_before_it() -> None:
    assert leads("a \t\u00a0b, (c)\n\nd") == ["", " \t\u00a0", "", "\n\n"]
    assert leads("\u3000x") == ["\u3000"]


def test_positions_are_bytes_within_each_document() -> None:
    spans = word_spans(["é b", "c", "", "дом"])
    assert spans.starts.tolist() == [0, 3, 0, 0]
    assert spans.ends.tolist() == [2, 4, 1, 6]
    assert spans.leads.tolist() == [0, 2, 0, 0]
    assert spans.offsets.tolist() == [0, 2, 3, 3, 4]


def test_no_documents_have_no_words() -> None:
    spans = word_spans([])
    assert (spans.starts.tolist(), spans.offsets.tolist()) == ([], [0])


texts = st.text(st.sampled_from("ab1 \t\r\n.'é\u0301\u200d\u2028ดक्षअ🇫🇷👩\u00ad_"), max_size=12)


@given(st.lists(texts, max_size=5))
def test_documents_of_a_batch_have_the_words_they_have_alone(documents: list[str]) -> None:
    together = word_spans(documents)
    for i, document in enumerate(documents):
        inside = slice(together.offsets[i], together.offsets[i + 1])
        alone = one_by_one(document)
        assert list(zip(together.leads[inside], together.starts[inside], together.ends[inside],
                        strict=True)) == alone  # fmt: skip


def one_by_one(text: str) -> list[tuple[int, int, int]]:
    """The definition, written plainly."""
    found, place = [], 0
    for piece in regex.split(r"(?V1w)\b", text):
        if regex.search(r"[\p{L}\p{N}]", piece):
            before = regex.sub(r"\p{White_Space}+\Z", "", text[:place])
            start = len(text[:place].encode())
            found.append((len(before.encode()), start, start + len(piece.encode())))
        place += len(piece)
    return found


def why_no_words(*documents: str) -> str | None:
    letters = LetterCounts()
    for document in documents:
        letters.add([document])
    return letters.why_no_words()


def test_d2_words_are_undefined_by_script_and_not_by_label(cases_folder) -> None:
    lines = (cases_folder / "words.jsonl").read_text(encoding="utf-8").splitlines()
    reasons = {row["lang"]: why_no_words(row["text"]) for row in map(json.loads, lines)}
    assert reasons["en"] is None
    assert "Thai" in str(reasons["th"])
    assert "Han" in str(reasons["zh"])
    assert "Hiragana and Han" in str(reasons["ja"])


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("Lao", "ສະບາຍດີ"),
        ("Khmer", "សួស្តី"),
        ("Myanmar", "မင်္ဂလာပါ"),
        ("Tibetan", "བཀྲ་ཤིས་"),
        ("Javanese", "ꦱꦸꦒꦼꦁ"),
        ("Tai Le", "ᥖᥭᥰ"),
    ],
)
def test_scripts_without_spaces_have_no_words(script: str, text: str) -> None:
    assert script in str(why_no_words(text))


def test_the_majority_of_letters_decides() -> None:
    assert why_no_words("東京 is a city in Japan") is None
    assert why_no_words("東京 is", "大阪です") is not None
    assert why_no_words("1234 !?") is None
    assert why_no_words("안녕 세상") is None


def test_flores_has_words_in_43_of_49_languages(data_folder) -> None:
    import pyarrow.parquet as pq

    without = set()
    for path in (data_folder / "corpora/flores200").glob("*.parquet"):
        if why_no_words(*pq.read_table(path, columns=["text"])["text"].to_pylist()[:50]):
            without.add(path.stem)
    assert without == {"jpn_Jpan", "khm_Khmr", "mya_Mymr", "tha_Thai", "zho_Hans", "zho_Hant"}


def test_the_segmenter_names_its_versions() -> None:
    assert regex.__version__ in segmenter()
    assert "unknown" not in segmenter()
