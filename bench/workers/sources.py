"""Loads the tokenizer of a config entry, in any process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.errors import TokbenchError, TokenizerError, is_library_failure, named
from tokbench.bench.guard import contained
from tokbench.bench.model import Tokenizer
from tokbench.bench.plugins import LoadContext, TokenizerPlugin


@dataclass(frozen=True, kw_only=True)
class TokenizerSource:
    """The arguments to load one tokenizer: small enough to send to another process."""

    key: str
    plugin: TokenizerPlugin
    folder: Path

    def load(self) -> Tokenizer:
        """Return the tokenizer; any failure of its library becomes a `TokenizerError`."""
        with library_failures(self.key):
            return self.plugin.load(LoadContext(folder=self.folder))


@contextmanager
def library_failures(key: str, doing: str = "load it") -> Iterator[None]:
    """Turn what a tokenizer's library raises in the block into a `TokenizerError`."""
    with failures_named(f"tokenizer {key}: its library cannot {doing}: "):
        yield


@contextmanager
def failures_named(start: str = "") -> Iterator[None]:
    """Turn foreign exceptions in the block into a `TokenizerError` that begins so.

    What the block moves in this process, such as its working folder, is put back.
    """
    try:
        with contained():
            yield
    except TokbenchError:
        raise
    except BaseException as exc:
        if not is_library_failure(exc):
            raise
        raise TokenizerError(f"{start}{named(exc)}") from exc
