"""A class name means one thing in the whole tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("src/tokbench", "bench", "suites", "tokenizers_impl", "reports")


def modules() -> list[Path]:
    return sorted({path.resolve() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")})


def classes(module: Path) -> list[str]:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def test_no_class_name_occurs_in_two_modules() -> None:
    """Private ones included: a reader who searches for a name finds one thing."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for name in classes(module):
            places[name].append(str(module.relative_to(ROOT)))
    assert len(places) > 400
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
