"""Which calls over which documents: whole documents, none at first sight twice."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest

from tokbench.bench.timing.cases import Case, Grid
from tokbench.bench.timing.contest import Contest
from tokbench.suites.throughput.suite import Throughput

TEXTS = {
    ("web", "en"): [f"english {n} " + "x" * n for n in range(60)],
    ("web", "de"): [f"deutsch {n} " + "y" * n for n in range(60)],
    ("code", "python"): [f"print({n})" for n in range(30)],
}


def grid(corpora: dict[tuple[str, str], list[str]] | None = None, /, **options: Any) -> Grid:
    contest = Contest(tokenizers={}, texts=corpora or TEXTS, seed=0, progress=lambda text: None)
    return Throughput(**options).cases(contest)


def documents(case: Case) -> list[str]:
    return list(chain.from_iterable(case.blocks))


def ids(cases: Iterable[Case]) -> list[str]:
    return [case.id for case in cases]


def test_by_default_each_corpus_is_encoded_and_decoded_in_one_batch() -> None:
    found = grid()
    assert ids(found.cases) == [
        "web-encode-batch",
        "web-decode-batch",
        "code-encode-batch",
        "code-decode-batch",
    ]
    assert len(documents(found.cases[0])) == 120
    assert not found.left_out


def test_languages_of_a_corpus_take_turns_so_that_a_cut_holds_all_of_them() -> None:
    case = grid(max_bytes=60).cases[0]
    assert documents(case)[:4] == ["english 0 ", "deutsch 0 ", "english 1 x", "deutsch 1 y"]
    assert sum(len(text) for text in documents(case)[:-1]) < 60 <= sum(map(len, documents(case)))


def test_by_language_each_is_a_case_of_its_own() -> None:
    found = grid(by="language", phases=["encode"], languages=["en", "python"])
    assert ids(found.cases) == ["web-en-encode-batch", "code-python-encode-batch"]


def test_calls_batch_sizes_and_threads_make_a_grid() -> None:
    found = grid(
        phases=["encode"],
        calls=["single", "batch"],
        batch_sizes=[None, 8],
        threads=[1, 2],
        languages=["python"],
    )
    assert ids(found.cases) == [
        "code-encode-single",
        "code-encode-batch",
        "code-encode-batch-2_threads",
        "code-encode-batch_8",
        "code-encode-batch_8-2_threads",
    ]


def test_buckets_hold_whole_documents_of_their_lengths_and_an_empty_one_is_told() -> None:
    found = grid(
        {("web", "en"): ["a" * n for n in (1, 5, 6, 10, 11, 40)]},
        phases=["encode"],
        lengths=[5, 10, 50],
    )
    assert {c.length: [len(text) for text in documents(c)] for c in found.cases} == {
        "to_5": [1, 5],
        "6_to_10": [6, 10],
        "11_to_50": [11, 40],
    }
    [empty] = found.left_out
    assert (empty.case.length, empty.reason) == ("over_50", "no document is of this length")


def test_no_document_is_seen_twice_where_it_is_seen_for_the_first_time() -> None:
    found = grid(
        phases=["encode", "decode", "latency"],
        calls=["single", "batch"],
        texts=["repeated", "first_sight"],
        rounds=5,
        warm_ups=2,
        languages=["en", "de"],
    )
    fresh = [case for case in found.cases if case.sight == "first_sight"]
    assert ids(fresh) == ["web-encode-single-first_sight", "web-encode-batch-first_sight"]
    assert [len(case.blocks) for case in fresh] == [7, 7]
    unseen = [text for case in fresh for text in documents(case)]
    assert len(unseen) == len(set(unseen))
    repeated = {t for case in found.cases if case.sight == "repeated" for t in documents(case)}
    assert repeated
    assert not repeated & set(unseen)
    assert {case.phase for case in found.cases} == {"encode", "decode", "latency"}


def test_a_text_that_two_corpora_share_is_at_first_sight_in_one_of_them_only() -> None:
    shared = [f"document {n}" for n in range(200)]
    found = grid(
        {("a", "en"): shared, ("b", "en"): [*shared, *(f"other {n}" for n in range(200))]},
        phases=["encode"],
        texts=["first_sight"],
        rounds=5,
    )
    first, second = (set(documents(case)) for case in found.cases)
    assert first
    assert second
    assert not first & second


def test_too_little_text_for_first_sight_is_left_out_with_the_reason() -> None:
    found = grid({("web", "en"): ["a", "b", "c"]}, phases=["encode"], texts=["first_sight"])
    assert not found.cases
    [one] = found.left_out
    assert one.reason == "too few documents: each of 13 rounds needs some that no other has"


def test_latency_is_timed_on_short_texts_by_single_calls() -> None:
    found = grid(phases=["latency"], latency_bytes=20, latency_texts=5, languages=["en"])
    [case] = found.cases
    assert (case.id, case.call, len(documents(case))) == ("web-to_20-latency", "single", 5)
    assert max(len(text.encode()) for text in documents(case)) <= 20


@pytest.mark.parametrize("options", [{"lengths": [5, 5]}, {"threads": [0]}, {"batch_sizes": [0]}])
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="lengths must rise|must be 1 or more"):
        Throughput(**options)
