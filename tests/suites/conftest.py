"""What suites ask in tests."""

from __future__ import annotations

import pytest

from byte_tokenizer import Ask, Bytes
from tokbench.bench.run.probe import Subject


@pytest.fixture
def ask() -> Ask:
    """Make a subject of a byte tokenizer with the given changes."""
    return lambda **options: Subject(key="bytes", tokenizer=Bytes(**options))
