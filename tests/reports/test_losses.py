"""Bits per byte from a user's losses, and models at equal compute."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokbench
from tokbench.bench.errors import InputError, Refusal, UsageError
from tokbench.bench.results.losses import budget_left, fit_power_law
from tokbench.bench.results.run_folder import Results
from tokbench.reports.cost.plugin import Cost

CONFIG = {
    "name": "small",
    "corpora": {"corpus": {"source": "files", "languages": {"en": "en.txt", "de": "de.txt"}}},
    "tokenizers": {"utf8_bytes": {"type": "utf8_bytes"}, "characters": {"type": "characters"}},
    "reports": [],
}
NATS = math.log(2)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run for all tests."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("TOKBENCH_CACHE", str(folder / "cache"))
        (folder / "en.txt").write_text("abcd\nab\n", encoding="utf-8")
        (folder / "de.txt").write_text("äö\nü\n", encoding="utf-8")
        return tokbench.run(CONFIG, jobs=0).folder.absolute()


@pytest.fixture
def results(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """The run, read from a working folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tokbench.load_results(measured)


def losses(
    results: Results, table: str, *, unit: str = "nats", loss: str = "sum", of: str = "characters"
) -> list[dict[str, Any]]:
    Path("losses.csv").write_text(table, encoding="utf-8")
    brought = {"file": "losses.csv", "unit": unit, "loss": loss}
    options = {"currency": "EUR", "models": {"m": {"tokenizer": of, "losses": brought}}}
    files = Cost.model_validate(options).render(results)
    found: list[dict[str, Any]] = json.loads(files["cost.json"])["losses"]
    assert ("Bits per byte" in files["cost.md"]) == bool(found)
    return found


def test_a_model_that_knows_nothing_needs_eight_bits_a_byte(results: Results) -> None:
    rows = [f"en,{doc},{math.log(256)}" for doc, n in ((0, 4), (1, 2)) for _ in range(n)]
    table = "language,document,loss\n" + "\n".join(rows)
    [line] = losses(results, table, loss="token", of="utf8_bytes")
    assert line["bits_per_byte"] == pytest.approx(8, rel=1e-12)
    assert (line["n"], line["documents"], line["detail"]) == (2, 2, None)
    assert line["ci_low"] == pytest.approx(8)
    assert line["ci_high"] == pytest.approx(8)


def test_sums_means_and_tokens_agree_and_bits_are_not_nats(results: Results) -> None:
    """Umlauts are 2 bytes each: 3 + 1.5 nats over 4 + 2 bytes."""
    want = 4.5 / NATS / 6
    token = "language,document,loss\nde,0,1\nde,0,2\nde,1,1.5\n"
    total = "language,document,loss\nde,0,3\nde,1,1.5\n"
    mean = "language,document,loss,tokens\nde,0,1.5,2\nde,1,1.5,1\n"
    for kind, table in (("token", token), ("sum", total), ("mean", mean)):
        [line] = losses(results, table, loss=kind)
        assert line["bits_per_byte"] == pytest.approx(want, rel=1e-12), kind
    [line] = losses(results, total, unit="bits")
    assert line["bits_per_byte"] == pytest.approx(4.5 / 6, rel=1e-12)


def test_parquet_is_read_and_an_end_token_is_said(results: Results) -> None:
    columns = {"document": ["0", "1"], "language": ["de", "de"], "loss": [3.0, 1.0],
               "tokens": [3, 2], "more": ["x", "y"]}  # fmt: skip
    pq.write_table(pa.table(columns), "losses.parquet")
    brought = {"file": "losses.parquet", "unit": "bits", "loss": "sum"}
    options = {"currency": "EUR", "models": {"m": {"tokenizer": "characters", "losses": brought}}}
    [line] = json.loads(Cost.model_validate(options).render(results)["cost.json"])["losses"]
    assert line["bits_per_byte"] == pytest.approx(4 / 6)
    assert line["detail"] == "2 documents with the loss of an end token"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (["de,0,1", "de,1,1"], "1 document with fewer losses than tokens, such as 1 of 2"),
        (["de,0,1"] * 2 + ["de,1,1"] * 3, "1 document with more losses than tokens"),
    ],
)
def test_losses_of_other_tokens_are_refused(results: Results, rows: list[str], said: str) -> None:
    [line] = losses(results, "language,document,loss\n" + "\n".join(rows), loss="token")
    assert line["bits_per_byte"] is None
    assert said in line["detail"]


@pytest.mark.parametrize(
    ("table", "loss", "said"),
    [
        ("document,loss\n0,1\n", "sum", "requires a column language"),
        ("language,document,loss\nfr,0,1\n", "sum", "has no document fr 0"),
        ("language,document,loss\nen,9,1\n", "sum", "has no document en 9"),
        ("language,document,loss\nen,0,1\nen,0,1\n", "sum", "document 0 occurs twice"),
        ("language,document,loss\nen,0,nan\n", "sum", "row 1: the loss .None. must be"),
        ("language,document,loss\nen,0,1\nen,1,-2\n", "sum", "row 2: the loss .-2.0. must be"),
        ("language,document,loss\nen,0,x\n", "sum", "cannot be read"),
        ("language,document\nen,0\n", "sum", "lacks the column loss"),
        ("language,document,loss\nen,0,1\n", "mean", "lacks the column tokens"),
        ("language,document,loss,tokens\nen,0,1,0\n", "mean", "row 1: the number of tokens is 0"),
        ("", "sum", "cannot be read"),
    ],
)
def test_a_wrong_table_says_where(results: Results, table: str, loss: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        losses(results, table, loss=loss)


MARIN = {
    "superbpe-128k": (
        [(3.92964945739776e17, 1.3363250494003296), (9.16918206726144e17, 1.2000441551208496),
         (2.095813043945472e18, 1.1135064363479614)], 0.816, 1.1794),
    "superbpe-80k-t40k": (
        [(3.34982887243776e17, 1.3386683464050293), (7.81626736902144e17, 1.200352668762207),
         (1.786575398633472e18, 1.110716700553894)], 0.835, 1.1621),
    "superbpe-160k-t64k": (
        [(4.31619651403776e17, 1.365499496459961), (1.007112519942144e18, 1.2158203125),
         (2.301971474153472e18, 1.1216434240341187)], 0.787, 1.2028),
}  # fmt: skip
"""Points, relative cost and feBPB as marin published them (marin-community/marin#6916). It allows
exponents up to 0.5, which the first and the third exceed by a little."""
MARIN_BUDGET = 9.17636942659584e17


@pytest.mark.parametrize("name", MARIN)
def test_published_figures_of_marin_come_out(name: str) -> None:
    points, relative, published = MARIN[name]
    law = fit_power_law(points)
    found = law.at(budget_left(MARIN_BUDGET, relative, 1.0))
    assert found == pytest.approx(published, abs=0.00005 if law.b <= 0.5 else 0.0008)


def test_a_curve_is_found_again_and_not_read_outside_its_points() -> None:
    points = [(c, 3.0 * c**-0.21 + 0.8) for c in (1e18, 3e18, 9e18, 27e18)]
    law = fit_power_law(points)
    assert law.at(5e18) == pytest.approx(3.0 * 5e18**-0.21 + 0.8, rel=1e-9)
    assert law.b == pytest.approx(0.21, rel=1e-5)
    for flops, said in ((9e17, "outside"), (28e18, "outside"), (-1.0, "serving alone")):
        with pytest.raises(Refusal, match=said):
            law.at(flops)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(1e18, 1.2), (2e18, 1.1)], "requires 3 budgets; there are 2"),
        ([(1e18, 1.0), (2e18, 1.1), (4e18, 1.3)], "do not fall with compute"),
    ],
)
def test_a_curve_that_is_none_is_refused(points: list[tuple[float, float]], said: str) -> None:
    with pytest.raises(Refusal, match=said):
        fit_power_law(points)


def ladder(scale: float) -> list[dict[str, float]]:
    return [
        {"training_flops": c, "bits_per_byte": scale * (c / 1e18) ** -0.25 + 0.7}
        for c in (0.5e18, 1e18, 2e18)
    ]


def equal(results: Results, **options: Any) -> dict[str, dict[str, Any]]:
    shape = {
        "width": 4,
        "architecture": {"layers": 2, "heads": 2, "feed_forward": 8, "vocabulary": 300},
    }
    models = {
        "bytes": {"tokenizer": "utf8_bytes", "ladder": ladder(0.5), **shape},
        "characters": {"tokenizer": "characters", "ladder": ladder(0.5), **shape},
    }
    given = {"reference": "bytes", **options}
    cost = Cost.model_validate({"currency": "EUR", "models": models, "flop_equivalent": given})
    files = cost.render(results)
    assert "This presupposes" in files["cost.md"]
    return {x["model"]: x for x in json.loads(files["cost.json"])["equal_compute"]}


def test_who_is_cheaper_to_serve_trains_on_what_is_left(results: Results) -> None:
    found = equal(results)
    assert found["bytes"]["relative_cost"] == 1
    assert found["bytes"]["flop_equivalent_bits_per_byte"] == pytest.approx(1.2, rel=1e-9)
    cheap = found["characters"]
    assert cheap["training_flops"] == pytest.approx(1e18 * (2 - cheap["relative_cost"]))
    want = 0.5 * (cheap["training_flops"] / 1e18) ** -0.25 + 0.7
    assert cheap["flop_equivalent_bits_per_byte"] == pytest.approx(want, rel=1e-6)
    assert equal(results, serving_ratio=0)["characters"]["training_flops"] == 1e18


def test_outside_the_points_there_is_no_value(results: Results) -> None:
    found = equal(results, training_flops=3e18)["bytes"]
    assert found["flop_equivalent_bits_per_byte"] is None
    assert "outside the model's points" in found["detail"]


def test_the_reference_needs_a_ladder(results: Results) -> None:
    with pytest.raises(UsageError, match=r"flop_equivalent\.reference: other must be a model"):
        equal(results, reference="other")
