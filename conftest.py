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


LONG = (
    # A Hub that answers slowly, a browser.
    "tests/hub",
    "tests/page",
    # Whole runs of the action.
    "tests/action/test_action.py",
    # Crash after crash, each in a process of its own.
    "tests/bench/gate/test_ab.py",
    "tests/bench/gate/test_false_alarms.py",
    "tests/bench/gate/test_pytest_plugin.py",
    "tests/bench/test_asking.py",
    "tests/bench/test_cases_of_failure.py",
    "tests/bench/test_cpu_seconds.py",
    "tests/bench/test_isolated_workers.py",
    "tests/bench/test_isolation.py",
    "tests/bench/test_odd_paths.py",
    "tests/bench/test_plugin_faults.py",
    "tests/bench/test_privacy.py::test_a_run_folder_and_all_output_of_failing_commands",
    "tests/suites/test_complexity.py",
    # A tokenizer is examined, or a run estimated, in many processes.
    "tests/bench/first_hour/test_check.py",
    "tests/bench/first_hour/test_estimate.py",
    "tests/bench/test_conform_command.py",
    # Files of a hundred million lines.
    "tests/bench/test_odd_files.py::test_a_file_that_unpacks_without_end",
)
"""What takes minutes: beginnings of test names. The fast tests stay under five minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `pytest` leaves out: tests that need real data, and those that take minutes."""
    for item in items:
        if REAL & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)
        if item.nodeid.startswith(LONG):
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
