"""What the robustness suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_SOURCE = "After TokSuite (Altıntaş et al. 2025, arXiv 2512.20757), whose classes are like these"

CONSISTENCY = MetricSpec(
    name="variant_consistency",
    unit="share",
    direction="none",
    definition="1 − edit distance (Levenshtein) between the ids of a text and those of its variant ÷ "
    "the longer of the two, totals over a sample of documents; params name the class. 1 where a "
    "variant has the same ids.",
    formula="1 − Σ distance(ids, ids of the variant) ÷ Σ max(tokens, tokens of the variant)",
    source=f"{_SOURCE}; the normalization by the longer sequence is usual.",
    not_meant="Understanding: ids that change may be as easy to read, and where ids stay the model "
    "cannot see the variant at all.",
    trap="Reading 1 as robust where letters become the same unknown token, or where the tokenizer "
    "lowercases; comparing vocabularies of bytes or characters with others, since one edit is a "
    "smaller part of a longer sequence.",
)
GROWTH = MetricSpec(
    name="variant_token_growth",
    unit="ratio",
    direction="lower",
    definition="Tokens of the variants ÷ tokens of the same documents as they are; params name the "
    "class.",
    formula="Σ tokens of the variants ÷ Σ tokens",
    source=f"{_SOURCE}; tokbench.",
    not_meant="Damage: a variant may be longer text, as two letters for one are.",
    trap="Averaging ratios of documents, where short ones dominate.",
)
TOUCHED = MetricSpec(
    name="tokens_touched_beyond_edit",
    unit="share",
    direction="lower",
    definition="Share of the tokens of a document that overlap no edited character and yet are not "
    "in the variant, at their place in its text and with their id; params name the class.",
    formula="Σ tokens that overlap no edit and are gone ÷ Σ tokens that overlap no edit",
    source="tokbench.",
    not_meant="Errors: a word that is cut anew around a typo is one cut in another way.",
    trap="Counting the token that holds the edit, which has to change; finding tokens by an alignment "
    "of ids alone, which takes a repeated token for its twin at another place.",
)
METRICS = (CONSISTENCY, GROWTH, TOUCHED)
