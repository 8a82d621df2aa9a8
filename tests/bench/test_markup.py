"""Whatever a token contains, a table keeps its rows and shows the token as it is."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tokbench.bench.markup import count, escape, markdown_table, number, percent, visible

markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")
GITHUB = markdown_it.MarkdownIt("gfm-like", {"linkify": False})

HARD = (
    "a|b", "`|`", "\\|", "\\", "a\\", "<b>", "</td>", "<!--", "&amp;", "&#124;", "**x**", "_x_",
    "~~x~~", "[x](y)", "![x](y)", "<http://a.b>", "http://a.b", "www.a.b", "a@b.c", ":smile:",
    "@user", "#1", "- x", "+ x", "1. x", "# x", "> x", "---", "|---|", "$x$", "\n", "\r\n", "\t",
    "\x00", "\x1b[31m", "\u202e", "\u200b", "\u2028", "\u0085", "\ufeff", "\ue000", "\U000e0001",
    " ", "", "  a  ", "007", "1e5", "1.0", "```", "``", "'", '"', "{{x}}", "<script>alert(1)</script>",
)  # fmt: skip


def cells(markdown: str) -> list[list[str]]:
    """The text of each cell as a GitHub-style renderer shows it."""
    rows: list[list[str]] = []
    for token in GITHUB.parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            assert {child.type for child in token.children} <= {"text", "text_special"}, markdown
            rows[-1].append("".join(child.content for child in token.children))
        else:
            assert re.match("(table|thead|tbody|tr|th|td)_(open|close)", token.type), token.type
    return rows


def test_a_table_of_hard_tokens_has_one_row_each() -> None:
    rendered = cells(markdown_table(["token", "n"], [[escape(t), "1"] for t in HARD]))
    assert len(rendered) == len(HARD) + 1
    assert {len(row) for row in rendered} == {2}
    for token, (shown, _) in zip(HARD, rendered[1:], strict=True):
        if not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Co") for c in token):
            assert shown == token.strip()


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4))
@example(["a|", "|b"])
@example(["`", "`"])
@example(["*a", "b*"])
def test_any_row_of_any_text_is_one_row_without_markup(texts: list[str]) -> None:
    row = [escape(text) for text in texts] + ["end"]
    header = [f"h{n}" for n in range(len(row))]
    rendered = cells(markdown_table(header, [row, row]))
    assert len(rendered) == 3
    assert {len(r) for r in rendered} == {len(row)}
    assert rendered[1] == rendered[2]
    for text, shown in zip(texts, rendered[1], strict=False):
        if text.isprintable() and text.isascii():
            assert shown == text.strip()


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12))
def test_what_is_shown_has_nothing_that_cannot_be_seen(text: str) -> None:
    for shown in (escape(text), visible(text)):
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cn") for c in shown)


@settings(deadline=None)
@given(st.text(max_size=8), st.text(max_size=8))
@example(" ", "␣")
@example("\u0301", "◌\u0301")
@example("\n", "\\u{A}")
def test_different_tokens_look_different(one: str, other: str) -> None:
    if one != other:
        assert visible(one) != visible(other)
        assert escape(visible(one)) != escape(visible(other))


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (" the", "␣the"),
        ("a\u00a0b", "a\\u{A0}b"),
        ("\u202e", "\\u{202E}"),
        ("\\", "\\\\"),
        ("\u0301", "◌\u0301"),
        (" \u0301", "␣◌\u0301"),
        ("ड\u093c\u093e", "ड\u093c\u093e"),
        ("\u093e\u0928", "◌\u093e\u0928"),
        ("日本", "日本"),
        ("\ud800", "\\u{D800}"),
    ],
)
def test_a_token_is_shown_so_that_it_can_be_seen(token: str, shown: str) -> None:
    assert visible(token) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 %"), (1, "100 %"), (0.5, "50.0 %"), (0.00001, "< 0.1 %"), (0.99999, "> 99.9 %"),
        (0.9995, "> 99.9 %"), (0.0005, "< 0.1 %"), (0.001, "0.1 %"), (1.5, "150.0 %"),
        (-0.25, "-25.0 %"), (None, "–"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_nothing_or_to_all(value: float | None, shown: str) -> None:
    assert percent(value) == shown


def test_numbers_have_separators_and_none_is_a_dash() -> None:
    assert (number(1234.567), number(None), number(0.5, 1)) == ("1,234.57", "–", "0.5")
    assert (count(200019), count(None), count(2.0)) == ("200,019", "–", "2")
