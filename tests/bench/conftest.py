"""A corpus in one line, for the tests of the corpus layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from bench.corpora import AnyCorpus, CorpusEntry
from bench.slices import Slice, materialise

Materialise = Callable[..., Slice]


@pytest.fixture(scope="session")
def entry() -> Callable[..., AnyCorpus]:
    """Make a corpus entry of keyword arguments, as a config would."""
    adapter: TypeAdapter[Any] = TypeAdapter(CorpusEntry)
    return lambda **options: adapter.validate_python(options)


@pytest.fixture
def make(entry: Callable[..., AnyCorpus], tmp_path: Path) -> Materialise:
    """Materialise one language of an entry; files are looked for in `tmp_path`, or in `folder`."""

    def make_slice(key: str = "en", /, *, folder: Path = tmp_path, **options: Any) -> Slice:
        if "languages" not in options:
            options["language"] = key
        return materialise("mine", entry(**options), key, folder)

    return make_slice
