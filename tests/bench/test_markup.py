"""Whatever a token contains, a table keeps its rows and shows the token as it is."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tokbench.bench.console import remark
from tokbench.bench.markup import (
    count,
    csv_cell,
    escape,
    html,
    latex,
    markdown_table,
    number,
    one_line,
    percent,
    strict_json,
    table,
    terminal,
    visible,
    xml,
)

markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")
pytest.importorskip("linkify_it", reason="linkify-it-py is needed to find bare links")
GITHUB = markdown_it.MarkdownIt("gfm-like")
CUT = "\u200b"

HARD = (
    "a|b", "`|`", "\\|", "\\", "a\\", "<b>", "</td>", "<!--", "&amp;", "&#124;", "**x**", "_x_",
    "~~x~~", "[x](y)", "![x](y)", "<http://a.b>", "http://a.b", "www.a.b", "a@b.c", ":smile:",
    "@user", "#1", "org/repo#45", "GH-7", "http://evil.com/x", "//localhost", "evil.co.uk", "☃.com",
    "HTTPS://A.ORG", "ftp://a.b", "mailto:a@b.co", "x@", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "1)", "===", "***", "~~~", "[a]: http://x.y", "&#64;user", "&amp;#64;user", "- [ ] x", "> [!NOTE]",
    "- x", "+ x", "1. x", "# x", "> x", "---", "|---|", "$x$", "\n", "\r\n", "\t",
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
            assert shown.replace(CUT, "") == token.strip()


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
            assert shown.replace(CUT, "") == text.strip()


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


REFERENCE = re.compile(
    r"@\w|#\d|\bGH-\d|:[\w+-]+:|(?<![0-9A-Za-z])(?!(?<=\d\.)\d+(?![0-9A-Za-z]))[0-9a-f]{7,40}(?![0-9A-Za-z])",
    re.IGNORECASE,
)
"""What GitHub and GitLab look for in the text that is left when Markdown has been read."""


def paragraph(markdown: str) -> str:
    """The text of a page that is one paragraph without markup."""
    opening, inline, closing = GITHUB.parse(markdown) or [None, None, None]
    assert opening is not None
    assert (opening.type, closing.type) == ("paragraph_open", "paragraph_close")
    assert inline is not None
    assert {child.type for child in inline.children} <= {"text", "text_special"}, markdown
    return "".join(child.content for child in inline.children)


@settings(deadline=None, max_examples=500)
@given(
    st.one_of(
        st.sampled_from(HARD),
        st.lists(st.sampled_from(["http://", "www.", "a.com", "@", "#12", "user", " ", "-", "1.", "abcdef0",
                                  ":x:", "GH-", "/", ".", "org", "[a](b)", "<i>", "`", "|", "=", "\n"]),
                 max_size=6).map("".join),
    )
)  # fmt: skip
def test_a_paragraph_of_any_text_has_no_link_mention_or_reference(text: str) -> None:
    if one_line(text).strip():
        assert not REFERENCE.search(paragraph(escape(text)))


def test_a_text_that_is_cut_reads_as_before() -> None:
    for token in HARD:
        if token.strip() and token.isprintable():
            assert paragraph(escape(token)).replace(CUT, "") == token.strip()


@settings(deadline=None)
@given(st.text(max_size=20))
@example("a\n::error::b")
@example("\x85::stop-commands::x")
@example("\tx ##[group]y ##vso[task] ###teamcity[z]")
@example("  ::add-mask::x")
def test_a_terminal_and_a_ci_runner_get_no_command(text: str) -> None:
    shown = terminal(text)
    assert shown.count("\n") == text.count("\n")
    assert not any(
        unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") for c in shown if c not in "\n\t"
    )
    for line in shown.split("\n"):
        assert not line.strip().startswith("::")
        assert not re.search(r"##[\w-]*\[", line, re.ASCII)
    assert len(one_line(text).splitlines()) <= 1


def test_a_row_of_a_plain_table_stays_one_line() -> None:
    assert table(["a", "n"], [["x\n::error::y", "1"]]).splitlines()[1:] == ["x\\u{A}::error::y  1"]


@settings(deadline=None)
@given(st.text(max_size=20))
@example("\x00<b a='1' c=\"2\">&amp;\ufffe")
def test_html_and_xml_hold_any_text(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert element.get("b") == one_line(text)
    assert (element.text or "") == one_line(text)
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html(text))
    assert tags == []


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", " =1", "＝1", "\t=1", "%0A=1"]
)
def test_a_spreadsheet_reads_no_cell_as_a_formula(text: str) -> None:
    written = io.StringIO()
    csv.writer(written).writerow([csv_cell(text), csv_cell("-5.5"), csv_cell("1e-7")])
    [[cell, *numbers]] = csv.reader(io.StringIO(written.getvalue()))
    assert cell.lstrip()[0] not in "=+-@＝%\t"
    assert numbers == ["-5.5", "1e-7"]


def test_latex_has_no_command_of_the_text() -> None:
    assert latex(r"\write18{rm}") == r"\textbackslash{}write18\{rm\}"
    assert latex("a_b^c ~ $x$ & 5 % #1 -- [x]") == (
        r"a\_b\textasciicircum{}c \textasciitilde{} \$x\$ \& 5 \% \#1 -{}-{} {[}x{]}"
    )


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=10))
@example("\udc80")
@example("##[error]")
def test_json_is_strict_and_reads_back(text: str) -> None:
    for ascii_only in (True, False):
        written = strict_json({text: [text]}, ascii_only=ascii_only)
        written.encode()
        assert "##" not in written
        if text.isprintable():
            assert json.loads(written) == {text: [text]}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_json_refuses_what_is_no_number(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        strict_json([value])


def test_a_remark_on_one_thing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    remark("en\n::error::x: cannot be read")
    assert capsys.readouterr().err == "en\\u{A}::error::x: cannot be read\n"
