"""Segmenters by name: Thai, Chinese, Japanese, Khmer.

Each cuts with the defaults of a library; results record its version. Another library, or another
idea of a word, is a plug-in of `tokbench.segmenters`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tokbench.bench.environment import version_of
from tokbench.bench.errors import InputError
from tokbench.bench.plugins import SegmenterPlugin

Cut = Callable[[str], Iterable[str]]


class ThaiWords(SegmenterPlugin):
    """Thai words by PyThaiNLP's dictionary (newmm)."""

    def version(self) -> str:
        """Return library and engine."""
        return f"{_installed('thai', 'pythainlp')}, newmm"

    def load(self) -> Cut:
        """Return the cutter; the library is kept from making its folder of downloads."""
        os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
        from pythainlp.tokenize import word_tokenize

        return lambda text: word_tokenize(text, engine="newmm", keep_whitespace=True)


class ChineseWords(SegmenterPlugin):
    """Chinese words by jieba's dictionary, with its model for unknown words."""

    def version(self) -> str:
        """Return the library."""
        return _installed("chinese", "jieba")

    def load(self) -> Cut:
        """Return the cutter."""
        import logging

        import jieba

        jieba.setLogLevel(logging.WARNING)
        return lambda text: jieba.cut(text, HMM=True)


class JapaneseWords(SegmenterPlugin):
    """Japanese morphemes by janome, with its IPADIC dictionary: shorter than words."""

    def version(self) -> str:
        """Return library and dictionary."""
        return f"{_installed('japanese', 'janome')}, IPADIC"

    def load(self) -> Cut:
        """Return the cutter."""
        from janome.tokenizer import Tokenizer

        tokenizer = Tokenizer()
        return lambda text: tokenizer.tokenize(text, wakati=True)


class KhmerWords(SegmenterPlugin):
    """Khmer words by the model of khmer-nltk."""

    def version(self) -> str:
        """Return the library."""
        return _installed("khmer", "khmer-nltk")

    def load(self) -> Cut:
        """Return the cutter.

        The library rewrites spaces and some spellings: it is given runs of Khmer letters alone, and
        its cuts are put into the text as it is.
        """
        import logging

        from khmernltk import word_tokenize

        logging.getLogger("khmer-nltk").setLevel(logging.WARNING)
        return lambda text: _by_runs(text, word_tokenize)


_KHMER = re.compile("([\u1780-\u17d3\u17dc\u17dd]+)")


def _by_runs(text: str, cut: Callable[[str], Any]) -> Iterator[str]:
    for i, part in enumerate(_KHMER.split(text)):
        if i % 2 == 0:
            yield from re.findall(r"\w+|\W+", part)
            continue
        pieces = list(cut(part))
        # a run whose spelling the library corrects stays whole
        yield from pieces if "".join(pieces) == part else [part]


def _installed(name: str, library: str) -> str:
    version = version_of(library)
    if version is None:
        raise InputError(
            f"segmenter {name} requires {library}, which is not installed; "
            "install tokbench with its extra: pip install 'tokbench[words]'"
        )
    return f"{library} {version}"
