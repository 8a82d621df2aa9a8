"""`report.md`: short, each figure a row of the Parquet or recomputed here, one order of tokenizers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import tokbench
from tokbench.bench.results.run_folder import Results, load_results
from tokbench.bench.run.runner import RunOutcome

markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")
Table = list[list[str]]
MARK = r" ?[†‡]"


def page_of(results: Results) -> str:
    return (results.folder / "report.md").read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The text below each heading, by the corpus above it where there is one."""
    found: dict[str, str] = {}
    above = ""
    for part in re.split(r"^(?=##+ )", page, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        level, _, title = head.partition(" ")
        above = title if level == "##" else above
        found[title if level == "##" else f"{above} > {title}"] = body
    return found


def tables(markdown: str) -> list[Table]:
    found: list[Table] = []
    for token in markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.level > 3:
            found[-1][-1].append("".join(c.content for c in token.children))
    return found


class Stored:
    """The Parquet of a run, looked up without any code of the reports."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows = tokbench.load_results(results.folder).to_pandas()

    def value(self, metric: str, tokenizer: str, corpus: str, language: str) -> float | None:
        rows = self.rows
        at = (rows.metric == metric) & (rows.tokenizer == tokenizer) & (rows.corpus == corpus)
        found = rows[at & (rows.language == language) & ~rows.params.str.contains('"cause"')]
        values = found.value.dropna().tolist()
        return float(values[0]) if values else None

    def tokens(self, tokenizer: str, corpus: str, language: str) -> int:
        table = self.results.documents(tokenizer, corpus).to_pandas()
        return int(table[table.language == language].tokens.sum())

    def documents(self, tokenizer: str, corpus: str, language: str, kind: str) -> int:
        table = self.results.documents(tokenizer, corpus).to_pandas()
        return int(((table.language == language) & (table["round_trip"] == kind)).sum())

    def ranks(self, tokenizer: str, corpus: str, languages: list[str]) -> list[float]:
        found = (self.value("rank", tokenizer, corpus, k) for k in languages)
        return [rank for rank in found if rank is not None]


def two(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def by_language(found: Table) -> Iterator[tuple[str, str, str]]:
    """Yield language, tokenizer and the cell without marks."""
    names = [re.sub(MARK, "", name) for name in found[0][1:]]
    for language, *cells in found[1:]:
        for name, cell in zip(names, cells, strict=True):
            yield language, name, re.sub(MARK, "", cell.replace("\u00a0", " ")).strip("* ")


@pytest.mark.parametrize(
    ("title", "metric"), [("Bytes per token", "bytes_per_token"), ("Premium", "premium")]
)
def test_values_by_language_are_rows(title: str, metric: str, good_run: RunOutcome) -> None:
    stored = Stored(good_run.results)
    [found] = tables(sections(page_of(good_run.results))[f"texts > {title}"])
    cells = list(by_language(found))
    assert len(cells) == 9
    for language, name, cell in cells:
        value = stored.value(metric, name, "texts", language)
        assert cell == ("refused" if value is None else two(value)), (language, name)


def test_a_bold_value_has_rank_1_and_no_other(good_run: RunOutcome) -> None:
    stored = Stored(good_run.results)
    text = sections(page_of(good_run.results))["texts > Bytes per token"]
    names = [
        c.strip(" †‡") for c in re.findall(r"^\| language \|(.*)\|$", text, re.M)[0].split("|")
    ]
    for line in re.findall(r"^\| ((?:en|de|ja) .*)\|$", text, re.M):
        language, *cells = (cell.strip() for cell in line.split("|"))
        for name, cell in zip(names, cells, strict=True):
            first = stored.value("rank", name, "texts", language) == 1
            assert cell.startswith("**") == first, (language, name)


def test_the_table_by_tokenizer_is_recomputed_from_documents(good_run: RunOutcome) -> None:
    """Three documents in each of three languages, all languages in equal shares."""
    stored, languages = Stored(good_run.results), ["en", "de", "ja"]
    run = good_run.results.run
    [found] = tables(sections(page_of(good_run.results))["texts"])
    assert found[0][0] == "tokenizer"
    assert len(found[0]) <= 7
    cost = {
        name: sum(stored.tokens(name, "texts", k) / 3 for k in languages) / 3
        for name in run["tokenizers"]
    }
    ranked = {n: len(stored.ranks(n, "texts", languages)) == 3 for n in cost}
    best = min(cost[name] for name in cost if ranked[name])
    for row in found[1:]:
        name, vocabulary, tokens, ratio, place, premium, first = (
            re.sub(MARK, "", cell.replace("\u00a0", " ")) for cell in row
        )
        assert vocabulary == f"{run['tokenizers'][name]['n_entries']:,}"
        assert tokens == two(cost[name])
        assert ratio.split()[0] == f"{cost[name] / best:.3f}"
        assert (place == "–") == (not ranked[name])
        premiums = [stored.value("premium", name, "texts", k) for k in languages[1:]]
        known = [value for value in premiums if value is not None]
        assert premium.split()[0] == (two(median(known)) if known else "–")
        ranks = stored.ranks(name, "texts", languages)
        assert first == (f"{ranks.count(1)} of {len(ranks)}" if ranks else "not ranked")


def test_intervals_of_the_mix_are_those_of_the_runs_draws(good_run: RunOutcome) -> None:
    """The same draws give `token_ratio`'s interval where the mix is one language."""
    from tokbench.reports.mix import mix_for
    from tokbench.reports.view import View

    view = View(good_run.results)
    mix = mix_for(view, "texts", {"en": 1.0})
    assert mix is not None
    best, other = mix.standings[:2]
    rows = view.rows_at("token_ratio", other.tokenizer, "texts", "en")
    rows += view.rows_at("token_ratio", best.tokenizer, "texts", "en")
    [row] = [r for r in rows if r["params"]["other"] in (best.tokenizer, other.tokenizer)]
    turned = row["tokenizer"] == best.tokenizer
    value = 1 / row["value"] if turned else row["value"]
    assert other.ratio == pytest.approx(value)


def test_losses_are_counted_from_documents(good_run: RunOutcome) -> None:
    stored, languages = Stored(good_run.results), ["en", "de", "ja"]
    by_tokenizer, by_lang = tables(sections(page_of(good_run.results))["Does the text survive?"])
    [row] = by_tokenizer[1:]
    assert re.sub(MARK, "", row[0]) == "lossy"
    for at, kind in ((2, "lossy"), (3, "normalized")):
        n = sum(stored.documents("lossy", "texts", k, kind) for k in languages)
        assert row[at] == str(n)
    for language, name, cell in by_language(by_lang):
        assert cell == str(stored.documents(name, "texts", language, "lossy"))


def test_every_table_has_the_same_order_of_tokenizers(good_run: RunOutcome) -> None:
    names = list(good_run.results.run["tokenizers"])
    orders = []
    for found in tables(page_of(good_run.results)):
        across = [re.sub(MARK, "", cell) for cell in found[0][1:]]
        down = [re.sub(MARK, "", row[0]) for row in found[1:]]
        orders += [[n for n in part if n in names] for part in (across, down)]
    first = next(one for one in orders if len(one) == len(names))
    for one in orders:
        places = [first.index(name) for name in one]
        assert all(a < b for a, b in pairwise(places)), one


def test_no_value_breaks_over_a_line_and_no_table_but_those_by_language_is_wide(
    good_run: RunOutcome,
) -> None:
    for found in tables(page_of(good_run.results)):
        assert len(found[0]) <= 7 or found[0][0] == "language"
        for row in found[1:]:
            assert not any(re.search(r"\d (%|of|to|\()", cell) for cell in row), row


@pytest.mark.parametrize("name", ["quick", "code", "throughput", "multilingual_tax"])
def test_the_config_in_the_report_runs_again(name: str, tmp_path: Path) -> None:
    """What stands between the fences is a config, equal to the one that was run."""
    from tokbench.reports.brief.closing import config_yaml

    config = tokbench.load_config(name)
    path = tmp_path / "again.yaml"
    path.write_text(config_yaml(config.canonical()), encoding="utf-8")
    assert tokbench.load_config(path).canonical() == config.canonical()


def test_pictures_are_written_where_the_page_looks_for_them(good_run: RunOutcome) -> None:
    shown = re.findall(r"^!\[[^\]]+\]\((figures/[^)]+)\)$", page_of(good_run.results), re.M)
    assert len(shown) == 2
    for name in shown:
        text = (good_run.results.folder / name).read_text(encoding="utf-8")
        assert text.startswith('<svg xmlns="http://www.w3.org/2000/svg" ')
        assert "<style>" in text


def test_values_in_the_heat_map_are_rows(good_run: RunOutcome) -> None:
    stored = Stored(good_run.results)
    text = (good_run.results.folder / "figures/texts-bytes_per_token.svg").read_text("utf-8")
    shown = sorted(re.findall(r'class="value [^"]*">([\d.]+)', text))
    values = [stored.value("bytes_per_token", n, "texts", k) for n in ("bytes", "pieces", "lossy") for k in ("en", "de", "ja")]  # fmt: skip
    assert shown == sorted(map(two, values))


def test_a_focus_in_the_config_is_answered_first(measure: Callable[..., RunOutcome]) -> None:
    """Bytes: 4 and 8 a document; pieces: 1 and 8. In shares 3 to 1: 5.00 and 2.75."""
    corpus = {"source": "files", "path": "{language}.jsonl", "languages": ["en", "de"], "id": "id",
              "parallel": True, "pivot": "en"}  # fmt: skip
    config: dict[str, Any] = {
        "corpora": {"c": corpus},
        "tokenizers": {
            "b": {"type": "utf8_bytes"},
            "p": {"type": "toy_pieces", "pieces": ["abcd"]},
        },
        "focus": {"en": 3.0, "de": 1.0},
    }
    run = measure(config, {"en.jsonl": ["abcd"] * 4, "de.jsonl": ["wxyzwxyz"] * 4})
    page = page_of(run.results)
    assert "**For text of 75 % en and 25 % de, p needs the fewest tokens: 2.75 per document" in page
    [found] = tables(sections(page)["c"])
    assert [row[2] for row in found[1:]] == ["2.75", "5.00"]


def test_how_noisy_the_machine_was_is_one_sentence() -> None:
    from tokbench.reports.brief.speed import noise

    steady, unsteady = {"detail": None}, {"detail": "unsteady: the middle half spreads"}
    assert noise([steady]) == "The machine was quiet; uncertain speeds: 0 of 1."
    assert noise([unsteady, steady]) == "The machine was noisy; uncertain speeds: 1 of 2."


def test_the_report_of_quick_is_at_most_25_kb(quick_run: Any) -> None:
    assert len((quick_run.folder / "report.md").read_bytes()) <= 25_000
    for found in tables(page_of(load_results(quick_run.folder))):
        assert len(found[0]) <= 7 or found[0][0] == "language"


@pytest.mark.real
def test_the_report_of_twelve_tokenizers_in_49_languages_is_at_most_40_kb(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tokbench.bench.results.report import render_reports

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    files = sorted((data_folder / "corpora" / "flores200").glob("*.parquet"))[:49]
    names = ("gpt2", "cl100k_base", "o200k_base", "r50k_base")
    config = {
        "name": "twelve",
        "corpora": {
            "flores": {
                "source": "files",
                "path": str(data_folder / "corpora" / "flores200" / "{language}.parquet"),
                "languages": [path.stem for path in files],
                "limit": {"rows": 20},
                "id": "id",
                "parallel": True,
                "pivot": "eng_Latn",
            }
        },
        "tokenizers": {
            f"{name}_{i}": {"type": "tiktoken", "encoding": name}
            for name in names
            for i in range(3)
        },
        "suites": ["efficiency", "multilingual", "fidelity"],
        "reports": [],
    }
    results = tokbench.run(config, output=tmp_path, jobs=2)
    files_written = render_reports(["markdown"], results)
    assert len(files_written["report.md"].encode()) <= 40_000


def test_the_sentences_at_the_top_are_recomputed_from_the_tables(good_run: RunOutcome) -> None:
    """Each figure of the prose, and no figure that is not checked here."""
    results = good_run.results
    stored, languages = Stored(results), ["en", "de", "ja"]
    top = page_of(results).split("\n## ")[0].replace("\u00a0", " ")
    lines = [line.removeprefix("- ") for line in top.splitlines() if line.startswith("- ")]
    names = [name for name in results.run["tokenizers"] if stored.ranks(name, "texts", languages)]
    wins = {name: stored.ranks(name, "texts", languages).count(1) for name in names}
    size = results.documents(names[0], "texts").to_pandas().bytes.sum()
    lost = {
        name: results.documents(name, "texts").to_pandas().filter(like="lost_").sum().sum() / size
        for name in results.run["tokenizers"]
    }
    wanted = []
    for line in lines:
        if found := re.match(r"On texts, (.+) ranks? first in (\d+) of (\d+) languages", line):
            (name,) = re.findall(r"\w+", found[1])
            wanted.append(line)
            assert (wins[name], max(wins.values()), len(languages)) == (
                int(found[2]),
                int(found[2]),
                int(found[3]),
            )
        elif "not ranked because" in line:
            for name, n, of, share in re.findall(r"(\w+) in (\d+) of (\d+) \(([\d.]+) %", line):
                wanted.append(line)
                unranked = [k for k in languages if stored.value("rank", name, "texts", k) is None]
                assert (len(unranked), len(languages)) == (int(n), int(of))
                assert f"{100 * lost[name]:.1f}" == share
        elif line.startswith("Every document of texts comes back exactly"):
            exact = {
                name: sum(stored.documents(name, "texts", k, "exact") for k in languages)
                for name in results.run["tokenizers"]
            }
            documents = len(results.documents(names[0], "texts").to_pandas())
            for name, share in re.findall(r"(\w+) \(([\d.]+) %\)", line):
                wanted.append(line)
                assert share in (f"{(of_all := 100 * exact[name] / documents):.1f}", f"{of_all:g}")
    assert [line for line in lines if re.search(r"\d", line) and line not in wanted] == []
    assert len(set(wanted)) >= 2
