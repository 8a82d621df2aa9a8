"""Names and tokens of a stranger, through a whole run: no page has a link, image, HTML or mention."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from command_line import tokbench

markdown_it = pytest.importorskip("markdown_it", reason="rich brings markdown-it-py")
pytest.importorskip("linkify_it", reason="linkify-it-py is needed to find bare links")
PAGE = markdown_it.MarkdownIt("gfm-like")

HOSTILE = [
    "http://evil.example/x", "https://evil.com", "www.evil.com", "evil.org", "//evil.com", "a@evil.com",
    "@user", "@org/team", "see #123", "org/repo#45", "GH-7", ":smile:", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "<img src=a>", "<script>alert(1)</script>", "[l](http://u.com)", "![i](u)", "**b**", "a|b", "`|`", "\\|",
    "# h", "- l", "1. l", "> q", "===", "---", "~~~", "&#64;user", "&lt;b&gt;", "$x$", "_e_", "</details>",
    "\u202ertl\u202c", "\u001b[31mred", "\u009b31m", "a\n::error::b", "::error::c", "##[group]d", "##vso[task]e",
    "\u200b", "\u2028", "\r", "مرحبا", "007", "=1+1",
]  # fmt: skip
MENTION = re.compile(
    r"@\w|#\d|\bGH-\d|:[a-z]\w+:|(?<![0-9A-Za-z])(?!(?<=\d\.)\d+(?![0-9A-Za-z]))[0-9a-f]{7,40}(?![0-9A-Za-z])",
    re.IGNORECASE,
)
REGIONS = tuple("AE AF AG AI AL AM AO AR AS AT AU AW AZ BA BB BD BE BF BG BH BI BJ".split())  # noqa: SIM905
OUR_FILES = ("report.html", "detail.md")
BESIDE = re.compile(r"figures/(www\.evil\.com|a%2312)-(bytes_per_token|premium)\.svg")
"""Pictures that a report links to; the name of a corpus is in them, and no way out of the folder."""
OURS = {"<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>"}


@pytest.fixture(scope="module", params=["short", pytest.param("whole", marks=pytest.mark.long)])
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether commands run in processes of their own, over three tokens a language and all cases."""
    return bool(request.param == "whole")


@pytest.fixture(scope="module")
def tokens(whole: bool) -> list[str]:
    """The hostile list; the whole form has the token strings of the shared cases too."""
    if not whole:
        return HOSTILE
    cases = Path(os.environ.get("TOKBENCH_CASES", Path(__file__).parents[2] / "../shared/cases"))
    file = cases / "table_tokens.jsonl"
    more = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return list(dict.fromkeys([*HOSTILE, *(json.loads(line)["token"] for line in more)]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokens: list[str], whole: bool) -> Path:
    """A folder with a run of hostile names, its reports and comparisons."""
    place = tmp_path_factory.mktemp("hostile")
    config = _config(place, tokens, 3 if whole else 12)
    if not whole:  # a walk through all characters takes longer than everything else
        config["suites"]["witnesses"] = {"fuzz": 5}
        config["tokenizers"]["GH-7"] = {"type": "utf8_bytes"}
    broken = (config["corpora"].pop("a#12"), config["tokenizers"].pop("evil.com"))
    for name in ("second", "first"):
        if name == "first":
            config["corpora"]["a#12"], config["tokenizers"]["evil.com"] = broken
        config["corpora"]["www.evil.com"]["limit"] = {"rows": len(name) * 5}
        text = json.dumps({**config, "name": name}, ensure_ascii=True)
        (place / f"{name}.yaml").write_text(text, encoding="utf-8")
    return place


def _config(place: Path, tokens: list[str], width: int) -> dict[str, Any]:
    for number, name in enumerate(("one @user #12 www.evil.com.jsonl", "two <img src=a>.jsonl")):
        rows = [{"id": t, "text": f"{t} {t} {number}"} for t in tokens]
        (place / name).write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    vocabulary = {t: i for i, t in enumerate(["[UNK]", *tokens])}
    added = [{"id": i, "content": t, "special": i == 0, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False} for t, i in vocabulary.items() if t.strip()]  # fmt: skip
    spec = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}}  # fmt: skip
    (place / "tokenizer @user #3.json").write_text(json.dumps(spec), encoding="utf-8")
    files = ["one @user #12 www.evil.com.jsonl", "two <img src=a>.jsonl"]
    keys = ["  ".join(tokens[i : i + width]) + "  " for i in range(0, len(tokens), width)]
    languages = {
        key: {"tag": f"en-{REGIONS[i]}", "file": files[i % 2]} for i, key in enumerate(keys)
    }
    return {
        "description": " ".join(tokens),
        "resamples": 200,
        "corpora": {"www.evil.com": {"source": "files", "languages": languages, "id": "id"},
                    "a#12": {"source": "files", "language": "de", "path": "none @user #4.txt"}},
        "tokenizers": {"www.evil.org": {"type": "utf8_bytes"}, "GH-7": {"type": "characters"},
                       "deadbeef00": {"type": "huggingface", "file": "tokenizer @user #3.json"},
                       "evil.com": {"type": "huggingface", "file": "missing @user http://a.com.json"}},
        "suites": {name: {} for name in ("efficiency", "information", "fidelity", "multilingual", "vocabulary",
                                         "witnesses")},
        "reports": ["markdown", "detail"],
    }  # fmt: skip


def _in_a_process(folder: Path, *arguments: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "tokbench", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def _here(folder: Path, *arguments: str) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = tokbench(*arguments, *(("--jobs", "0") if arguments[0] == "run" else ()))
    assert isinstance(done.exception, SystemExit | None), (arguments, done.exception)
    return done


@pytest.fixture(scope="module")
def outputs(folder: Path, whole: bool) -> list[str]:
    """All that the commands print."""
    said = []
    run = _in_a_process if whole else _here
    baseline = "x <img src=a> [l](http://e.com) **b** @user.baseline.json"
    for arguments in (
        ("run", "first.yaml"),
        ("run", "second.yaml"),
        ("baseline", "save", "runs/second-1", baseline),
        ("compare", baseline, "runs/first-1", "--output", "base"),
        ("compare", "runs/first-1", "runs/second-1", "--output", "out"),
        ("inspect", "--config", "first.yaml", "--format", "markdown", " ".join(HOSTILE)),
        ("inspect", "--config", "first.yaml", " ".join(HOSTILE)),
        ("which", "--config", "first.yaml", " ".join(HOSTILE)),
        ("validate", "first.yaml"),
        ("plan", "first.yaml"),
        ("validate", "first.yaml", "--set", "tokenizers.\x1b[31mx={type: utf8_bytes}"),
    ):
        done = run(folder, *arguments)
        assert "Traceback" not in done.stderr, (arguments, done.stderr[-3000:])
        said += [done.stdout, done.stderr]
    return said


def problems(text: str) -> Iterator[str]:
    """What a renderer would make of a page beyond text, tables, lists and headings."""
    for token in PAGE.parse(text):
        if token.type == "html_block" and "<" in re.sub("|".join(OURS), "", token.content):
            yield f"HTML: {token.content[:200]}"
        for child in token.children or ():
            target = (child.attrs or {}).get("href") or (child.attrs or {}).get("src")
            if target in OUR_FILES or BESIDE.fullmatch(str(target)):
                continue
            if child.type in ("link_open", "image", "html_inline") and child.content not in OURS:
                yield f"{child.type}: {child.attrs} {token.content[:200]}"
            if child.type in ("text", "text_special") and (found := MENTION.search(child.content)):
                yield f"reference: {found[0]} in {child.content[:100]}"


def test_no_page_has_a_link_an_image_html_or_a_mention(folder: Path, outputs: list[str]) -> None:
    pages = sorted(folder.rglob("*.md"))
    assert {page.name for page in pages} >= {"report.md", "detail.md", "comparison.md"}
    for page in pages:
        assert list(problems(page.read_text(encoding="utf-8"))) == [], page
    assert list(problems(outputs[10])) == []  # inspect --format markdown


def test_no_output_has_an_escape_code_or_a_command_to_a_ci_runner(outputs: list[str]) -> None:
    for text in outputs:
        assert not re.search(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", text
        )
        for line in text.split("\n"):
            assert not line.strip().startswith("::"), line
            assert "##[" not in line, line
            assert "##vso[" not in line, line


def test_junit_and_json_can_be_read(folder: Path, outputs: list[str]) -> None:
    ElementTree.parse(folder / "out" / "junit.xml")
    for path in [*folder.glob("out/*.json"), *folder.glob("runs/*/*.json")]:
        json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
