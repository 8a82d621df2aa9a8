"""Inputs that broke other tools, each through a config and a run: the right behaviour, asserted.

The cases are described in the folder that `TOKBENCH_CASES` names; tests are called after them.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View

Measure = Callable[..., RunOutcome]


class Case:
    """One run over several cases' files, looked at by corpus and tokenizer."""

    def __init__(self, run: RunOutcome) -> None:
        self.run = run
        self.view = View(run.results)
        self.report = (run.results.folder / "detail.md").read_text(encoding="utf-8")

    def value(self, metric: str, tokenizer: str, corpus: str, **params: Any) -> float | None:
        language = params.pop("language", "en")
        return self.view.value(metric, tokenizer, corpus, language, **params)

    def documents(self, tokenizer: str, corpus: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.run.results.documents(tokenizer, corpus).to_pylist()
        return rows

    def witness(self, tokenizer: str, corpus: str, kind: str = "lossy") -> str:
        [message] = [
            f["message"]
            for f in self.view.findings
            if (f["tokenizer"], f["corpus"]) == (tokenizer, corpus)
            and f["data"].get("class") == kind
        ]
        return str(message)

    def status(self, tokenizer: str, corpus: str) -> set[str]:
        return {
            c["status"]
            for c in self.view.run["cells"]
            if (c["tokenizer"], c["corpus"]) == (tokenizer, corpus)
        }

    def exact(self, tokenizer: str, corpus: str) -> int:
        row = self.view.row("round_trip", tokenizer, corpus, "en", **{"class": "exact"})
        return int(row["params"]["documents"]) if row else -1


TOKENIZERS = {
    "bl": {"type": "huggingface", "file": "bl.json"},
    "bl_prefix": {"type": "huggingface", "file": "bl_prefix.json"},
    "bl_prefix_added": {"type": "huggingface", "file": "bl_prefix_added.json"},
    "bl_strip": {"type": "huggingface", "file": "bl_strip.json"},
    "bl_strip_match": {"type": "huggingface", "file": "bl_strip.json", "special_tokens": "match"},
    "bl_trunc16": {"type": "huggingface", "file": "bl_trunc16.json"},
    "bytes_only": {"type": "huggingface", "file": "bytes_only.json"},
    "wp_uncased": {"type": "huggingface", "file": "wp_uncased.json"},
    "no_pretokenizer": {"type": "huggingface", "file": "no_pretokenizer.json"},
    "sp_default": {"type": "sentencepiece", "file": "sp_default.model"},
    "sp_lossless": {"type": "sentencepiece", "file": "sp_lossless.model"},
    "ranks": {
        "type": "tiktoken",
        "file": "bytes256.tiktoken",
        "pattern": r"\p{L}+|\P{L}+",
        "special_tokens": {"<|endoftext|>": 256},
    },
}
BY_LINE = (
    "special_text",
    "whitespace",
    "long_words",
    "strip",
    "partial_utf8",
    "underbar",
    "marks",
    "mixture",
)


@pytest.fixture(scope="session")
def case(measure: Measure, cases_folder: Path, case_tokenizers: Path) -> Case:
    """Every tokenizer of the cases on every text of the cases, in one run."""
    corpora: dict[str, Any] = {
        name: {"source": "files", "path": str(cases_folder / f"{name}.jsonl"), "language": "en"}
        for name in BY_LINE
    }
    for name, options in {
        "na": {"path": str(cases_folder / "na.csv")},
        "numbers": {"path": str(cases_folder / "numbers.csv")},
        "na_refused": {"path": str(cases_folder / "na.csv"), "missing": "refuse"},
        "lines": {"path": str(cases_folder / "newlines.txt")},
        "lines_kept": {"path": str(cases_folder / "newlines.txt"), "line_ends": "keep"},
        "document": {"path": str(cases_folder / "newlines.txt"), "unit": "document"},
        "schemas": {"path": [str(cases_folder / f"schema_{x}.jsonl") for x in "ab"]},
        "abcs": {"path": "abcs.txt"},
        "river": {"path": "river.txt"},
        "joined": {"path": str(cases_folder / "mixture.jsonl"), "join": {"rows": " "}},
    }.items():
        corpora[name] = {"source": "files", "language": "en", **options}
    tokenizers = {
        name: {**options, "file": str(case_tokenizers / options["file"])}  # type: ignore[call-overload]
        for name, options in TOKENIZERS.items()
    }
    config = {
        "corpora": corpora,
        "tokenizers": tokenizers,
        "resamples": 200,
        "reports": ["markdown", "summary"],
    }
    files = {"abcs.txt": "my abcs and\n", "river.txt": "the river stone\n"}
    return Case(measure(config, files))


def test_a1_text_that_spells_a_special_token_is_text_and_its_documents_are_counted(
    case: Case,
) -> None:
    rows = case.documents("ranks", "special_text")
    assert [row["tokens"] for row in rows] == [58, 13, 20, 44]
    assert case.exact("ranks", "special_text") == 4
    assert case.status("ranks", "special_text") == {"ok"}
    assert case.value("documents_spelling_special_tokens", "ranks", "special_text") == 3
    assert case.view.run["policy"]["special_tokens"] == "text"
    assert "3 documents spell a special token; it was read as ordinary text" in case.report


def test_a2_a_space_the_tokenizer_adds_is_named_and_is_no_lost_text(case: Case) -> None:
    assert case.exact("bl", "whitespace") == 9
    assert case.exact("bl_prefix", "whitespace") == 1
    assert case.value("round_trip", "bl_prefix", "whitespace", **{"class": "normalized"}) == 8 / 9
    assert case.value("lost_byte_share", "bl_prefix", "whitespace") == 0
    assert case.witness("bl_prefix", "whitespace", "normalized").startswith(
        "a leading space was added"
    )


def test_a2_spaces_after_an_added_token_are_a_loss_of_exactness_with_its_place(case: Case) -> None:
    assert case.witness("bl_prefix_added", "abcs").startswith("lost: 1 byte by spacing")
    lost = sum(row["lost_spacing"] for row in case.documents("bl_prefix_added", "abcs"))
    n_bytes = sum(row["bytes"] for row in case.documents("bl_prefix_added", "abcs"))
    assert lost > 0
    assert case.value("lost_byte_share", "bl_prefix_added", "abcs") == lost / n_bytes


def test_a3_lost_white_space_is_classed_and_bytes_are_those_of_the_input(
    case: Case, cases_folder: Path
) -> None:
    assert case.exact("sp_default", "whitespace") == 0
    assert case.exact("sp_lossless", "whitespace") == 9
    lines = (cases_folder / "whitespace.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    rows = case.documents("sp_default", "whitespace")
    assert [row["bytes"] for row in rows] == [len(text.encode()) for text in texts]
    # the model knows neither p nor k: that is lost text, and told apart from lost white space
    unknown = [sum(text.count(letter) for letter in "pk") for text in texts]
    assert [row["lost_unknown"] for row in rows] == unknown
    assert [row["round_trip"] for row in rows] == ["lossy" if n else "normalized" for n in unknown]
    # one of two spaces, a tab, a no-break space of two bytes; LF, CR LF; the ends are no loss
    assert [row["lost_spacing"] for row in rows] == [0, 0, 1, 0, 1, 0, 0, 0, 2]
    assert [row["lost_line_ends"] for row in rows] == [0, 0, 0, 0, 0, 1, 2, 0, 0]
    assert case.value("lost_byte_share", "sp_default", "whitespace") == (sum(unknown) + 7) / sum(
        row["bytes"] for row in rows
    )


def test_a4_a_word_that_becomes_one_unknown_token_is_lost_and_never_ranked(case: Case) -> None:
    rows = case.documents("wp_uncased", "long_words")
    assert [row["tokens"] for row in rows[:2]] == [58, 1]
    assert [row["unknown"] for row in rows[:2]] == [0, 1]
    assert rows[1]["lost_unknown"] == 105
    lost = case.value("lost_byte_share", "wp_uncased", "long_words")
    assert lost is not None
    assert lost > 0.1
    assert case.value("rank", "wp_uncased", "long_words") is None
    assert case.value("rank", "bl", "long_words") is not None
    unknown = case.value("unk_rate", "wp_uncased", "long_words")
    assert unknown is not None
    assert 0 < unknown < 0.1


def test_a5_white_space_that_an_added_token_swallows_is_named(case: Case) -> None:
    assert [row["round_trip"] for row in case.documents("bl_strip", "strip")] == [
        "exact",
        "lossy",
    ]
    assert case.witness("bl_strip", "strip").startswith(
        "white space beside the added token '<tool>' was swallowed"
    )
    assert [row["round_trip"] for row in case.documents("bl_strip_match", "strip")] == [
        "lossy",
        "lossy",
    ]
    assert [row["byte_sum_breach"] for row in case.documents("bl_strip_match", "strip")] == [1, 1]


def test_token_bytes_that_do_not_add_up_are_told_first_and_cost_the_place(case: Case) -> None:
    told = "Token bytes of bl_strip_match do not add up to the text in"
    for name in ("report.md", "summary.txt"):
        opening = (case.run.results.folder / name).read_text(encoding="utf-8").split("\n\n## ")[0]
        assert told in " ".join(opening.split())
    rank = case.view.row("rank", "bl_strip_match", "strip", "en")
    assert rank is not None
    assert not rank["ranked"]


def test_a6_a_round_trip_is_of_the_sequence_and_pieces_of_characters_are_counted(
    case: Case,
) -> None:
    assert case.exact("bytes_only", "partial_utf8") == 3
    rows = case.documents("bytes_only", "partial_utf8")
    assert [row["partial_character"] for row in rows] == [6, 8, 0]
    assert case.value("partial_character_rate", "bytes_only", "partial_utf8") == 14 / 25
    assert case.exact("sp_default", "river") == 1
    assert "\ufffd" not in case.report


def test_a7_a_real_underbar_fails_with_its_place_and_code_point(case: Case) -> None:
    for tokenizer in ("sp_lossless", "sp_default", "no_pretokenizer"):
        rows = case.documents(tokenizer, "underbar")
        assert any(row["round_trip"] == "lossy" for row in rows), tokenizer
        message = case.witness(tokenizer, "underbar")
        assert "first difference at character" in message
        assert "U+2581 came back as " in message
    assert "U+2581" in case.report


def test_a8_loss_is_separated_by_cause_and_a_language_that_is_destroyed_is_not_cheap(
    case: Case,
) -> None:
    causes = {
        cause: case.value("lost_byte_share", "wp_uncased", "marks", cause=cause)
        for cause in ("case", "marks", "unknown")
    }
    assert all(causes.values()), causes
    assert case.value("rank", "wp_uncased", "marks") is None
    row = case.view.row("rank", "wp_uncased", "marks", "en")
    assert row is not None
    assert "of the text's bytes are lost" in row["detail"]
    assert "wp_uncased † |" in case.report


def test_a9_bytes_that_a_loaded_tokenizer_drops_are_noticed_without_any_unknown_token(
    measure: Measure, cases_folder: Path, case_tokenizers: Path
) -> None:
    path = str(cases_folder / "no_alphabet.jsonl")
    config = {
        "corpora": {"no_alphabet": {"source": "files", "path": path, "language": "en"}},
        "tokenizers": {
            name: {"type": "huggingface", "file": str(case_tokenizers / f"{name}.json")}
            for name in ("bl_noalphabet", "bl")
        },
    }
    case = Case(measure(config))
    rows = case.documents("bl_noalphabet", "no_alphabet")
    assert [row["bytes"] for row in rows] == [21, 11]
    assert [row["unknown"] for row in rows] == [0, 0]
    assert [row["round_trip"] for row in rows] == ["lossy", "lossy"]
    assert [row["lost_other"] for row in rows] == [5, 1]  # Z, k and the three bytes of the sum; p
    assert case.value("unk_rate", "bl_noalphabet", "no_alphabet") == 0
    assert [row["lost_spacing"] for row in rows] == [1, 0]  # the tab
    assert case.value("lost_byte_share", "bl_noalphabet", "no_alphabet") == 7 / 32
    assert case.value("rank", "bl_noalphabet", "no_alphabet") is None
    assert case.value("rank", "bl", "no_alphabet") is not None
    message = case.witness("bl_noalphabet", "no_alphabet", "byte_sum")
    assert message == "token bytes add up to 15, the text has 21 bytes"
    note = "179 of the 256 bytes have no token and vanish without a trace"
    assert note in case.view.run["tokenizers"]["bl_noalphabet"]["notes"]
    assert note in case.report


def test_c3_cells_without_text_are_counted_and_the_text_na_is_text(case: Case) -> None:
    meta = case.view.corpora["na"]["en"]
    assert meta["rows_seen"] == 7
    assert sum(meta["rows_skipped"].values()) + meta["documents"] == 7
    assert meta["documents"] == 6
    assert case.documents("bl", "na")[0]["bytes"] == 2
    assert case.view.corpora["numbers"]["en"]["documents"] == 2
    assert "1 row skipped" in case.report
    assert case.status("bl", "na_refused") == {"failed"}
    [reason] = {c["detail"] for c in case.view.run["cells"] if c["corpus"] == "na_refused"}
    assert "row" in reason
    assert "'text'" in reason


def test_c4_unit_and_line_ends_are_stated_and_the_bytes_lost_are_visible(case: Case) -> None:
    metas = {name: case.view.corpora[name]["en"] for name in ("lines", "lines_kept", "document")}
    assert [meta["unit"] for meta in metas.values()] == ["line", "line", "document"]
    assert [meta["line_ends"] for meta in metas.values()] == ["strip", "keep", "keep"]
    assert [meta["bytes_in_files"] for meta in metas.values()] == [41, 41, 41]
    assert metas["lines"]["bytes"] < 41
    assert metas["lines_kept"]["bytes"] == metas["document"]["bytes"] == 41
    for name, meta in metas.items():
        assert case.value("tokens", "bytes_only", name) == meta["bytes"]


def test_c6_only_the_columns_asked_for_are_read(case: Case) -> None:
    assert case.status("bl", "schemas") == {"ok"}
    assert case.view.corpora["schemas"]["en"]["documents"] == 2


def test_c7_a_config_never_reads_text_as_something_else(cases_folder: Path, tmp_path: Path) -> None:
    shared = (cases_folder / "languages.yaml").read_text(encoding="utf-8")
    config = tmp_path / "config.yaml"
    lines = [f"    {line}\n" for line in shared.splitlines()]
    config.write_text(
        "name: n\ntokenizers: {t: {type: utf8_bytes}}\ncorpora:\n  c:\n    source: huggingface\n"
        "    path: p\n    config: '{language}'\n" + "".join(lines)
    )
    with pytest.raises(ConfigError) as caught:
        load_config(config)
    told = str(caught.value)
    assert 'write it in quotes: "0123456"' in told
    assert "version: unknown key" in told
    assert "True" not in told
    assert "False" not in told


def test_d1_byte_totals_come_from_the_text_and_agree_with_the_vocabulary(case: Case) -> None:
    for tokenizer in ("bytes_only", "ranks"):
        rows = case.documents(tokenizer, "partial_utf8")
        assert [row["bytes"] for row in rows] == [7, 13, 5]
        assert case.value("byte_sum_breaches", tokenizer, "partial_utf8") == 0
        assert case.value("bytes_per_token", tokenizer, "partial_utf8") == 1


def test_d2_words_are_undefined_by_script_and_not_by_label(
    measure: Measure, cases_folder: Path, case_tokenizers: Path
) -> None:
    lines = (cases_folder / "words.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    files = {f"{n}.jsonl": [{"id": "0", "text": row["text"]}] for n, row in enumerate(rows)}
    corpora = {
        # every text is labelled English: the letters decide
        f"c{n}": {"source": "files", "path": f"{n}.jsonl", "language": "en", "id": "id"}
        for n in range(len(rows))
    }
    tokenizers = {"bl": {"type": "huggingface", "file": str(case_tokenizers / "bl.json")}}
    case = Case(measure({"corpora": corpora, "tokenizers": tokenizers}, files))
    for n, row in enumerate(rows):
        spaced = all(ord(c) < 0x0E00 for c in row["text"])
        fertility = case.view.row("fertility", "bl", f"c{n}", "en")
        assert fertility is not None
        assert (fertility["value"] is not None) == spaced
        assert spaced or fertility["detail"]
        assert case.value("bytes_per_token", "bl", f"c{n}") is not None
    assert "no word metrics for en" in case.report


def test_d4_a_table_has_one_row_per_token_in_a_github_style_renderer(
    cases_folder: Path,
) -> None:
    from tokbench.bench.markup import escape, markdown_table, visible

    lines = (cases_folder / "table_tokens.jsonl").read_text(encoding="utf-8").split("\n")
    tokens = [json.loads(line) for line in lines if line]
    tokens = [t if isinstance(t, str) else next(iter(t.values())) for t in tokens]
    assert len(tokens) == 17
    for show in (escape, lambda token: escape(visible(token))):
        shown = [[show(token), str(number)] for number, token in enumerate(tokens)]
        table = rendered_table(markdown_table(["token", "n"], shown))
        assert len(table) == 1 + 17
        assert {len(row) for row in table} == {2}
        assert [row[1] for row in table[1:]] == [str(number) for number in range(17)]
        texts = dict(zip(tokens, [row[0] for row in table[1:]], strict=True))
        for token in ("007", "1e5", "1.0", "a|b", "<b>", "`"):
            if token in texts:
                assert texts[token] == token
        for text in texts.values():
            hidden = {"Cc", "Cf", "Zl", "Zp"}
            assert not any(unicodedata.category(c) in hidden for c in text)


def rendered_table(markdown: str) -> list[list[str]]:
    """Render Markdown as GitHub does; the text of each cell, and no markup inside any."""
    markdown_it = pytest.importorskip("markdown_it")
    tokens = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "text_special"}, markdown
            rows[-1].append("".join(child.content for child in token.children))
    return rows


def test_d5_counts_are_integers_in_one_schema_whatever_fails(case: Case) -> None:
    """One of two cells fails: the schema test of the result files is in tests/bench."""
    failed = [r for r in case.view.rows if r["corpus"] == "na_refused"]
    assert {row["status"] for row in failed} == {"failed"}
    assert {row["n"] for row in failed} == {None}
    assert str(case.run.results.to_pandas()["n"].dtype) == "Int64"


def test_d6_the_headline_is_a_ratio_of_totals(case: Case) -> None:
    rows = case.documents("bl", "mixture")
    assert len(rows) == 121
    pooled = case.value("bytes_per_token", "bl", "mixture")
    total = sum(row["bytes"] for row in rows) / sum(row["tokens"] for row in rows)
    assert pooled == total
    assert round(total, 2) == 4.57
    assert "totals over all documents" in case.view.run["metrics"]["bytes_per_token"]["definition"]


def test_d7_truncation_padding_and_template_are_off_and_noted(case: Case) -> None:
    assert case.value("tokens", "bl_trunc16", "joined") == 930
    assert case.value("tokens", "bl_trunc16", "mixture") == case.value("tokens", "bl", "mixture")
    notes = " ".join(case.view.run["tokenizers"]["bl_trunc16"]["notes"])
    for switched_off in ("truncation to 16 tokens", "padding", "template"):
        assert switched_off in notes
    assert "truncation to 16 tokens switched off" in case.report


def test_d8_report_files_are_utf_8_and_no_byte_of_the_locale(case: Case) -> None:
    """Consoles that cannot show a character are in tests/bench/test_cli.py."""
    folder = case.run.results.folder
    for name in ("report.md", "summary.txt", "run.json"):
        (folder / name).read_bytes().decode("utf-8")
    assert not [path for path in folder.rglob("*") if path.name.endswith(".tmp")]
