"""The page on byte-level BPE shows what the code does."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from tokbench.tokenizers_impl.byte_bpe.merges import textbook_merges

PAGE = Path(__file__).parents[2] / "docs" / "algorithms" / "byte_bpe.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not in this checkout")


def test_the_examples_on_the_page_are_true() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 5
    assert failed == 0


def test_the_textbook_on_the_page_is_the_textbook_in_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = text[text.index("def textbook_merges") :].split("```", 1)[0]
    assert without_docstring(shown) == without_docstring(inspect.getsource(textbook_merges))


def without_docstring(source: str) -> str:
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:]
    return ast.unparse(function)


def test_the_definition_needs_no_numpy() -> None:
    """A learner can read and run it with the standard library and `regex`."""
    code = (
        "import sys; import tokbench.tokenizers_impl.byte_bpe.model as m; "
        "print(m.encode(m.minbpe_example(), 'aaabdaaabac'), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[258, 100, 258, 97, 99] False\n"
