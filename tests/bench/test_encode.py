"""From ids to counts: what libraries return, what they may not return, what is counted of it."""

from __future__ import annotations

import array
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tokbench.bench.corpus.slices import Slice, SliceBatch
from tokbench.bench.count.encode import Counter, hash_documents, spells_special
from tokbench.bench.count.encoded import flatten
from tokbench.bench.count.tally import Tally
from tokbench.bench.environment import Stopwatch
from tokbench.bench.errors import is_library_failure
from tokbench.bench.model import Ids, Vocabulary

BatchOf = Callable[..., SliceBatch]
Count = Callable[..., Tally]


@pytest.fixture
def batch_of(make: Callable[..., Slice], tmp_path: Path) -> BatchOf:
    def batch(*texts: str) -> SliceBatch:
        rows = [json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts]
        (tmp_path / "t.jsonl").write_text("".join(rows), encoding="utf-8")
        [only] = make("en", source="files", path="t.jsonl").batches()
        return only

    return batch


@pytest.fixture
def toy(toys: None) -> Any:
    import tokbench_toys

    return tokbench_toys


@pytest.fixture
def count(batch_of: BatchOf) -> Count:
    def count_texts(tokenizer: Any, *texts: str, keep_ids: bool = False) -> Tally:
        counter = Counter(tokenizer=tokenizer, watch=Stopwatch(), keep_ids=keep_ids)
        return counter.count(batch_of(*texts))

    return count_texts


@pytest.mark.parametrize(
    "returned",
    [
        [[1, 2], [], [300_000]],
        [(1, 2), (), (300_000,)],
        [np.array([1, 2]), np.array([], np.int64), np.array([300_000])],
        [np.array([1, 2], np.uint32), np.array([], np.uint32), np.array([300_000], np.uint32)],
        [np.array(ids, np.uint32)[::2] for ids in ([1, 0, 2, 0], [], [300_000, 0])],
        [array.array("I", [1, 2]), array.array("I"), array.array("I", [300_000])],
        [[1, 2], np.array([], np.int32), (300_000,)],
    ],
)
def test_ids_are_taken_from_whatever_a_library_returns(returned: Sequence[Ids]) -> None:
    encoded = flatten(returned)
    assert encoded.ids.dtype == np.uint32
    assert encoded.ids.tolist() == [1, 2, 300_000]
    assert encoded.offsets.tolist() == [0, 2, 2, 3]
    assert encoded.lengths.tolist() == [2, 0, 1]


def test_no_documents_have_no_ids() -> None:
    assert flatten([]).offsets.tolist() == [0]
    assert flatten([[], []]).offsets.tolist() == [0, 0, 0]


def test_the_hash_of_a_document_is_xxh3_of_its_ids() -> None:
    first, empty = hash_documents(flatten([[1, 258], []])).tolist()
    data = bytes([1, 0, 0, 0, 2, 1, 0, 0])
    assert first == xxhash.xxh3_64_intdigest(data)
    assert empty == 0x2D06800538D394C2  # of nothing, as the reference implementation has it


def test_spellings_of_special_tokens_are_counted_by_document(batch_of: BatchOf) -> None:
    batch = batch_of("a <s> b <s>", "<", "s>", "<s", "<|é|>", "plain")
    assert spells_special(batch, {"<s>", "<|é|>", ""}).tolist() == [1, 0, 0, 0, 1, 0]
    assert spells_special(batch, set()).tolist() == [0] * 6


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    documents=st.lists(st.text("<é|ab", max_size=8), min_size=1, max_size=5),
    spellings=st.sets(st.text("<é|ab", max_size=3), max_size=5),
)
def test_spellings_are_found_where_the_text_has_them(
    batch_of: BatchOf, documents: list[str], spellings: set[str]
) -> None:
    wanted = [int(any(s and s in document for s in spellings)) for document in documents]
    assert spells_special(batch_of(*documents), spellings).tolist() == wanted


def test_a_spelling_across_two_documents_is_none(batch_of: BatchOf) -> None:
    assert spells_special(batch_of("a <", "s> b"), {"<s>"}).tolist() == [0, 0]


def test_counts_of_a_byte_tokenizer_are_closed_forms(toy: Any, count: Count) -> None:
    tally = count(toy.Greedy(), "abc", "é日🙂", "")
    assert tally.documents["bytes"].tolist() == [3, 9, 0]
    assert tally.documents["characters"].tolist() == [3, 3, 0]
    assert tally.documents["tokens"].tolist() == [3, 9, 0]
    assert tally.documents["byte_fallback"].tolist() == [3, 9, 0]
    assert tally.documents["partial_character"].tolist() == [0, 9, 0]
    assert tally.documents["unknown"].tolist() == [0, 0, 0]
    assert tally.documents["byte_sum_breach"].tolist() == [0, 0, 0]


def test_unknown_tokens_are_counted_and_their_bytes_are_lost(toy: Any, count: Count) -> None:
    tally = count(toy.Greedy(pieces=("cat", " "), unknown=True), "cat 日本 cat")
    assert tally.documents["unknown"].tolist() == [2]
    assert tally.documents["tokens"].tolist() == [6]  # cat, space, two unknown, space, cat
    assert tally.documents["lost_unknown"].tolist() == [6]
    assert sum(tally.total(f"lost_{c}") for c in ("marks", "case", "compatibility", "other")) == 0


def test_ids_are_kept_on_demand_only(toy: Any, count: Count) -> None:
    assert count(toy.Greedy(), "ab", "").ids is None
    kept = count(toy.Greedy(), "ab", "", keep_ids=True).ids
    assert kept is not None
    assert [ids.tolist() for ids in kept] == [[97, 98], []]


def test_a_space_that_the_model_adds_is_not_counted_as_text(toy: Any, count: Count) -> None:
    tally = count(
        toy.Greedy(pieces=(" the", " cat"), prefix_space=True), "the cat", "", " cat", "x"
    )
    assert tally.documents["byte_sum_breach"].tolist() == [0, 0, 0, 0]
    assert tally.documents["tokens"].tolist() == [2, 1, 2, 2]
    assert tally.documents["single_token_words"].tolist() == [2, 0, 1, 1]


@dataclass(frozen=True, kw_only=True)
class Lying:
    """Says that it is byte-exact, and has a vocabulary that says otherwise."""

    inner: Any
    vocabulary: Vocabulary
    byte_exact = True
    prefix_space = False

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        return self.inner.encode_batch(texts)  # type: ignore[no-any-return]

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        return self.inner.decode_batch(ids)  # type: ignore[no-any-return]


class LyingWithOffsets(Lying):
    def encode_batch_with_offsets(self, texts: Sequence[str]) -> Any:
        return self.inner.encode_batch_with_offsets(texts)


@pytest.mark.parametrize("made", [Lying, LyingWithOffsets])
def test_a_breach_of_the_sum_of_bytes_is_counted_and_witnessed(
    toy: Any, count: Count, made: type[Lying]
) -> None:
    inner = toy.Greedy(pieces=("the", " cat", " sat"))
    contents = list(inner.vocabulary.token_bytes)
    contents[257] = b"theeeeee"
    lying = made(inner=inner, vocabulary=Vocabulary(token_bytes=contents))
    tally = count(lying, "cat", "the cat", "a cat sat", "the")
    offsets = made is LyingWithOffsets
    assert tally.documents["byte_sum_breach"].tolist() == [0, 1, 0, 1]
    # words of a breaching document are placed by offsets where there are any, else left out;
    # "cat" is three bytes, "a" one, " cat" and " sat" one piece each
    assert tally.documents["words"].tolist() == ([1, 2, 3, 1] if offsets else [1, 0, 3, 0])
    assert tally.documents["word_tokens"].tolist() == ([3, 2, 3, 1] if offsets else [3, 0, 3, 0])
    [witness] = [f for f in tally.findings if f.data.get("class") == "byte_sum"]
    assert witness.document_id == "1"
    assert witness.message == "token bytes add up to 12, the text has 7 bytes"


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("raise", "ValueError: cannot go on"),
        ("panic", "PanicException: the regex engine ran out of stack"),
        ("too_few", "TokenizerError: it returned 0 lists of ids for 1 documents"),
        ("beyond", "TokenizerError: it returned id 999, but its vocabulary ends at 256"),
    ],
)
def test_a_document_that_fails_is_left_out_and_the_others_are_counted(
    toy: Any, count: Count, how: str, message: str
) -> None:
    texts = ["a", "b", "boom", "c", "d boom", "e", "f"]
    tally = count(toy.Failing(how=how), *texts)
    assert tally.failed_rows == (2, 4)
    assert tally.rows.tolist() == [0, 1, 3, 5, 6]
    assert tally.total("bytes") == 5
    assert next(f.message for f in tally.findings).startswith(message)


def test_a_decoder_that_fails_is_a_failure_of_the_document(toy: Any, count: Count) -> None:
    assert count(toy.Failing(where="decode"), "a", "boom").failed_rows == (1,)


def test_an_interrupt_is_no_failure_of_a_document(toy: Any, count: Count) -> None:
    with pytest.raises(KeyboardInterrupt):
        count(toy.Failing(how="interrupt"), "a", "boom")


def test_what_counts_as_a_failure_of_a_library(toy: Any) -> None:
    assert is_library_failure(ValueError())
    assert is_library_failure(toy.PanicException())
    assert is_library_failure(RecursionError())
    for ours in (KeyboardInterrupt(), SystemExit(), MemoryError(), GeneratorExit()):
        assert not is_library_failure(ours)
