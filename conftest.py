"""Tests of a package's file run under the name it is imported by, `tokbench.bench.errors`.

`pytest bench/errors.py` means `src/tokbench/bench/errors.py`, which links there: by its own path
the file would be a second module, `bench.errors`, with classes of its own.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent

collect_ignore = ["bench", "suites", "tokenizers_impl", "reports"]  # `pytest .` finds the links


REAL = frozenset({"data_folder", "cases_folder", "data", "cases"})
"""Fixtures that give folders of real tokenizers, corpora and cases."""


LONG = ("tests/hub", "tests/page", "tests/bench/test_asking.py")
"""A Hub that answers slowly, a browser, and crash after crash: they take minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `pytest` leaves out: tests that need real data, and those that take minutes."""
    for item in items:
        if REAL & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)
        if item.path.is_relative_to(ROOT) and str(item.path.relative_to(ROOT)).startswith(LONG):
            item.add_marker(pytest.mark.long)


def pytest_configure(config: pytest.Config) -> None:
    """Name the linked file for each that was given by its own path."""
    for index, argument in enumerate(config.args):
        path, mark, test = argument.partition("::")
        given = (config.invocation_params.dir / path).resolve()
        if given != ROOT and given.is_relative_to(ROOT):
            linked = ROOT / "src" / "tokbench" / given.relative_to(ROOT)
            if linked.exists():
                config.args[index] = f"{linked}{mark}{test}"
