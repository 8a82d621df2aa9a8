"""What users read (help, errors, findings, reports) is idiomatic: no phrase of the list below."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("bench", "suites", "tokenizers_impl", "reports")
BANNED = re.compile(
    r"(?<!there )\bis no (?!longer)|\btold\b|\btells?\b|\bwhoever\b|\bnobody\b|\bsomebody\b|\banybody\b"
    r"|\bcame of it\b|\bbecame of\b|\blooked at\b|\bstands? (?:for|beside)\b|\bby the wall\b"
    r"|\bdearest\b|\bless than sure\b|\bcr(?:y|ies) wolf\b|\bnowhere\b|\bwhatever\b"
    r"|\basked for\b|\bsaid nothing\b",
    re.IGNORECASE,
)
WORDS = 4  # shorter strings are names, keys and parts of patterns


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the strings that are not docstrings; placeholders are left out."""
    found = ast.parse(source)
    skipped = {id(n.value) for n in ast.walk(found) if isinstance(n, ast.Expr)}
    for node in ast.walk(found):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node)} - {id(node)}
    for node in ast.walk(found):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            values = [v.value for v in node.values if isinstance(v, ast.Constant)]
            yield node.lineno, " … ".join(map(str, values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def faults(source: str) -> list[str]:
    """Return the sentences that hold a banned phrase."""
    return [
        f"{line}: {text}"
        for line, text in sentences(source)
        if len(text.split()) >= WORDS and BANNED.search(text)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_sentence_for_users_holds_a_banned_phrase(folder: str) -> None:
    if not (ROOT / folder).is_dir():
        pytest.skip("needs a checkout")
    found = {
        str(path.relative_to(ROOT)): wrong
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (wrong := faults(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_a_banned_phrase_is_found_in_a_message_and_not_in_a_docstring_or_a_placeholder() -> None:
    source = '''
def f(told):
    """Whoever reads this is told."""
    raise ValueError(f"{told} is no number of this kind, write 1")
'''
    assert faults(source) == ["4:  is no number of this kind, write 1"]
