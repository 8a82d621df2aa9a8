"""Every mark of a chart lies where its row puts it, in the scale that the other marks share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pytest

from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.page.figures import Figure, figures
from tokbench.reports.view import View

Point = tuple[float, float]


@pytest.fixture(scope="module")
def view(small_run: Results) -> View:
    return View(small_run)


@pytest.fixture(scope="module")
def drawn(view: View) -> Mapping[str, Figure]:
    return {figure.id: figure for figure in figures(view, "texts")}


def marks(figure: Figure, name: str) -> list[ElementTree.Element]:
    """The elements of a name that show a row."""
    found = ElementTree.fromstring(str(figure.drawing)).iter()
    return [e for e in found if e.tag.endswith(name) and "data-t" in e.attrib]


def lie_on_one_scale(pairs: list[Point]) -> bool:
    """Whether places are one linear function of values."""
    (x0, v0), (x1, v1) = min(pairs, key=lambda p: p[1]), max(pairs, key=lambda p: p[1])
    return all(
        x == pytest.approx(x0 + (v - v0) / ((v1 - v0) or 1) * (x1 - x0), abs=0.11) for x, v in pairs
    )


def test_premiums_lie_at_their_values(view: View, drawn: Mapping[str, Figure]) -> None:
    places = view.languages("texts")
    pairs = []
    for mark in marks(drawn["premium"], "g"):
        name = view.tokenizers[int(mark.attrib["data-t"])]
        row = view.row("premium", name, "texts", places[int(mark.attrib["data-l"])])
        assert row is not None
        (circle,) = [e for e in mark.iter() if e.tag.endswith("circle")]
        pairs.append((float(circle.attrib["cx"]), math.log(row["value"])))
    values = view.values("premium", "bytes", "texts")
    assert len(pairs) >= 2 * len([v for _, v in values if v is not None])
    assert lie_on_one_scale(pairs)


@pytest.fixture(scope="module")
def lossy(request: pytest.FixtureRequest) -> View:
    """A tokenizer that lowers case: 2 of 7 bytes are lost in English, 4 of 8 in German."""
    measure: Any = request.getfixturevalue("measure")
    corpus = {"source": "files", "path": "{language}.txt", "languages": ["en", "de"]}
    toy = {"type": "toy_pieces", "pieces": ["cat"], "lowercase": True}
    outcome: RunOutcome = measure(
        {
            "corpora": {"c": corpus},
            "tokenizers": {"toy": toy, "bytes": {"type": "utf8_bytes"}},
            "reports": [],
        },
        {"en.txt": "The Cat\n", "de.txt": "DER Hund\n"},
    )
    return View(outcome.results)


def test_bars_of_losses_are_as_long_as_their_shares(lossy: View) -> None:
    drawn = {figure.id: figure for figure in figures(lossy, "c")}
    (bar,) = marks(drawn["loss"], "rect")
    assert (bar.attrib["data-part"], bar.attrib["data-t"]) == ("case", "0")
    bars = marks(drawn["loss-language"], "rect")
    places = lossy.languages("c")
    lengths = {places[int(b.attrib["data-l"])]: float(b.attrib["width"]) for b in bars}
    assert list(lengths) == ["de", "en"]  # the largest loss first
    assert lengths["en"] / lengths["de"] == pytest.approx((2 / 7) / (4 / 8), abs=0.001)


def test_tokens_against_the_vocabulary_are_those_of_the_rows(
    view: View, drawn: Mapping[str, Figure]
) -> None:
    across, down = [], []
    for mark in marks(drawn["trade-entries"], "g"):
        name = view.tokenizers[int(mark.attrib["data-t"])]
        (circle,) = [e for e in mark.iter() if e.tag.endswith("circle")]
        entries = view.run["tokenizers"][name]["n_entries"]
        across.append((float(circle.attrib["cx"]), math.log(entries)))
        tokens = sum(v for _, v in view.values("tokens", name, "texts"))
        down.append((float(circle.attrib["cy"]), tokens))
    assert len(across) == len(view.tokenizers)
    assert lie_on_one_scale(across)
    assert lie_on_one_scale(down)


def test_a_sweep_is_a_line_over_its_sizes(measure: Any) -> None:
    train = {"trainer": "byte_bpe", "corpus": "c", "vocab_size": [257, 260, 264]}
    outcome: RunOutcome = measure(
        {
            "corpora": {"c": {"source": "files", "path": "c.txt", "language": "en"}},
            "tokenizers": {"bpe": {"train": train}},
            "suites": ["efficiency"],
            "reports": [],
        },
        {"c.txt": "the cat and the other cat of the cat\n" * 20},
    )
    view = View(outcome.results)
    (figure,) = [one for one in figures(view, "c") if one.id == "sizes"]
    across, down = [], []
    for mark in marks(figure, "g"):
        name = view.tokenizers[int(mark.attrib["data-t"])]
        (circle,) = [e for e in mark.iter() if e.tag.endswith("circle")]
        n_ids = view.run["tokenizers"][name]["n_ids"]
        across.append((float(circle.attrib["cx"]), math.log(n_ids)))
        value = view.value("bytes_per_token", name, "c", "en")
        assert value is not None
        down.append((float(circle.attrib["cy"]), value))
    assert len({value for _, value in down}) == 3
    assert lie_on_one_scale(across)
    assert lie_on_one_scale(down)
