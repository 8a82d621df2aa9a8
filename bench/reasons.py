"""Why a row has no plain value: a closed list of codes.

A row of results, a finding or a cell that has no value, or one that must not be compared, carries
one of these codes in its column `reason`. Code decides by it; `detail` and `message` say the same
to people, in words that may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

Reason = Literal[
    "lost_text",
    "lossy",
    "never_exact",
    "byte_sum_breached",
    "trained_on_text",
    "documents_failed",
    "no_tokens",
    "no_text",
    "no_words",
    "words_undefined",
    "no_documents",
    "not_parallel",
    "not_aligned",
    "lengths_disagree",
    "pivot_missing",
    "reference_missing",
    "too_few_languages",
    "too_few_documents",
    "too_few_rounds",
    "too_few_tokens",
    "too_few_ids",
    "not_examined",
    "not_resolvable",
    "unsteady",
    "not_offered",
    "places_unknown",
    "nothing_found",
    "text_dropped",
    "empty_vocabulary",
    "corpus_failed",
    "tokenizer_failed",
    "training_failed",
    "documents_lost",
    "worker_lost",
    "suite_failed",
    "timing_failed",
    "call_missing",
    "length_limit",
    "changed_text",
    "ids_differ",
    "collision",
    "published_convention",
    "verdict",
    "examples",
    "other",
]
"""A code of `REASONS`."""

REASONS: Mapping[Reason, str] = {
    "lost_text": "More of the text's bytes are lost than `lost_limit` allows.",
    "lossy": "More of the text's bytes are lost than `rank_lost_limit` allows.",
    "never_exact": "No document comes back, not even apart from outer white space, one added "
    "leading space and the Unicode normal form.",
    "byte_sum_breached": "The bytes of the tokens do not add up to the bytes of the text.",
    "trained_on_text": "The tokenizer was trained on this very text.",
    "documents_failed": "The library failed on some documents; the value is over the others.",
    "no_tokens": "The tokenizer produced no tokens for the text.",
    "no_text": "The text is empty.",
    "no_words": "There are no words whose token boundaries are known.",
    "words_undefined": "Words are not defined for this script, or for code.",
    "no_documents": "The corpus has no documents in this language.",
    "not_parallel": "The corpus is not parallel.",
    "not_aligned": "The corpus is declared parallel, but the ids of its languages differ.",
    "lengths_disagree": "Lengths of documents do not follow those of the pivot, as translations do.",
    "pivot_missing": "The pivot of the corpus was not counted.",
    "reference_missing": "The reference tokenizer was not loaded, counted or timed.",
    "too_few_languages": "Fewer than two languages have a value.",
    "too_few_documents": "There are too few documents, or none of the requested length.",
    "too_few_rounds": "There are too few rounds or processes for an interval.",
    "too_few_tokens": "The text has fewer tokens than the comparison needs.",
    "too_few_ids": "Too few different ids were seen.",
    "not_examined": "Only some of the documents in question were examined.",
    "not_resolvable": "The clock cannot resolve the times.",
    "unsteady": "The times vary, drift or were disturbed by other programs.",
    "not_offered": "The tokenizer does not offer what the value needs.",
    "places_unknown": "The positions of tokens in the text are unknown.",
    "nothing_found": "The text contains no instance of what is measured.",
    "text_dropped": "The tokenizer drops the part of the text that is measured.",
    "empty_vocabulary": "The vocabulary has no entries that count.",
    "corpus_failed": "The corpus, or this language of it, could not be read.",
    "tokenizer_failed": "The tokenizer could not be loaded, or its library failed.",
    "training_failed": "The tokenizer could not be trained.",
    "documents_lost": "Too many documents crashed a worker process.",
    "worker_lost": "A worker process was killed, ran out of memory or timed out.",
    "suite_failed": "The suite failed.",
    "timing_failed": "The call could not be timed.",
    "call_missing": "The tokenizer has no such call.",
    "length_limit": "A longer text failed, took too long or too much memory.",
    "changed_text": "A text was changed by the round trip.",
    "ids_differ": "Two tokenizers produced different ids.",
    "collision": "Two different texts have the same ids.",
    "published_convention": "The value follows the convention of a publication, to reproduce its "
    "figures; it is never ranked or gated.",
    "verdict": "The outcome of a comparison.",
    "examples": "Tokens or texts listed for a reader.",
    "other": "A plug-in's own reason; `detail` says which.",
}
"""Meaning of each code, in one line."""


UNRANKED: frozenset[Reason] = frozenset(
    {
        "lost_text",
        "lossy",
        "never_exact",
        "byte_sum_breached",
        "trained_on_text",
        "documents_failed",
        "no_tokens",
    }
)
"""Reasons for which a value is shown and must not be compared with those of other tokenizers."""


OUTSIDE: frozenset[Reason] = frozenset({"published_convention"})
"""Reasons for which a value itself is outside ranks and gates; the others of its cell are not."""


class Why(NamedTuple):
    """Why a row has no plain value: the code, and the same in words."""

    reason: Reason
    detail: str


def known_reason(code: object) -> Reason:
    """Return a code as it is; raise `ValueError` for one that is not in the list.

    >>> known_reason("no_tokens")
    'no_tokens'
    """
    for reason in get_args(Reason):
        if reason == code:
            found: Reason = reason
            return found
    raise ValueError(f"unknown reason {code!r}; use one of {', '.join(REASONS)}")
