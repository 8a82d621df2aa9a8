"""What reports say about where tokens end, and about measures that invite misuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokbench.bench.markup import escape, number, percent
from tokbench.reports.tables import by_language, folded, value_of
from tokbench.reports.view import View

MANY = 0.02
"""Share of tokens over several words from which on fertility is said to mislead."""


class SpanningTokens(NamedTuple):
    """A tokenizer whose tokens span words, in one language."""

    language: str
    share: float | None
    fertility: float
    tokens: float


def joined_words(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    """Yield a note for each tokenizer whose tokens span words, so that fertility misleads."""
    languages = view.languages(corpus)
    for name in names:
        found = next(filter(None, (_joined(view, name, corpus, k) for k in languages)), None)
        if found is None:
            continue
        language = escape(found.language)
        share = f" ({percent(found.share)} of them in {language})" if found.share else ""
        yield (
            f"**{escape(name)} writes tokens that span words**{share}: {number(found.tokens)} "
            f"tokens per word in {language}, and a fertility of {number(found.fertility)}, which "
            "counts a token once for each word that it overlaps. Fertility and words in a token of "
            "their own presuppose cuts at words: compare it by `tokens_per_word`."
        )


def _joined(view: View, name: str, corpus: str, language: str) -> SpanningTokens | None:
    """Return a case where fertility misleads, by what was counted or because it is above all."""
    fertility = view.value("fertility", name, corpus, language)
    tokens = view.value("tokens_per_word", name, corpus, language)
    if fertility is None or tokens is None:
        return None
    share = view.value("multi_word_token_share", name, corpus, language)
    if fertility > tokens or (share is not None and share >= MANY):
        return SpanningTokens(language, share, fertility, tokens)
    return None


COMPRESSION_ALONE = (
    "Compression alone does not make a better model (Schmidt et al. 2024, arXiv 2402.18376)."
)


def english_alone(view: View, corpus: str) -> str:
    """Say that English hardly separates tokenizers, for a corpus that has nothing else."""
    metas = view.corpora[corpus].values()
    tags = {(meta["tag"] or "").partition("-")[0] for meta in metas}
    if view.kind(corpus) == "code" or tags != {"en"}:
        return ""
    return (
        "English hardly separates tokenizers: models in English came out alike where those in "
        "other languages did not (Lotz et al. 2025, arXiv 2506.03101). Measure the languages that "
        "you serve."
    )


def boundary_sections(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    """Yield where tokens end, if that was measured."""
    if not any(list(view.values("split_grapheme_share", name, corpus)) for name in names):
        return
    yield "### Where tokens end"
    if any(list(view.values("word_end_inside_token_share", name, corpus)) for name in names):
        yield (
            "Share of words that end inside a token: a prompt that stops there ends where the "
            "tokens of the whole text have no boundary. Lower is better."
        )
        yield by_language(view, corpus, names, value_of("word_end_inside_token_share", percent))
        for metric, title, write in (
            ("multi_word_token_share", "Tokens that overlap two or more words", percent),
            (
                "words_per_token",
                "Words ÷ all tokens, whether or not a tokenizer cuts at words",
                number,
            ),
        ):
            yield folded(title, by_language(view, corpus, names, value_of(metric, write)))
    for metric, title in (
        (
            "split_grapheme_share",
            "Letters with their marks (grapheme clusters) split between tokens",
        ),
        ("split_character_share", "Characters split between tokens"),
        ("inside_character_token_share", "Tokens that begin or end inside a character"),
    ):
        yield folded(title, by_language(view, corpus, names, value_of(metric, percent)))
