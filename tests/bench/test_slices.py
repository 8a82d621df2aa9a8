"""Slices: found again, checked, sampled, aligned."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tokbench.bench.corpus.slice_build import BATCH_BYTES, BATCH_ROWS
from tokbench.bench.corpus.slices import Slice, SliceMeta, check_parallel, open_slice, slices_folder
from tokbench.bench.errors import CorpusError, Refusal


def jsonl(path: Path, rows: dict[str, str] | list[dict[str, object]]) -> None:
    rows = (
        [{"id": id, "text": text} for id, text in rows.items()] if isinstance(rows, dict) else rows
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def texts(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def built_files() -> list[str]:
    return sorted(path.name for path in slices_folder().iterdir())


FILE = {"source": "files", "path": "a.jsonl", "id": "id"}


@pytest.fixture
def small(tmp_path: Path) -> None:
    jsonl(tmp_path / "a.jsonl", {"x": "one  été!", "y": "", "z": "два 3"})


# what a slice holds


def test_a_slice_has_totals_and_columns(make, small) -> None:
    one = make(**FILE)
    assert (one.meta.documents, one.meta.bytes, one.meta.characters, one.meta.words) == (
        3,
        19,
        14,
        4,
    )
    assert one.column("bytes").tolist() == [11, 0, 8]
    assert one.column("characters").tolist() == [9, 0, 5]
    assert one.document_ids() == ["x", "y", "z"]
    assert one.clusters() is None
    assert one.word_counts().tolist() == [2, 0, 2]
    assert (one.meta.tag, one.meta.script, one.meta.kind) == ("en", "Latn", "natural")


def test_a_batch_is_one_buffer_with_positions(make, small) -> None:
    (batch,) = make(**FILE).batches()
    data = batch.buffer.tobytes()
    assert data == "one  été!два 3".encode()
    assert batch.offsets.tolist() == [0, 11, 11, 19]
    spans = zip(batch.word_leads, batch.word_starts, batch.word_ends, strict=True)
    assert [(data[a:b].decode(), data[b:c].decode()) for a, b, c in spans] == [
        ("", "one"), ("  ", "été"), ("", "два"), (" ", "3"),
    ]  # fmt: skip
    assert batch.word_offsets.tolist() == [0, 2, 2, 4]
    assert not batch.buffer.flags.owndata


def test_a_part_of_a_batch_is_a_batch(make, small) -> None:
    (batch,) = make(**FILE).batches()
    part = batch.part(1, None)
    assert (part.first_row, part.ids, part.texts) == (1, ["y", "z"], ["", "два 3"])
    assert part.buffer.tobytes().decode() == "два 3"
    assert part.offsets.tolist() == [0, 0, 8]
    assert part.word_starts.tolist() == [0, 7]
    assert part.word_offsets.tolist() == [0, 0, 2]


def test_the_content_hash_is_over_ids_and_texts(make, small) -> None:
    digest = hashlib.sha256()
    for id, text in (("x", "one  été!"), ("y", ""), ("z", "два 3")):
        for value in (id.encode(), text.encode()):
            digest.update(str(len(value)).encode() + b":" + value)
    assert make(**FILE).meta.sha256 == digest.hexdigest()


def test_words_are_null_with_a_reason_where_letters_have_none(make, tmp_path) -> None:
    jsonl(tmp_path / "a.jsonl", {"1": "今天天气很好", "2": "ok"})
    one = make(**FILE)  # labelled English
    assert (one.meta.words, one.meta.segmenter, one.word_counts()) == (None, None, None)
    assert "Han" in one.meta.words_reason
    (batch,) = one.batches()
    assert (batch.word_starts, batch.word_offsets) == (None, None)
    assert batch.part(0, 1).word_starts is None


def test_batches_are_about_a_mebibyte(make, tmp_path) -> None:
    sizes = [400_000, 400_000, 400_000, 2_000_000, *[1] * 5000]
    jsonl(tmp_path / "a.jsonl", {str(i): "a" * size for i, size in enumerate(sizes)})
    batches = list(make(**FILE).batches())
    assert [len(batch.ids) for batch in batches] == [2, 1, 1, 4096, 904]
    assert all(len(b.buffer) <= BATCH_BYTES or len(b.ids) == 1 for b in batches)
    assert max(len(batch.ids) for batch in batches) == BATCH_ROWS
    assert [batch.first_row for batch in batches] == [0, 2, 3, 4, 4100]


def test_metadata_names_no_place_and_no_time(make, small, tmp_path) -> None:
    text = make(**FILE).meta.to_json()
    assert str(tmp_path) not in text
    assert str(Path.home()) not in text
    assert SliceMeta.from_json(text).to_json() == text


def test_clusters_are_kept_and_a_document_without_one_stands_alone(make, tmp_path) -> None:
    rows = [{"id": i, "text": "a", "book": book} for i, book in enumerate(["x", None, "x", 3])]
    jsonl(tmp_path / "a.jsonl", rows)
    assert make(**FILE, cluster="book").clusters() == ["x", "document 1", "x", "3"]


# found again, built again


def test_a_slice_is_found_again_without_reading_the_rows(make, small, monkeypatch) -> None:
    first = make(**FILE)
    monkeypatch.setattr("tokbench.bench.corpus.read_files.read", None)
    assert make(**FILE) == first
    assert open_slice(first.path) == first
    assert built_files() == [first.path.name]


def test_the_same_input_gives_the_same_bytes(make, small) -> None:
    path = make(**FILE).path
    before = path.read_bytes()
    path.unlink()
    assert make(**FILE).path.read_bytes() == before


def test_a_changed_file_gives_another_slice(make, small, tmp_path) -> None:
    first = make(**FILE)
    jsonl(tmp_path / "a.jsonl", {"x": "changed text"})
    os.utime(tmp_path / "a.jsonl", ns=(1, 1))
    second = make(**FILE)
    assert second.path != first.path
    assert second.meta.sha256 != first.meta.sha256


def test_a_changed_entry_gives_another_slice(make, small) -> None:
    assert make(**FILE).path != make(**FILE, limit={"rows": 2}).path


@pytest.mark.parametrize("what", ["text", "position", "cut", "empty"])
def test_a_damaged_slice_is_built_again(make, small, what) -> None:
    one = make(**FILE)
    whole = one.path.read_bytes()
    damaged = {
        "text": whole.replace("été".encode(), b"ete__"),
        "position": whole.replace(bytes([0, 3, 0x22, 5]), bytes([0, 3, 0x21, 5])),
        "cut": whole[: len(whole) // 2],
        "empty": b"",
    }[what]  # fmt: skip
    assert damaged != whole
    one.path.write_bytes(damaged)
    assert make(**FILE).path.read_bytes() == whole


def test_nothing_is_left_behind_when_building_fails(make, tmp_path) -> None:
    jsonl(tmp_path / "a.jsonl", [{"id": "1", "text": "a"}, {"id": "1", "text": "b"}])
    with pytest.raises(CorpusError, match="id '1' occurs twice"):
        make(**FILE)
    assert built_files() == []


def test_slices_lie_in_the_cache_folder_that_was_chosen(make, small, cache) -> None:
    assert make(**FILE).path.is_relative_to(cache)


def test_a_cache_that_cannot_be_written_says_what_to_do(make, small, tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("TOKBENCH_CACHE", str(tmp_path / "file"))
    with pytest.raises(CorpusError, match="set TOKBENCH_CACHE to a folder with room"):
        make(**FILE)


# limits, samples, joins


def test_head_takes_whole_documents_within_the_limit(make, tmp_path) -> None:
    jsonl(tmp_path / "a.jsonl", {str(i): "abcd" for i in range(10)})
    assert make(**FILE, limit={"rows": 3}).document_ids() == ["0", "1", "2"]
    one = make(**FILE, limit={"bytes": 11})
    assert (one.meta.bytes, one.meta.rows_asked) == (8, "head, at most 11 bytes")


def test_a_reservoir_keeps_the_same_ids_in_every_language_in_corpus_order(make, tmp_path) -> None:
    ids = [str(i) for i in range(100)]
    jsonl(tmp_path / "en.jsonl", {id: f"text {id}" for id in ids})
    jsonl(tmp_path / "fr.jsonl", {id: f"texte {id}" for id in reversed(ids)})
    options = {
        "source": "files", "path": "{language}.jsonl", "id": "id", "languages": ["en", "fr"],
        "parallel": True, "pivot": "en", "limit": {"rows": 10},
        "sample": {"method": "reservoir", "seed": 1},
    }  # fmt: skip
    en, fr = (make(key, **options) for key in ("en", "fr"))
    assert en.document_ids() == sorted(en.document_ids(), key=int)
    assert fr.document_ids() == en.document_ids()[::-1]
    assert texts(en) == [f"text {id}" for id in en.document_ids()]
    assert en.meta.rows_asked == "reservoir, seed 1, at most 10 rows"
    assert en.meta.rows_seen == 100


def test_joined_rows_are_one_document(make, tmp_path) -> None:
    jsonl(tmp_path / "a.jsonl", {"1": "a", "2": "b"})
    jsonl(tmp_path / "b.jsonl", {"1": "c"})
    join = {"rows": "-", "end_of_split": ";", "splits": "|"}
    one = make(source="files", path=["a.jsonl", "b.jsonl"], id="id", join=join)
    assert texts(one) == ["a-b;|c;"]
    assert (one.meta.rows_seen, one.meta.documents, one.meta.join) == (3, 1, join)


# parallel corpora


def languages_of(
    make, tmp_path: Path, rows: dict[str, dict[str, str]], **more: object
) -> list[Slice]:
    for key, texts_ in rows.items():
        jsonl(tmp_path / f"{key}.jsonl", texts_)
    options = {"source": "files", "path": "{language}.jsonl", "id": "id", "languages": list(rows),
               "parallel": True, "pivot": next(iter(rows)), **more}  # fmt: skip
    return [make(key, **options) for key in rows]


def test_languages_that_agree_are_left_as_they_are(make, tmp_path) -> None:
    slices = languages_of(make, tmp_path, {"en": {"1": "a", "2": "b"}, "fr": {"1": "c", "2": "d"}})
    assert list(check_parallel(slices).values()) == slices


def test_another_order_is_put_into_the_pivots(make, tmp_path) -> None:
    slices = languages_of(
        make, tmp_path, {"en": {"1": "a", "2": "b"}, "fr": {"2": "d", "1": "c c"}}
    )
    aligned = check_parallel(slices)
    assert texts(aligned["fr"]) == ["c c", "d"]
    assert aligned["fr"].word_counts().tolist() == [2, 1]


MISALIGNED = {"en": {"1": "a", "2": "b", "3": "c"}, "fr": {"1": "d", "3": "e", "4": "f"}}


def test_ids_that_differ_are_refused_by_name(make, tmp_path) -> None:
    slices = languages_of(make, tmp_path, MISALIGNED)
    message = r"'mine': .* pivot en \(3 ids\): fr \(3 ids\) lacks '2' and also has '4'"
    with pytest.raises(Refusal, match=message):
        check_parallel(slices)


def test_ids_that_differ_are_intersected_on_demand(make, tmp_path) -> None:
    slices = languages_of(make, tmp_path, MISALIGNED, missing_ids="intersect")
    aligned = check_parallel(slices)
    assert [one.document_ids() for one in aligned.values()] == [["1", "3"]] * 2
    assert texts(aligned["fr"]) == ["d", "e"]
    assert aligned["fr"].meta.documents == 2
    assert aligned["fr"].meta.notes == ("cut to the 2 of 3 ids that all languages have",)
    assert aligned["fr"].meta.sha256 != slices[1].meta.sha256
    assert check_parallel(slices) == aligned


def test_languages_without_a_shared_id_are_refused(make, tmp_path) -> None:
    slices = languages_of(
        make, tmp_path, {"en": {"1": "a"}, "fr": {"2": "b"}}, missing_ids="intersect"
    )
    with pytest.raises(Refusal, match="no id occurs in all of en, fr"):
        check_parallel(slices)


def test_real_parallel_text_is_parallel(make, data_folder) -> None:
    keys = ["eng_Latn", "fra_Latn", "tha_Thai"]
    options = {"source": "files", "path": "corpora/flores200/{language}.parquet", "id": "id",
               "languages": keys, "parallel": True, "pivot": "eng_Latn"}  # fmt: skip
    slices = [make(key, folder=data_folder, **options) for key in keys]
    assert list(check_parallel(slices).values()) == slices
    assert [one.meta.documents for one in slices] == [1012] * 3
