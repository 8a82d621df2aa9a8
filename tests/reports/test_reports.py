"""Reports say what the files say: verdicts first, every fault named, no row broken."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tokbench.bench.results.report import render_reports
from tokbench.bench.results.run_folder import load_results
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import View, summarize

Measure = Callable[..., RunOutcome]
markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")


def report_of(run: RunOutcome) -> str:
    """The page of all tables."""
    return (run.results.folder / "detail.md").read_text(encoding="utf-8")


def summary_of(run: RunOutcome) -> str:
    return render_reports(["summary"], run.results)["summary.txt"]


def tables(markdown: str) -> list[list[list[str]]]:
    """Every table of a page as a GitHub-style renderer shows it, folded parts too."""
    found: list[list[list[str]]] = []
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False})
    for token in parser.parse(markdown):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and token.level > 3:
            text = "".join(child.content for child in token.children)
            found[-1][-1].append(text.replace("\u00a0", " "))
    return found


def section(markdown: str, title: str) -> str:
    return markdown.split(f"\n## {title}\n")[1].split("\n## ")[0]


def skipped(run: RunOutcome) -> str:
    return section(report_of(run), "What was skipped, refused or failed")


# looking up


def test_a_view_finds_values_by_place(good_run: RunOutcome) -> None:
    view = View(good_run.results)
    assert view.value("tokens", "bytes", "texts", "en") == 34
    assert view.value("tokens", "bytes", "texts", "fr") is None
    assert view.total("tokens", "bytes", "texts") == 34 + 46 + 39
    assert view.languages("texts") == ["en", "de", "ja"]  # the pivot first
    assert view.pivot("texts") == "en"
    assert view.tokenizers == ["bytes", "pieces", "lossy"]


def test_a_share_over_languages_is_weighted(good_run: RunOutcome) -> None:
    view = View(good_run.results)
    rates = dict(view.values("unk_rate", "lossy", "texts"))
    tokens = dict(view.values("tokens", "lossy", "texts"))
    expected = sum(rates[k] * tokens[k] for k in rates) / sum(tokens.values())
    assert view.pooled("unk_rate", "lossy", "texts", over="tokens") == pytest.approx(expected)


def test_summaries_lead_with_those_that_rank_first(good_run: RunOutcome) -> None:
    lines = summarize(View(good_run.results), "texts")
    assert [line.tokenizer for line in lines] == ["pieces", "bytes", "lossy"]
    assert lines[-1].ranked_in == 0
    assert lines[0].median_premium is not None
    assert lines[2].median_premium is None


# the page


def test_verdicts_open_the_page(good_run: RunOutcome) -> None:
    lines = report_of(good_run).splitlines()
    assert lines[0] == "# test, in detail"
    assert lines[2].startswith("- On texts, pieces ranks first in ")
    assert any(
        line.startswith("- On texts, not ranked") and "lossy in 3 of 3" in line for line in lines
    )


def test_every_table_renders_with_all_its_cells(
    good_run: RunOutcome, broken_run: RunOutcome
) -> None:
    for run in (good_run, broken_run):
        found = tables(report_of(run))
        assert len(found) >= 6
        for table in found:
            assert len({len(row) for row in table}) == 1
            assert all(cell for row in table for cell in row[:1])


def test_a_lossy_tokenizer_is_marked_wherever_it_stands(good_run: RunOutcome) -> None:
    by_tokenizer, by_language, *_ = tables(report_of(good_run))
    [row] = [row for row in by_tokenizer if row[0].startswith("lossy")]
    assert row[0] == "lossy †"
    assert "not ranked" in row
    place = by_language[0].index("lossy †")
    assert all(row[place].endswith("†") for row in by_language[1:])


def test_premiums_of_lost_text_are_refused_and_not_shown(good_run: RunOutcome) -> None:
    [premiums] = [
        table
        for table in tables(report_of(good_run).split("### Premium")[1].split("###")[0])
        if table[0][0] == "language"
    ][:1]
    place = premiums[0].index("lossy †")
    assert {row[place] for row in premiums[1:]} == {"refused"}
    assert "lossy on texts: no premium for " in skipped(good_run)


def test_words_that_are_undefined_are_a_dash_with_their_reason(good_run: RunOutcome) -> None:
    assert "texts: no word metrics for ja: " in skipped(good_run)
    fertility, *_ = tables(report_of(good_run).split("### Fertility")[1].split("\n## ")[0])
    assert next(row for row in fertility if row[0] == "ja")[1:] == ["–"] * 3


def test_every_fault_is_named_with_its_reason(broken_run: RunOutcome) -> None:
    told = skipped(broken_run)
    report = re.sub(r"\W+|&#\d+;", "", report_of(broken_run))
    for cell in broken_run.results.run["cells"]:
        if cell["status"] != "ok":
            assert re.sub(r"\W+", "", cell["detail"])[:60] in report
    assert "**partial**" in told
    assert "**failed**" in told


def test_a_tokenizer_that_failed_is_not_said_to_lose_text(broken_run: RunOutcome) -> None:
    for text in ("\n".join(verdicts(View(broken_run.results))), report_of(broken_run)):
        for line in text.splitlines():
            if "because text is lost" in line:
                assert "raises" not in line
    told = "\n".join(verdicts(View(broken_run.results)))
    assert "On boom, only bytes could be ranked." in told
    assert told.startswith("Corpus gone could not be read: ")
    [reason] = [line for line in told.splitlines() if line.startswith("On boom, not ranked")]
    assert reason.startswith("On boom, not ranked because documents failed: ")
    assert "raises in 1 of 1" in reason


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (
            ["abcd efgh"],
            "On c, no ranked tokenizer is significantly better than another: 1 document "
            "for each language cannot separate them.",
        ),
        (["abcd"] * 40, "On c, again and half need the fewest tokens."),
        (
            ["abcd", "efgh"] * 20 + ["efgh"],
            "On c, other needs the fewest tokens; again and half are not worse beyond the interval.",
        ),
    ],
)
def test_only_those_that_write_the_fewest_are_said_to(
    texts: list[str], sentence: str, measure: Measure
) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "c.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {
            "bytes": {"type": "utf8_bytes"},
            "half": {"type": "toy_pieces", "pieces": ["abcd"]},
            "again": {"type": "toy_pieces", "pieces": ["abcd"]},
            "other": {"type": "toy_pieces", "pieces": ["efgh"]},
        },
    }
    run = measure(config, {"c.jsonl": texts})
    assert verdicts(View(run.results))[0] == sentence


def test_a_tokenizer_without_a_rival_wins_nothing_under_one_key_or_two(measure: Measure) -> None:
    """60 times "ab" in two languages: two bytes, so 1,000 tokens for 1,000 bytes."""
    config = {
        "corpora": {
            "c": {
                "source": "files",
                "path": "{language}.txt",
                "languages": ["en", "de"],
            }
        },
        "tokenizers": {"bytes": {"type": "utf8_bytes"}, "again": {"type": "utf8_bytes"}},
        "reports": ["markdown"],
    }
    text = "ab\n" * 60
    run = measure(config, {"en.txt": text, "de.txt": text})
    folder = run.results.folder
    for name in ("report.md", "detail.md"):
        written = (folder / name).read_text(encoding="utf-8")
        for claim in (
            "the fewest tokens",
            "of 2 |",
            "**1.00**",
            "first in 2",
            "cannot be distinguished",
        ):
            assert claim not in written, (name, claim)
    page = (folder / "report.md").read_text(encoding="utf-8")
    assert "again and bytes have nothing to be compared with." in page
    assert "again and bytes are the same tokenizer under 2 keys." in page
    assert (
        "For text of 2 languages in equal shares, again needs 1,000.00 tokens per 1,000 bytes."
        in page
    )
    assert "| again | 256 | 1,000.00 | 1.000 | – | – |" in page


def test_nothing_to_rank_is_said(measure: Measure) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "c.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"t": {"type": "toy_pieces", "unknown": True}},
    }
    run = measure(config, {"c.jsonl": ["abc"]})
    assert (
        verdicts(View(run.results))
        == [
            "On c, no tokenizer could be ranked.",
            "On c, not ranked because text is lost: t in 1 of 1.",
        ]
        or verdicts(View(run.results))[0] == "On c, no tokenizer could be ranked."
    )
    assert run.exit_code == 0


def test_without_a_suite_that_ranks_nobody_is_said_to_have_failed(measure: Measure) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "c.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"t": {"type": "utf8_bytes"}},
        "suites": ["fidelity"],
    }
    run = measure(config, {"c.jsonl": ["abc", "def"]})
    assert verdicts(View(run.results)) == [
        "On c, nothing was ranked: no suite of this run computes ranks."
    ]
    assert "documents failed" not in report_of(run).split("## Does the text survive?")[0]


def test_languages_of_different_size_are_not_said_to_be_equal(measure: Measure) -> None:
    config = {
        "corpora": {
            "c": {
                "source": "files",
                "path": "{language}.jsonl",
                "languages": ["en", "de"],
                "id": "id",
            }
        },
        "tokenizers": {"t": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"en.jsonl": ["a"] * 3, "de.jsonl": ["b"] * 1200})
    assert "c: 2 languages, 3 to 1,200 documents each" in summary_of(run)
    assert "2 languages, 3 to 1,200 documents each" in report_of(run)
    assert "not parallel" in report_of(run)


def test_text_from_the_data_cannot_become_markup(measure: Measure) -> None:
    hard = "a|b `c` <script>x</script> **d** \u202e\x1b[31m\n# head\n| x | y |\n```\n"
    config = {
        "description": hard,
        "corpora": {"c": {"source": "files", "path": "c.jsonl", "language": "en", "id": "id"}},
        "tokenizers": {"t": {"type": "toy_pieces", "lowercase": True, "pieces": ["|"]}},
    }
    rows = [{"id": hard, "text": "A" + hard}, {"id": "2", "text": hard.upper()}]
    run = measure(config, {"c.jsonl": rows})
    report = report_of(run)
    assert "<script>" not in report
    assert "\x1b" not in report
    assert "\u202e" not in report
    assert "\n# head" not in report
    for table in tables(report):
        assert len({len(row) for row in table}) == 1
    [witnesses] = [table for table in tables(report) if "what happened" in table[0]]
    assert len(witnesses) == 2
    assert "a|b `c` <script>" in witnesses[1][witnesses[0].index("document")]


def test_how_to_reproduce_names_the_config_and_the_changes_to_it(
    measure: Measure, tmp_path: Path
) -> None:
    from tokbench.bench.config.schema import load_config
    from tokbench.bench.run.runner import run

    path = tmp_path / "my ```config.yaml"
    path.write_text(
        "name: n\ncorpora: {c: {source: builtin, dataset: sentences, languages: [eng_Latn]}}\n"
        "tokenizers: {t: {type: utf8_bytes}}\n"
    )
    config = load_config(path, overrides=["seed=7", "description=a b"], shown=path.name)
    outcome = run(config, output=tmp_path / "runs")
    report = report_of(outcome)
    assert "tokbench run 'my ```config.yaml' --set seed=7 --set 'description=a b'" in report
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False})
    [block] = [token for token in parser.parse(report) if token.type == "fence"]
    assert block.content.startswith("tokbench run 'my ```config.yaml'")
    assert block.content.count("\n") == 1


def test_definitions_are_those_of_the_metrics_shown(good_run: RunOutcome) -> None:
    report = report_of(good_run)
    for name in ("bytes_per_token", "premium", "lost_byte_share"):
        definition = good_run.results.run["metrics"][name]["definition"].split(".")[0]
        assert definition in report


def test_a_report_needs_parquet_and_run_json_only(good_run: RunOutcome, tmp_path: Path) -> None:
    copy = tmp_path / good_run.results.name
    copy.mkdir()
    for name in ("run.json", "measurements.parquet", "findings.parquet"):
        shutil.copy(good_run.results.folder / name, copy)
    rendered = render_reports(["markdown", "summary"], load_results(copy))
    assert rendered["detail.md"] == report_of(good_run)
    assert set(rendered) == {"report.md", "detail.md", "summary.txt", *FIGURES}
    assert "| pieces | " in rendered["report.md"]  # tokens in place of a mix: no documents
    shutil.copytree(good_run.results.folder / "documents", copy / "documents")
    again = render_reports(["markdown"], load_results(copy))
    for name, text in again.items():
        assert (good_run.results.folder / name).read_text(encoding="utf-8") == text


FIGURES = ("figures/texts-bytes_per_token.svg", "figures/texts-premium.svg")


# one screen


def test_the_summary_fits_a_screen_and_names_the_report(good_run: RunOutcome) -> None:
    text = summary_of(good_run)
    assert text.splitlines()[-1].startswith("report: ")
    assert text.splitlines()[-1].endswith("report.md")
    [line] = [line for line in text.splitlines() if line.startswith("lossy")]
    assert "not ranked" in line
    assert "\x1b" not in text


def test_a_run_without_any_corpus_still_has_a_summary(measure: Measure) -> None:
    config = {
        "corpora": {"c": {"source": "files", "path": "bad.jsonl", "language": "en"}},
        "tokenizers": {"t": {"type": "utf8_bytes"}},
    }
    run = measure(config, {"bad.jsonl": "not JSON\n"})
    assert "report: " in summary_of(run)
    assert "- Corpus c could not be read: " in report_of(run)
    assert "bad.jsonl" in summary_of(run)
    assert json.loads((run.results.folder / "run.json").read_text())["corpora"] == {}


def test_a_language_that_could_not_be_read_is_told_first_and_once(measure: Measure) -> None:
    """German is missing beside English; two tokenizers fail on it for the same reason."""
    config = {
        "corpora": {
            "c": {"source": "files", "path": "{language}.jsonl", "languages": ["en", "de"]}
        },
        "tokenizers": {"bytes": {"type": "utf8_bytes"}, "chars": {"type": "characters"}},
    }
    run = measure(config, {"en.jsonl": ["abc", "def"], "de.jsonl": "not JSON\n"})
    assert run.exit_code == 3
    page = (run.results.folder / "report.md").read_text(encoding="utf-8")
    assert page.split("\n\n")[1].startswith("- Of corpus c, de could not be read: ")
    assert len([line for line in page.splitlines() if "**failed**" in line]) == 1
    assert "Of corpus c, de could not be read: " in " ".join(summary_of(run).split())
