"""The search for the first version that differs, on made-up outcomes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.bench.commands.bisect.search import Search, VersionOutcome, search


@settings(deadline=None)
@given(st.integers(2, 60), st.data())
def test_the_first_changed_version_is_found_in_about_the_logarithm_of_tries(
    n: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, n - 1))
    tried: list[str] = []

    def outcome(version: str) -> VersionOutcome:
        tried.append(version)
        return "changed" if int(version) >= first else "same"

    found = search([str(i) for i in range(n)], outcome)
    assert found == Search(last_same=str(first - 1), first=str(first))
    assert len(tried) == len(set(tried)) <= 2 + math.ceil(math.log2(n))


@settings(deadline=None)
@given(st.integers(3, 30), st.data())
def test_skipped_versions_are_named_where_the_change_may_be_in_them(
    n: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, n - 1))
    skipped = data.draw(st.sets(st.integers(1, n - 2)))

    def outcome(version: str) -> VersionOutcome:
        if int(version) in skipped:
            return "skipped"
        return "changed" if int(version) >= first else "same"

    found = search([str(i) for i in range(n)], outcome)
    low = max(i for i in range(first) if i not in skipped)
    high = min(i for i in range(first, n) if i not in skipped)
    unknown = tuple(str(i) for i in range(low + 1, high))
    assert found == Search(last_same=str(low), first=str(high), unknown=unknown)


@pytest.mark.parametrize("last", ["same", "skipped"])
def test_nothing_is_searched_where_the_last_version_has_not_changed(last: VersionOutcome) -> None:
    tried: list[str] = []

    def outcome(version: str) -> VersionOutcome:
        tried.append(version)
        return last

    assert search(["1", "2", "3"], outcome) == Search(last_same="1", first=None)
    assert tried == ["3"]
