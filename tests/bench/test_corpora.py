"""What an entry may say."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tokbench.bench.config.corpora import canonical


def problem(entry, **options) -> str:
    with pytest.raises(ValidationError) as caught:
        entry(**options)
    return "; ".join(f"{error['loc']}: {error['msg']}" for error in caught.value.errors())


FILES = {"source": "files", "path": "{language}.txt"}
DATASET = {"source": "huggingface", "path": "somebody/something", "config": "{language}"}


def test_languages_are_a_list_or_a_map(entry) -> None:
    listed = entry(**DATASET, languages=["en", "no"])
    mapped = entry(**DATASET, languages={"en": "english", "xy": {"config": "b", "tag": "nn"}})
    assert [listed.config_of(key) for key in listed.options()] == ["en", "no"]
    assert [mapped.config_of(key) for key in mapped.options()] == ["english", "b"]
    assert mapped.resolved()["xy"].tag == "nn"


def test_text_in_a_map_of_files_is_a_file(entry) -> None:
    files = entry(source="files", languages={"en": "a.txt", "fr": {"file": "b/*.txt"}})
    assert files.paths_of("en") == ("a.txt",)
    assert files.paths_of("fr") == ("b/*.txt",)


@pytest.mark.parametrize("value", [False, 42, 1.1, None])
def test_c7_what_should_be_text_is_never_a_boolean_or_a_number(entry, value) -> None:
    assert "write it in quotes" in problem(entry, **FILES, languages=["en", value])
    if value is not None:
        assert "write it in quotes" in problem(entry, **DATASET, language="en", revision=value)


def test_a_language_needs_to_be_named(entry) -> None:
    assert "`language` is missing" in problem(entry, **FILES)
    assert "not both" in problem(entry, **FILES, language="en", languages=["fr"])
    assert "twice" in problem(entry, **FILES, languages=["fr", "fr"])
    assert "are the same language" in problem(entry, **FILES, languages=["fr", "fra"])
    assert "not a language code" in problem(entry, **FILES, languages=["en", "on"])


def test_all_languages_reading_the_same_rows_is_refused(entry) -> None:
    same = {"source": "files", "path": "a.txt", "languages": ["en", "fr"]}
    assert "same files" in problem(entry, **same)
    same = {"source": "huggingface", "path": "a/b", "config": "x", "languages": ["en", "fr"]}
    assert "same rows" in problem(entry, **same)


def test_a_parallel_corpus_needs_its_pivot(entry) -> None:
    assert "requires a `pivot`" in problem(entry, **FILES, languages=["en", "fr"], parallel=True)
    wrong = {"languages": ["eng", "fr"], "parallel": True, "pivot": "enq"}
    assert "did you mean 'eng'" in problem(entry, **FILES, **wrong)
    assert "parallel: true" in problem(entry, **FILES, language="en", pivot="en")


def test_limits_and_samples_must_agree(entry) -> None:
    one = {**FILES, "language": "en"}
    assert entry(**one, limit={"rows": 5}, sample="reservoir").sample.seed == 0
    assert "requires a `limit`" in problem(entry, **one, sample="head")
    assert "takes every row" in problem(entry, **one, sample="all", limit={"rows": 5})
    assert "requires rows or bytes" in problem(entry, **one, limit={})
    assert "did you mean 'reservoir'" in problem(
        entry, **one, limit={"rows": 1}, sample="reservior"
    )


def test_bytes_of_a_parallel_corpus_cannot_be_limited(entry) -> None:
    parallel = {"languages": ["en", "fr"], "parallel": True, "pivot": "en"}
    assert "limit its rows" in problem(entry, **FILES, **parallel, limit={"bytes": 1000})


def test_c1_trust_remote_code_is_answered(entry) -> None:
    told = problem(entry, **DATASET, language="en", trust_remote_code=True)
    assert "loading script" in told
    assert "Parquet" in told


def test_part_of_a_split_is_asked_for_with_a_limit(entry) -> None:
    assert "use `limit`" in problem(entry, **DATASET, language="en", split="train[:10%]")


def test_an_entry_is_the_same_however_it_is_written(entry) -> None:
    one = entry(**DATASET, languages=["en", "fr"])
    other = entry(**DATASET, languages={"en": {}}, missing="skip")
    assert canonical(one, "en") == canonical(other, "en")


def test_bundled_text_has_fixed_columns(entry) -> None:
    told = problem(entry, source="builtin", dataset="sentences", text="body")
    assert "fixed columns" in told
    assert "not kind" in problem(entry, source="builtin", dataset="programs", kind="natural")
