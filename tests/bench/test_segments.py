"""A run keeps the text and tokens of some documents, where the config lets it, and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError, ResultsError
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.run.runner import RunOutcome
from tokbench.bench.run.segments.task import LONGEST

Measure = Callable[..., RunOutcome]
Row = dict[str, Any]

CORPUS = {"source": "files", "path": "{language}.jsonl", "languages": ["en"], "id": "id"}
TOY = {"type": "toy_pieces", "pieces": ["the", " cat"]}


def run(measure: Measure, texts: list[str], /, **config: Any) -> Results:
    tokenizers = config.pop("tokenizers", {"toy": TOY})
    whole = {"corpora": {"c": CORPUS}, "tokenizers": tokenizers, "reports": [], **config}
    return measure(whole, {"en.jsonl": texts}).results


def rows(results: Results, tokenizer: str | None = None) -> list[Row]:
    found: list[Row] = results.segments("c").to_pylist()
    return [row for row in found if row["tokenizer"] == tokenizer]


def test_text_is_kept_where_the_config_asks_with_ids_and_ends_in_bytes(measure: Measure) -> None:
    results = run(measure, ["the cat", "é"], texts=5)
    assert [(row["document_id"], row["text"]) for row in rows(results)] == [
        ("0", "the cat"),
        ("1", "é"),
    ]
    first, second = rows(results, "toy")
    assert (first["ids"], first["starts"], first["ends"]) == ([257, 258], None, [3, 7])
    assert (second["ids"], second["ends"]) == ([0xC3, 0xA9], [1, 2])


def test_no_text_of_a_corpus_is_kept_unless_asked(measure: Measure) -> None:
    results = run(measure, ["the cat"])
    assert not results.has_segments("c")
    assert not (results.folder / "segments").exists()
    with pytest.raises(ResultsError, match="not among the files"):
        results.segments("c")


def test_four_documents_of_each_bundled_language_are_kept_by_default(measure: Measure) -> None:
    corpus = {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}
    found = measure({"corpora": {"c": corpus}, "tokenizers": {"toy": TOY}, "reports": []}, {})
    kept = len(rows(found.results))
    assert kept == 4
    none = {"corpora": {"c": corpus}, "tokenizers": {"toy": TOY}, "reports": [], "texts": 0}
    assert not measure(none, {}).results.has_segments("c")


def test_fewer_documents_are_spread_evenly_and_are_the_same_every_time(measure: Measure) -> None:
    texts = [f"the {i}" for i in range(10)]
    first, second = (run(measure, texts, texts=4) for _ in range(2))
    assert [row["document_id"] for row in rows(first)] == ["0", "2", "5", "7"]
    name = "segments/c.parquet"
    assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()


def test_each_witness_of_a_loss_is_kept_under_every_tokenizer(measure: Measure) -> None:
    texts = ["the", "the cat", "the cat", "The cat"]
    lossy = {"type": "toy_pieces", "pieces": ["the"], "lowercase": True}
    results = run(measure, texts, texts=1, tokenizers={"toy": TOY, "lossy": lossy})
    assert [(row["document_id"], row["why"]) for row in rows(results)] == [
        ("0", "sample"),
        ("3", "witness"),
    ]
    for name in ("toy", "lossy"):
        assert [row["document_id"] for row in rows(results, name)] == ["0", "3"]


def test_ids_that_occur_are_spelled_with_their_bytes_and_kind(measure: Measure) -> None:
    results = run(measure, ["the cat!"], texts=1)
    assert results.segment_tokens("toy").to_pylist() == [
        {"id": 33, "bytes": b"!", "spelling": None, "kind": "byte_fallback"},
        {"id": 257, "bytes": b"the", "spelling": None, "kind": "ordinary"},
        {"id": 258, "bytes": b" cat", "spelling": None, "kind": "ordinary"},
    ]


def test_a_tokenizer_that_drops_text_has_starts_and_ends(measure: Measure) -> None:
    corpus = {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn"]}
    words = {"train": {"trainer": "tokenizers_wordpiece", "corpus": "c", "vocab_size": 300}}
    config = {"corpora": {"c": corpus}, "tokenizers": {"words": words}, "reports": []}
    results = measure({**config, "texts": 1}, {}).results
    [text], [cut] = rows(results), rows(results, "words")
    data = text["text"].encode()
    between = [data[end:start] for end, start in zip(cut["ends"], cut["starts"][1:], strict=False)]
    assert set(between) <= {b"", b" "}
    assert b" " in between
    spellings = {row["id"]: row["spelling"] for row in results.segment_tokens("words").to_pylist()}
    assert any(str(spellings[i]).startswith("##") for i in cut["ids"])


def test_a_long_document_is_left_out_rather_than_cut(measure: Measure) -> None:
    results = run(measure, ["the", "x" * (LONGEST + 1), "y" * LONGEST], texts=3)
    assert [row["document_id"] for row in rows(results)] == ["0", "2"]


def test_values_and_their_digest_do_not_depend_on_what_is_kept(measure: Measure) -> None:
    texts = ["the cat", "a cat"]
    assert run(measure, texts, texts=2).run["digest"] == run(measure, texts).run["digest"]


def test_files_are_sealed_and_documents_hold_no_text(measure: Measure) -> None:
    results = run(measure, ["the cat", "a cat"], texts=2)
    named = [name for name in results.run["files"] if name.startswith("segments/")]
    assert named == ["segments/c.parquet", "segments/tokens/toy.parquet"]
    assert "text" not in results.documents("toy", "c").column_names
    path = results.folder / named[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ResultsError, match=r"segments/c\.parquet: is damaged"):
        load_results(results.folder)


def test_a_copy_without_the_text_can_still_be_read(measure: Measure) -> None:
    results = run(measure, ["the cat"], texts=1)
    (results.folder / "segments" / "c.parquet").unlink()
    assert not load_results(results.folder).has_segments("c")


@pytest.mark.parametrize("how", ["raise", "crash"])
def test_a_text_that_breaks_a_tokenizer_costs_that_tokenizer_that_text(
    toys_known: None, tmp_path: Path, tokbench: Any, how: str
) -> None:
    lines = [json.dumps({"text": text}) for text in ("one two", "a boom", "three")]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = {
        "name": "kept",
        "texts": 3,
        "reports": [],
        "corpora": {"c": {"source": "files", "path": "rows.jsonl", "language": "en"}},
        "tokenizers": {
            "bad": {"type": "toy_faulty", "how": how, "word": "boom"},
            "well": {"type": "utf8_bytes"},
        },
    }
    (tmp_path / "kept.yaml").write_text(json.dumps(config), encoding="utf-8")
    done = tokbench(tmp_path, "run", "kept.yaml", "--jobs", "1")
    assert "Traceback" not in done.stderr
    results = load_results(tmp_path / "runs" / "kept-1")
    assert [row["ids"] is None for row in rows(results, "bad")] == [False, True, False]
    assert rows(results, "bad")[1]["detail"]
    assert all(row["ids"] for row in rows(results, "well"))


def load(tmp_path: Path, **config: Any) -> Any:
    corpora = {"one": {**CORPUS, "languages": ["en", "de"]}, "two": {**CORPUS, "languages": ["fr"]}}
    return load_config({"name": "x", "corpora": corpora, "tokenizers": {"b": {"type": "utf8_bytes"}}, **config})  # fmt: skip


def test_texts_may_be_a_number_for_all_or_for_some_corpora(tmp_path: Path) -> None:
    assert [load(tmp_path, texts=7).run.texts_of(c) for c in ("one", "two")] == [7, 7]
    some = load(tmp_path, texts={"two": 3}).run
    assert [some.texts_of(c) for c in ("one", "two")] == [0, 3]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"texts": {"tow": 3}}, "unknown corpus 'tow'; did you mean 'two'?"),
        ({"texts": -1}, "texts"),
        ({"focus": {"en": 1, "english": 1}}, "no corpus has a language 'english'; did you mean"),
        ({"focus": {"en": 1, "fr": 1}}, "no corpus has all of these languages"),
        ({"focus": {"en": 0}}, "focus.en"),
    ],
)
def test_a_mistake_in_focus_or_texts_is_named(
    tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, **config)
    assert message in str(caught.value)
