"""Reading local files, on files small enough to check by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokbench.bench.corpus.slices import Slice
from tokbench.bench.errors import CorpusError


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def write(folder: Path, name: str, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


# C4: line ends


def test_c4_by_line_without_line_ends(make, cases_folder) -> None:
    one = make(folder=cases_folder, source="files", path="newlines.txt")
    assert texts(one) == ["one", "two", "three\rfour", "five\u2028six\u0085seven"]
    assert one.meta.rows_skipped == {"empty line": 1}
    assert (one.meta.unit, one.meta.line_ends) == ("line", "strip")
    assert (one.meta.bytes, one.meta.bytes_in_files) == (33, 41)
    assert "33 of the 39 bytes of the rows taken" in one.meta.notes[0]


def test_c4_by_line_with_line_ends_loses_no_byte(make, cases_folder) -> None:
    one = make(folder=cases_folder, source="files", path="newlines.txt", line_ends="keep")
    assert texts(one) == [
        "one\r\n", "two\r\n", "\r\n", "three\rfour\n", "five\u2028six\u0085seven\n",
    ]  # fmt: skip
    assert one.meta.bytes == one.meta.bytes_in_files == 41


def test_c4_by_document_is_the_file(make, cases_folder) -> None:
    one = make(folder=cases_folder, source="files", path="newlines.txt", unit="document")
    assert texts(one)[0].encode() == (cases_folder / "newlines.txt").read_bytes()
    assert (one.meta.unit, one.meta.line_ends) == ("document", "keep")


def test_paragraphs_are_parted_by_blank_lines(make, tmp_path) -> None:
    write(tmp_path, "a.txt", "\n\none\ntwo\r\n \t\n\nthree\n")
    one = make(source="files", path="a.txt", unit="paragraph")
    assert texts(one) == ["one\ntwo", "three"]
    kept = make(source="files", path="a.txt", unit="paragraph", line_ends="keep")
    assert texts(kept) == ["one\ntwo\r\n", "three\n"]


# C3: CSV


def test_c3_cells_of_a_csv_file_are_text(make, cases_folder) -> None:
    one = make(folder=cases_folder, source="files", path="na.csv")
    assert texts(one) == ["NA", "null", "nan", "007", "None", "hello"]
    assert one.meta.rows_skipped == {"missing": 1}
    assert one.meta.rows_seen == 7


def test_c3_a_column_of_digits_is_text(make, cases_folder) -> None:
    assert texts(make(folder=cases_folder, source="files", path="numbers.csv")) == ["123", "456"]


def test_c3_missing_cells_are_refused_with_row_and_column_on_demand(make, cases_folder) -> None:
    with pytest.raises(CorpusError, match=r"na.csv, row 2 \(line 4\), column 'text' has no value"):
        make(folder=cases_folder, source="files", path="na.csv", missing="refuse")


def test_csv_cells_hold_delimiters_quotes_and_line_ends(make, tmp_path) -> None:
    write(tmp_path, "a.csv", 'id,text\r\n1,"a, ""b""\r\nc"\r\n2,' + "x" * 200_000 + "\r\n")
    one = make(source="files", path="a.csv", id="id")
    assert texts(one)[0] == 'a, "b"\r\nc'
    assert one.column("bytes").tolist() == [9, 200_000]
    assert one.document_ids() == ["1", "2"]


def test_a_row_with_too_many_cells_is_refused(make, tmp_path) -> None:
    write(tmp_path, "a.csv", "id,text\n1,a,b\n")
    with pytest.raises(CorpusError, match=r"row 0 \(line 2\) has 3 cells and the header 2"):
        make(source="files", path="a.csv")


def test_tsv_files_are_parted_by_tabs(make, tmp_path) -> None:
    write(tmp_path, "a.tsv", "id\ttext\n1\ta,b\n")
    assert texts(make(source="files", path="a.tsv")) == ["a,b"]


# C6 and other columns


def test_c6_only_the_columns_asked_for_matter(make, cases_folder) -> None:
    one = make(folder=cases_folder, source="files", path=["schema_a.jsonl", "schema_b.jsonl"])
    assert texts(one) == ["first file", "second file"]
    assert one.document_ids() == ["schema_a.jsonl:0", "schema_b.jsonl:0"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_wrong_column_is_named_with_the_closest(make, tmp_path, name) -> None:
    write(tmp_path, "a.jsonl", lines({"texte": "a"}))
    write(tmp_path, "a.csv", "texte\na\n")
    pq.write_table(pa.table({"texte": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match=rf"{name} has no column 'text'; did you mean 'texte'\?"):
        make(source="files", path=name)


def test_rows_may_lack_the_text_but_an_empty_text_is_a_document(make, tmp_path) -> None:
    write(
        tmp_path, "a.jsonl", lines({"id": 7}, {"id": 8, "text": ""}, {"text": None, "id": 9}) + "\n"
    )
    one = make(source="files", path="a.jsonl", id="id")
    assert (texts(one), one.document_ids()) == ([""], ["8"])
    assert one.meta.rows_skipped == {"blank line": 1, "missing": 2}


def test_cells_that_are_not_text_are_refused_with_row_and_column(make, tmp_path) -> None:
    write(tmp_path, "a.jsonl", lines({"text": "a"}, {"text": 5}))
    with pytest.raises(CorpusError, match=r"row 1 \(line 2\), column 'text' holds int 5, not text"):
        make(source="files", path="a.jsonl")
    assert make(source="files", path="a.jsonl", not_text="skip").meta.rows_skipped == {
        "not text": 1
    }


def test_parquet_reads_only_what_is_asked_for(make, tmp_path) -> None:
    table = pa.table({"n": [1, 2], "text": ["a", None], "group": ["x", "y"], "id": ["p", "q"]})
    pq.write_table(table, tmp_path / "a.parquet")
    one = make(source="files", path="a.parquet", id="id", cluster="group")
    assert (texts(one), one.document_ids(), one.clusters()) == (["a"], ["p"], ["x"])
    assert one.meta.rows_skipped == {"missing": 1}


def write_two_languages(folder: Path) -> None:
    rows = [{"text": "a", "lang": "en"}, {"text": "b", "lang": "de"}, {"text": "c", "lang": "en"}]
    write(folder, "a.jsonl", lines(*rows, {"text": "no lang"}))
    write(folder, "a.csv", "text,lang\na,en\nb,de\nc,en\nno lang,\n")
    columns = {"text": ["a", "b", "c", "no lang"], "lang": ["en", "de", "en", None]}
    pq.write_table(pa.table(columns), folder / "a.parquet")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize(
    "rule",
    [
        {"where": {"lang": "{language}"}},
        {"languages": {"en": {"where": {"lang": "en"}}, "de": {"where": {"lang": "de"}}}},
    ],
)
def test_rows_of_a_language_are_told_by_a_column(make, tmp_path, name, rule) -> None:
    write_two_languages(tmp_path)
    rule = {"languages": ["en", "de"], **rule}
    english, german = (make(key, source="files", path=name, **rule) for key in ("en", "de"))
    assert (texts(english), texts(german)) == (["a", "c"], ["b"])
    assert english.document_ids() == ["0", "2"]
    assert (english.meta.rows_seen, english.meta.rows_skipped) == (2, {})


def test_whole_numbers_are_told_by_their_digits(make, tmp_path) -> None:
    write(tmp_path, "a.jsonl", lines({"text": "a", "year": 2024}, {"text": "b", "year": 2023}))
    assert texts(make(source="files", path="a.jsonl", where={"year": "2024"})) == ["a"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_value_that_no_row_has_is_named(make, tmp_path, name) -> None:
    write_two_languages(tmp_path)
    with pytest.raises(CorpusError, match="no documents: 0 rows read where lang is 'fr'"):
        make(source="files", path=name, where={"lang": "fr"})
    with pytest.raises(CorpusError, match="has no column 'langu'; did you mean 'lang'"):
        make(source="files", path=name, where={"langu": "en"})


def test_plain_text_has_no_columns_to_look_at(make, tmp_path) -> None:
    write(tmp_path, "a.txt", "a\n")
    with pytest.raises(CorpusError, match=r"a.txt: `where` requires columns"):
        make(source="files", path="a.txt", where={"lang": "en"})


# text that is not UTF-8


def test_a_lone_surrogate_is_refused_with_its_row(make, tmp_path) -> None:
    write(tmp_path, "a.jsonl", '{"text": "ok"}\n{"text": "\u00e9x\\ud800"}\n')
    message = r"row 1 \(line 2\).*lone surrogate \(U\+D800\) at character 2, byte 3"
    with pytest.raises(CorpusError, match=message):
        make(source="files", path="a.jsonl")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_bytes_that_are_not_utf8_are_refused_with_line_and_byte(make, tmp_path, name) -> None:
    write(tmp_path, name, b"text\nab\xffc\n" if name != "a.jsonl" else b'   \n"\xff"\n')
    with pytest.raises(CorpusError, match=rf"{name}, line 2 is not UTF-8: byte 0xff at byte [57]"):
        make(source="files", path=name)


def test_a_cell_of_a_parquet_file_that_is_not_utf8_is_refused(make, tmp_path) -> None:
    column = pa.array([b"ok", b"a\xff"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": column}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="row 1, column 'text' is not UTF-8: byte 0xff at byte 1"):
        make(source="files", path="a.parquet")


def test_utf16_is_recognised(make, tmp_path) -> None:
    write(tmp_path, "a.txt", "text".encode("utf-16"))
    with pytest.raises(CorpusError, match="looks like UTF-16"):
        make(source="files", path="a.txt")


def test_a_byte_order_mark_is_no_part_of_the_text(make, tmp_path) -> None:
    write(tmp_path, "a.csv", b"\xef\xbb\xbftext\nhello\n")
    assert texts(make(source="files", path="a.csv")) == ["hello"]


# which files


def test_a_glob_names_files_in_order(make, tmp_path) -> None:
    for name in ("deep/b.txt", "deep/a.txt", "deep/er/a.txt"):
        write(tmp_path, name, name)
    one = make(source="files", path="deep/**/*.txt")
    assert texts(one) == ["deep/a.txt", "deep/b.txt", "deep/er/a.txt"]
    assert one.document_ids() == ["a.txt:0", "b.txt:0", "er/a.txt:0"]
    assert [source["path"] for source in one.meta.sources] == texts(one)


def test_a_name_that_looks_like_a_glob_is_a_file_where_there_is_one(make, tmp_path) -> None:
    write(tmp_path, "a[1].txt", "hello\n")
    assert texts(make(source="files", path="a[1].txt")) == ["hello"]


def test_a_missing_file_is_named_as_it_was_written(make) -> None:
    with pytest.raises(
        CorpusError, match=r"corpus 'mine', language 'en': file 'x\.txt' does not exist"
    ):
        make(source="files", path="x.txt")
    with pytest.raises(CorpusError, match=r"no file matches 'y/\*\.txt'"):
        make(source="files", path="y/*.txt")


def test_gzip_files_are_read_as_they_are(make, tmp_path) -> None:
    write(tmp_path, "a.jsonl.gz", gzip.compress(lines({"text": "hello"}).encode()))
    assert texts(make(source="files", path="a.jsonl.gz")) == ["hello"]
    write(tmp_path, "b.txt.gz", gzip.compress(b"hello" * 100)[:-9])
    with pytest.raises(CorpusError, match="truncated or not a gzip file"):
        make(source="files", path="b.txt.gz")


def test_a_suffix_that_tells_nothing_asks_for_the_format(make, tmp_path) -> None:
    write(tmp_path, "a.py", "print()\n")
    with pytest.raises(CorpusError, match="set `format: txt`"):
        make("python", source="files", path="a.py", kind="code")
    one = make("python", source="files", path="a.py", kind="code", format="txt", unit="document")
    assert texts(one) == ["print()\n"]
    assert (one.meta.words, one.meta.words_reason) == (None, "words are not defined for code")


def test_broken_files_are_named(make, tmp_path) -> None:
    write(tmp_path, "a.parquet", "no")
    with pytest.raises(CorpusError, match=r"a.parquet cannot be read as Parquet"):
        make(source="files", path="a.parquet")
    write(tmp_path, "a.jsonl", "[1]\n")
    with pytest.raises(CorpusError, match="line 1 holds a list"):
        make(source="files", path="a.jsonl")
    write(tmp_path, "b.jsonl", "{\n")
    with pytest.raises(CorpusError, match=r"b.jsonl, line 1 is not JSON"):
        make(source="files", path="b.jsonl")


def test_no_documents_is_an_error_that_says_what_was_read(make, tmp_path) -> None:
    write(tmp_path, "a.txt", "\n\n")
    with pytest.raises(CorpusError, match=r"no documents: 2 rows read \(2 empty line skipped\)"):
        make(source="files", path="a.txt")
