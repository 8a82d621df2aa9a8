"""Reading through `datasets`: local folders only, since tests never reach the network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tokbench.bench.corpus.hub.reader import _revision
from tokbench.bench.corpus.hub.words import explain
from tokbench.bench.corpus.slices import Slice
from tokbench.bench.errors import CorpusError

HUB = "huggingface"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A data set with two configs; each has splits dev (2 rows) and test (1 row)."""
    folder = tmp_path / "greetings"
    card = ["---", "configs:"]
    for config, word in (("english", "hello"), ("french", "salut")):
        (folder / config).mkdir(parents=True)
        card += [f"- config_name: {config}", "  data_files:"]
        for split, rows in (("dev", [0, 1]), ("test", [2])):
            table = pa.table(
                {"n": rows, "body": [f"{word} {i}" for i in rows], "group": ["g"] * len(rows)}
            )
            pq.write_table(table, folder / config / f"{split}.parquet")
            card += [f"  - split: {split}", f"    path: {config}/{split}.parquet"]
    (folder / "README.md").write_text("\n".join([*card, "---", ""]), encoding="utf-8")
    return folder


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def names(**more: object) -> dict[str, object]:
    return {"source": HUB, "path": "greetings", "config": "english", "text": "body", **more}


@pytest.mark.parametrize("streaming", [True, False])
def test_one_config_and_split_is_read(make, dataset, streaming) -> None:
    one = make(**names(split="dev", id="n", cluster="group", streaming=streaming))
    assert texts(one) == ["hello 0", "hello 1"]
    assert (one.document_ids(), one.clusters()) == (["0", "1"], ["g", "g"])
    assert one.meta.unit == "row"


def test_what_was_read_is_recorded_as_the_config_wrote_it(make, dataset) -> None:
    (source,) = make(**names(split="test")).meta.sources
    assert source["path"] == "greetings/english/test.parquet"
    assert len(source["sha256"]) == 64


def test_several_splits_come_in_the_order_of_the_config(make, dataset) -> None:
    one = make(**names(splits=["test", "dev"]))
    assert texts(one) == ["hello 2", "hello 0", "hello 1"]
    assert one.document_ids() == ["test:0", "dev:0", "dev:1"]


def test_each_language_has_its_config(make, dataset) -> None:
    languages = {"en": "english", "fr": "french"}
    options = {**names(split="test"), "languages": languages}
    del options["config"]
    assert texts(make("en", **options)) + texts(make("fr", **options)) == ["hello 2", "salut 2"]


def test_no_split_is_chosen_silently(make, dataset) -> None:
    with pytest.raises(CorpusError, match="several splits: dev, test; choose one"):
        make(**names())
    with pytest.raises(CorpusError, match="no split 'tset'; did you mean 'test'"):
        make(**names(split="tset"))


def test_a_wrong_column_is_named_with_the_closest(make, dataset) -> None:
    with pytest.raises(CorpusError, match="no column 'bodi'; did you mean 'body'"):
        make(**names(split="dev", text="bodi"))


def test_a_column_of_numbers_is_refused(make, dataset) -> None:
    with pytest.raises(CorpusError, match="dev, row 0, column 'n' holds int 0, not text"):
        make(**names(split="dev", text="n"))


def test_c2_no_config_is_chosen_silently(make, cases_folder) -> None:
    options = {"folder": cases_folder, "source": HUB, "path": "two_configs", "split": "train"}
    with pytest.raises(
        CorpusError, match=r"several configs and none is chosen.*: en, nb; name one"
    ):
        make("no", **options)
    with pytest.raises(
        CorpusError, match=r"corpus 'mine', language 'fr': .* no config 'fr'.*en, nb"
    ):
        make("fr", **options, config="{language}")
    with pytest.raises(CorpusError, match="did you mean 'nb'"):
        make("nb", **options, config="nbb")
    assert texts(make("nb", **options, config="nb")) == ["hei"]


def test_c1_a_loading_script_is_refused_with_what_to_do(make, cases_folder) -> None:
    with pytest.raises(CorpusError, match=r"corpus 'mine'.*requires a loading script.*Parquet"):
        make(folder=cases_folder, source=HUB, path="script_only", split="train")


def test_c7_a_card_with_an_unquoted_no_is_named(make, cases_folder) -> None:
    message = r'norwegian/README.md, line 5: config_name no .*write `config_name: "no"`'
    with pytest.raises(CorpusError, match=message):
        make("no", folder=cases_folder, source=HUB, path="norwegian", config="no", split="train")


def test_c3_csv_through_datasets_keeps_na_and_digits(make, cases_folder) -> None:
    options = {"folder": cases_folder, "source": HUB, "path": "csv", "split": "train"}
    one = make(**options, data_files="na.csv")
    assert texts(one) == ["NA", "null", "nan", "007", "None", "hello"]
    assert one.meta.rows_skipped == {"missing": 1}
    assert texts(make(**options, data_files="numbers.csv")) == ["123", "456"]


def test_c6_json_files_with_other_columns_beside_the_text_are_read(make, cases_folder) -> None:
    files = ["schema_a.jsonl", "schema_b.jsonl"]
    one = make(folder=cases_folder, source=HUB, path="json", data_files=files, split="train")
    assert texts(one) == ["first file", "second file"]


def test_c6_differing_columns_are_named_with_the_way_out(make, tmp_path) -> None:
    for name in ("a", "b"):
        table = pa.table({"text": [name], f"only_{name}": [1]})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    message = r"different columns \(only_a, only_b\).*`source: files`, which reads only text"
    files = ["a.parquet", "b.parquet"]
    with pytest.raises(CorpusError, match=message):
        make(source=HUB, path="parquet", data_files=files, split="train", streaming=False)


def test_c4_the_text_loader_is_noted(make, cases_folder) -> None:
    one = make(
        folder=cases_folder, source=HUB, path="text", data_files="newlines.txt", split="train"
    )
    assert "drops the line ends" in one.meta.notes[0]


def test_data_files_may_name_the_language(make, tmp_path) -> None:
    for key in ("en", "fr"):
        (tmp_path / f"{key}.jsonl").write_text(json.dumps({"text": key}), encoding="utf-8")
    options = {"source": HUB, "path": "json", "data_files": {"train": "{language}.jsonl"}}
    assert texts(make("fr", **options, languages=["en", "fr"])) == ["fr"]


def test_a_folder_that_is_missing_is_not_looked_for_on_the_hub(make) -> None:
    with pytest.raises(CorpusError, match=r"folder './nowhere' does not exist"):
        make(source=HUB, path="./nowhere", split="train")


def test_an_unreachable_hub_is_called_so(make) -> None:
    with pytest.raises(CorpusError, match="'somebody/something' cannot be reached"):
        make(source=HUB, path="somebody/something", split="train")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Dataset 'a/b' is a gated dataset on the Hub. You must be authenticated to access it.", "requires a login"),
        ("Dataset 'a/b' is a gated dataset on the Hub. Visit the dataset page at x.", "requires access"),
        ("Dataset 'a/b' doesn't exist on the Hub or cannot be accessed.", "does not exist on the Hub"),
        ("Revision 'r' doesn't exist for dataset 'a/b' on the Hub.", "has no revision 'r'"),
    ],
)  # fmt: skip
def test_what_datasets_says_about_access_is_told_apart(entry, tmp_path, said, told) -> None:
    corpus = entry(source=HUB, path="a/b", language="en", revision="r")
    assert told in explain(FileNotFoundError(said), corpus, "en", tmp_path)


def test_the_resolved_revision_is_read_from_the_files_addresses() -> None:
    commit = "0123456789abcdef" * 2 + "01234567"
    assert _revision([f"hf://datasets/a/b@{commit}/x.parquet"]) == commit
    assert _revision(["https://example.org/x.parquet"]) is None


def test_messages_hold_neither_tokens_nor_places(make, dataset, monkeypatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefghijkl")
    shutil.rmtree(dataset / "english")
    with pytest.raises(CorpusError) as caught:
        make(**names(split="dev"))
    assert str(dataset.parent) not in str(caught.value)
    assert "hf_abcdefghijkl" not in str(caught.value)
