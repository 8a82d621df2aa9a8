"""Anchors hold on the real data, and turn red when the protocol is broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.commands import anchors
from tokbench.bench.commands.anchors import AnchorPlugin, Check, outcome_of
from tokbench.suites.anchors import published
from tokbench.suites.anchors.textbook import TextbookMerges
from tokbench.suites.anchors.toksuite import ToksuiteParity
from tokbench.suites.multilingual import suite

SMALL = ("eng_Latn", "mya_Mymr")


@pytest.fixture
def data(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    return data_folder


def moved(anchor: AnchorPlugin, data: Path) -> list[str]:
    outcome = outcome_of("anchor", anchor, data)
    assert outcome.status != "not checked", outcome.reason
    return [check.what for check in outcome.moved]


@pytest.mark.parametrize(
    "anchor",
    [
        published.CookbookCounts(),
        published.KnownIds(),
        published.Splits(),
        published.FloresOverhead(),
        published.RenyiScorer(),
        published.Petrov2023(languages=SMALL),
    ],
    ids=lambda anchor: type(anchor).__name__,
)
def test_the_published_figures_hold(anchor: AnchorPlugin, data: Path) -> None:
    assert moved(anchor, data) == []


def test_the_merges_of_a_whole_book_are_those_that_textbooks_print(data: Path) -> None:
    outcome = outcome_of("textbook_merges", TextbookMerges(), data)
    assert (outcome.status, len(outcome.checks)) == ("holds", 12 + 4)
    assert "tokens at 4,096 entries" in moved(TextbookMerges(ties="smallest"), data)


def test_16_of_20_printed_parities_come_out_to_the_digit_and_four_are_one_off(data: Path) -> None:
    outcome = outcome_of("toksuite_parity", ToksuiteParity(), data)
    assert (outcome.status, len(outcome.checks)) == ("holds", 20)
    off = [c.what for c in outcome.checks if round(c.measured, 3) != c.expected]
    assert off == [f"{name}, tur_Latn" for name in ("gpt2", "gpt-4o", "llama-3.2", "qwen3")]


@pytest.mark.parametrize(
    ("change", "tokenizer"),
    [({"special_tokens": "leave_out"}, "mbert"), ({"mean_of_ratios": False}, "gpt2")],
)
def test_another_convention_moves_the_parities(
    change: dict[str, Any], tokenizer: str, data: Path
) -> None:
    found = moved(ToksuiteParity.model_validate(change), data)
    assert f"{tokenizer}, ita_Latn" in found


def test_all_49_languages_have_their_published_lengths(data: Path) -> None:
    outcome = outcome_of("petrov2023", published.Petrov2023(), data)
    assert (outcome.status, len(outcome.checks)) == ("holds", 49 * 4)


@pytest.mark.parametrize("change", [{"rows": "\n"}, {"end_of_split": ""}, {"splits": "\n\n"}])
def test_another_join_rule_moves_the_lengths(change: dict[str, str], data: Path) -> None:
    assert moved(published.Petrov2023(languages=SMALL, **change), data)


def test_an_added_bos_moves_counts_and_ids(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.tokenizers_impl.adapters.ranks import RankTokenizer

    plain = RankTokenizer.encode_batch

    def with_bos(self: Any, texts: Any) -> Any:
        return [[0, *ids] for ids in plain(self, texts)]

    monkeypatch.setattr(RankTokenizer, "encode_batch", with_bos)
    assert len(moved(published.Petrov2023(languages=SMALL), data)) == 4
    assert len(moved(published.KnownIds(), data)) == 5
    assert moved(published.FloresOverhead(), data)


def test_a_mean_in_place_of_totals_moves_the_overhead(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = suite.pooled_ratio

    def mean_of_ratios(top: Any, bottom: Any, column: str, tallies: Any) -> Any:
        _, interval, n = totals(top, bottom, column, tallies)
        above, below = top.tally.documents[column], bottom.tally.documents[column]
        return float((above / below).mean()), interval, n

    monkeypatch.setattr(suite, "pooled_ratio", mean_of_ratios)
    assert len(moved(published.FloresOverhead(), data)) == 6


def test_missing_data_is_said_and_is_no_success(tmp_path: Path) -> None:
    outcome = outcome_of("petrov2023", published.Petrov2023(), tmp_path)
    assert outcome.status == "not checked"
    assert "has no corpora/flores200" in str(outcome.reason)
    assert anchors.exit_code([outcome]) == 3


def test_a_moved_figure_is_shown_with_what_was_published() -> None:
    check = Check(what="German", expected=54.4, measured=55.0, tolerance=0.05)
    outcome = anchors.AnchorOutcome(
        name="x", citation="c", protocol="p", divergences="none", status="moved", checks=(check,)
    )
    assert "German: published 54.4, measured 55.0 (tolerance 0.05)" in anchors.render([outcome])
    assert anchors.exit_code([outcome]) == 1


def test_ranks_that_merging_does_not_reach(data: Path) -> None:
    outcome = outcome_of("unreached_ranks", published.UnreachedRanks(), data)
    measured = {check.what: check.measured for check in outcome.checks}
    assert (measured["Llama 3, unreached"], measured["Llama 3, ranks"]) == (588, 128_000)
    assert outcome.status == "holds"
