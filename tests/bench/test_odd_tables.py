"""Columns: of mixed types, of classes, inside structures, one for each language, quoted or not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokbench.bench.corpus.slices import Slice, check_parallel
from tokbench.bench.errors import CorpusError

FILES = {"source": "files"}
HUB = {"source": "huggingface", "split": "train"}


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def jsonl(path: Path, rows: list[Any]) -> None:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")


def both(name: str, loader: str, **more: Any) -> list[dict[str, Any]]:
    """Return the same file as an entry of `files`, and through `datasets` streamed and not."""
    hub = {**HUB, "path": loader, "data_files": name, **more}
    return [{**FILES, "path": name, **more}, hub, {**hub, "streaming": False}]


# mixed types


@pytest.mark.parametrize("odd", [5, 5.5, True, ["x"], {"k": "v"}])
def test_mixed_columns_are_refused_or_skipped_alike_by_both_sources(
    make, tmp_path: Path, odd: Any
) -> None:
    jsonl(tmp_path / "a.jsonl", [{"text": 'a "quoted" ß\n'}, {"text": odd}, {"text": None}])
    for options in both("a.jsonl", "json"):
        with pytest.raises(CorpusError, match=rf"row 1.* holds {type(odd).__name__} .*not text"):
            make(**options)
        one = make(**options, not_text="skip")
        assert texts(one) == ['a "quoted" ß\n']
        assert one.meta.rows_skipped == {"missing": 1, "not text": 1}


def test_a_json_text_that_looks_like_a_number_is_text(make, tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"text": "5"}, {"text": "null"}, {"text": 7}])
    for options in both("a.jsonl", "json", not_text="skip"):
        assert texts(make(**options)) == ["5", "null"]


def test_a_file_of_numbers_is_no_text_beside_a_file_of_text(make, tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"text": "five"}, {"text": "5"}])
    jsonl(tmp_path / "b.jsonl", [{"text": 5}])
    for options in both("?.jsonl", "json", not_text="skip"):
        assert texts(make(**options)) == ["five", "5"]
    with pytest.raises(CorpusError, match=r"train, row 2 \(line 1\), column 'text' holds int 5"):
        make(**both("?.jsonl", "json")[1])


def test_rows_of_several_files_are_counted_through_whatever_is_taken(make, tmp_path: Path) -> None:
    for name in ("a", "b"):
        rows = [{"text": f"{name}{i}", "lang": lang} for i, lang in enumerate("xyx")]
        jsonl(tmp_path / f"{name}.jsonl", rows)
    one = make(**both("?.jsonl", "json")[1], where={"lang": "y"})
    assert (texts(one), one.document_ids()) == (["a1", "b1"], ["1", "4"])


# classes


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    names = datasets.ClassLabel(names=["eng", "deu", "fra"])
    features = datasets.Features({"text": datasets.Value("string"), "lang": names})
    rows = {"text": ["one", "zwei", "drei"], "lang": [0, 1, 1]}
    datasets.Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


@pytest.mark.parametrize("wanted", ["deu", "1"])
def test_a_class_is_given_by_name_or_number(make, classes: Path, wanted: str) -> None:
    for options in both("a.parquet", "parquet"):
        assert texts(make(**options, where={"lang": wanted})) == ["zwei", "drei"]


def test_where_nothing_fits_the_values_that_exist_are_shown(make, classes: Path) -> None:
    for options in both("a.parquet", "parquet"):
        with pytest.raises(CorpusError, match=r"lang is 'fra' \(lang holds 'deu', 'eng'\)"):
            make(**options, where={"lang": "fra"})


def test_values_of_a_text_column_are_shown_too(make, tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"text": "x", "lang": name} for name in ("de", "en", "de")])
    with pytest.raises(CorpusError, match=r"lang is 'fr' \(lang holds 'de', 'en'\)"):
        make(**FILES, path="a.jsonl", where={"lang": "fr"})


# parallel text in one row


def test_a_translation_column_is_parallel_text(make, tmp_path: Path) -> None:
    pairs = [("the ship", "le navire"), ("rain", "la pluie")]
    jsonl(tmp_path / "a.jsonl", [{"translation": {"en": en, "fr": fr}} for en, fr in pairs])
    parallel = {"languages": ["en", "fr"], "parallel": True, "pivot": "en"}
    for options in both("a.jsonl", "json", text="translation.{language}"):
        slices = [make(key, **options, **parallel) for key in ("en", "fr")]
        aligned = check_parallel(slices)
        assert texts(aligned["en"]) == ["the ship", "rain"]
        assert texts(aligned["fr"]) == ["le navire", "la pluie"]


def test_a_structure_in_parquet_is_entered_by_dots(make, tmp_path: Path) -> None:
    rows = [{"translation": {"en": "one", "fr": "un"}, "meta": {"id": {"n": 7}}}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    one = make("fr", **FILES, path="a.parquet", text="translation.fr", id="meta.id.n")
    assert (texts(one), one.document_ids()) == (["un"], ["7"])
    with pytest.raises(CorpusError, match=r"no column 'translation.de'.*'translation.en'"):
        make("de", **FILES, path="a.parquet", text="translation.de")


def test_one_column_for_each_language_is_parallel_text(make, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("eng\tdeu\nthe sea\tdas Meer\n", encoding="utf-8")
    options = {**FILES, "path": "a.tsv", "parallel": True, "pivot": "en"}
    named = {**options, "languages": {"en": {"text": "eng"}, "de": {"text": "deu"}}}
    assert texts(make("de", **named)) == ["das Meer"]
    keys = {**options, "languages": ["eng", "deu"], "pivot": "eng", "text": "{language}"}
    assert texts(make("deu", **keys)) == ["das Meer"]


def test_a_column_whose_name_has_a_dot_comes_before_a_structure(make, tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"a.b": "dotted", "a": {"b": "inside"}}])
    assert texts(make(**FILES, path="a.jsonl", text="a.b")) == ["dotted"]


def test_languages_that_read_the_same_column_are_still_refused(make) -> None:
    with pytest.raises(ValueError, match="put {language} into `path` or `text`"):
        make("en", **FILES, path="a.tsv", languages=["en", "de"])


# quotation marks


TSV = 'text\tn\n"Stop, he said\t1\n"Really?" she asked\t2\nand then she left"\t3\n'


def test_tsv_has_no_quoting_unless_it_is_asked_for(make, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TSV, encoding="utf-8")
    said = ['"Stop, he said', '"Really?" she asked', 'and then she left"']
    assert texts(make(**FILES, path="a.tsv")) == said
    with pytest.raises(CorpusError, match=r"is not CSV.*set `quote: none`"):
        make(**FILES, path="a.tsv", quote='"')


def test_csv_quotes_unless_it_is_told_not_to(make, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,n\n'one, two',1\n", encoding="utf-8")
    assert texts(make(**FILES, path="a.csv", quote="'")) == ["one, two"]
    (tmp_path / "b.csv").write_text('text;n\n"a;1\n', encoding="utf-8")
    assert texts(make(**FILES, path="b.csv", quote="none", delimiter=";")) == ['"a']


def test_line_ends_inside_quoted_cells_are_counted_and_said(make, tmp_path: Path) -> None:
    rows = [["text", "n"], ["one\ntwo", 1], ["three", 2], ["four\nfive", 3]]
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    for options in both("a.csv", "csv"):
        notes = make(**options).meta.notes
        assert "rows with line ends inside a quoted cell (see `quote`): 2" in notes


def test_a_lone_carriage_return_stays_in_a_tsv_cell(make, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"text\tn\r\none\rtwo\t1\r\n")
    assert texts(make(**FILES, path="a.tsv")) == ["one\rtwo"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_two_columns_of_one_name_are_an_error(make, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text,text\na,b\n".replace(",", "\t" if "tsv" in name else ","))
    with pytest.raises(CorpusError, match=f"{name} has 2 columns 'text'; rename one"):
        make(**FILES, path=name)


def test_two_columns_of_one_name_are_an_error_through_datasets(make, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,text\na,b\n", encoding="utf-8")
    for options in both("a.csv", "csv")[1:]:
        with pytest.raises(CorpusError, match="has two columns 'text'; rename one"):
            make(**options)


def test_quote_is_one_character_or_none(make) -> None:
    with pytest.raises(ValueError, match="`quote` must be one character, or none"):
        make(**FILES, path="a.csv", quote="''")


# byte order marks and line ends


@pytest.mark.parametrize(("loader", "name", "content"), [
    ("text", "a.txt", "one\ntwo"),
    ("csv", "a.csv", "text\none\ntwo\n"),
    ("json", "a.jsonl", '{"text": "one"}\n{"text": "two"}'),
])  # fmt: skip
def test_a_byte_order_mark_is_dropped_by_every_reader(
    make, tmp_path: Path, loader: str, name: str, content: str
) -> None:
    (tmp_path / name).write_text("\ufeff" + content, encoding="utf-8")
    for options in both(name, loader):
        assert texts(make(**options)) == ["one", "two"]


def test_a_mark_inside_a_text_stays(make, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffone\ntwo\ufeff\n", encoding="utf-8")
    assert texts(make(**FILES, path="a.txt")) == ["one", "two\ufeff"]


def test_the_note_on_line_ends_speaks_of_the_rows_taken(make, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeff12345\r\n\r\n12\n1234567890\n".encode())
    one = make(**FILES, path="a.txt", limit={"rows": 2})
    assert "tokenizers get 7 of the 10 bytes of the rows taken" in one.meta.notes[0]
    assert make(**FILES, path="a.txt", line_ends="keep").meta.notes == ()
    (tmp_path / "b.txt").write_bytes(b"no line end")
    assert make(**FILES, path="b.txt").meta.notes == ()
