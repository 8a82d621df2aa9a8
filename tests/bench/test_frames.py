"""Results as frames: one metric as a table, or every value in a row of its own."""

from __future__ import annotations

import re

import pytest

from tokbench.bench.errors import UsageError
from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome


@pytest.fixture
def results(good_run: RunOutcome) -> Results:
    return good_run.results


def test_a_metric_is_languages_by_tokenizers_in_the_order_of_the_config(results: Results) -> None:
    table = results.table("tokens")
    assert list(table.index) == ["en", "de", "ja"]
    assert list(table.columns) == ["bytes", "pieces", "lossy"]
    assert table.loc["en", "bytes"] == 11 + 16 + 7  # ASCII: one byte a letter


def test_a_value_with_several_parts_has_a_column_for_each(results: Results) -> None:
    table = results.table("round_trip")
    assert table.columns.names == ["tokenizer", "class"]
    assert list(table["bytes"].columns) == ["exact", "lossy", "normalized"]
    assert table["bytes"].sum(axis=1).tolist() == [1, 1, 1]
    exact = results.table("round_trip", class_="exact")
    assert exact["bytes"].equals(table["bytes", "exact"].rename("bytes"))


def test_the_whole_is_named_all_and_chosen_by_none(results: Results) -> None:
    by_cause = results.table("lost_byte_share")["lossy"]
    assert by_cause.columns[0] == "all"
    assert results.table("lost_byte_share", cause=None)["lossy"].equals(
        by_cause["all"].rename("lossy")
    )


def test_a_metric_of_a_whole_corpus_has_a_row_for_the_corpus(results: Results) -> None:
    table = results.table("gini", script=None)
    assert (list(table.index), table.columns[0]) == (["texts"], "bytes")


def test_several_corpora_are_a_level_of_the_rows(broken_run: RunOutcome) -> None:
    table = broken_run.results.table("tokens")
    assert table.index.names == ["corpus", "language"]
    assert table.loc[("boom", "en"), "bytes"] == 3 + 8 + 3
    alone = broken_run.results.table("tokens", corpus="boom")
    assert (list(alone.index), alone.loc["en", "bytes"]) == (["en"], 14)


def test_any_column_may_fill_the_table(broken_run: RunOutcome) -> None:
    status = broken_run.results.table("tokens", corpus="boom", column="status")
    assert (status.loc["en", "bytes"], status.loc["en", "missing"]) == ("ok", "failed")
    assert broken_run.results.table("tokens", corpus="boom").loc["en"].isna()["missing"]


def test_rows_have_a_column_for_each_parameter(results: Results) -> None:
    rows = results.long("round_trip")
    assert "params" not in rows
    assert set(rows["params.class"]) == {"exact", "normalized", "lossy"}
    assert str(rows["params.documents"].dtype) == "Int64"
    pivoted = rows.pivot(index="language", columns=["tokenizer", "params.class"], values="value")
    assert pivoted.loc["en", ("bytes", "exact")] == 1
    assert len(results.long()) == len(results.to_pandas())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "token"}, "has no metric 'token'; did you mean 'tokens'?"),
        ({"metric": "tokens", "corpus": "text"}, "on a corpus 'text'; did you mean 'texts'?"),
        ({"metric": "tokens", "column": "values"}, "no column 'values'; did you mean 'value'?"),
        ({"metric": "round_trip", "clas": "exact"}, "has no parameter 'clas'; did you mean 'class'?"),
        ({"metric": "round_trip", "class_": "fine"}, "no value with class='fine'; there are: 'exact'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_named_with_what_is(
    results: Results, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        results.table(**arguments)


def test_a_notebook_shows_a_table_and_what_failed_as_text(broken_run: RunOutcome) -> None:
    shown = broken_run.results._repr_html_()
    assert "<td>1.00</td>" in shown
    assert f"{len(broken_run.results.problems)} problems" in shown
    assert "nowhere.tiktoken" in shown
    assert "<script" not in shown
