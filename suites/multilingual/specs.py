"""What the multilingual suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

PREMIUM = MetricSpec(
    name="premium",
    unit="ratio",
    direction="lower",
    definition="Tokens of the language ÷ tokens of the pivot over the same document ids; 1 is "
    "parity. Only on parallel text.",
    formula="Σ tokens(language) ÷ Σ tokens(pivot)",
    source="Petrov, La Malfa, Torr and Bibi, Language Model Tokenizers Introduce Unfairness "
    "Between Languages, NeurIPS 2023.",
    not_meant="How well a tokenizer fits a language in itself: part of it is how much a "
    "translation says, and which language is the pivot.",
    trap="Averaging per-sentence ratios, which is another quantity; dividing texts that are not "
    "translations of each other; taking the ratio of bytes for it.",
)
OVERHEAD = MetricSpec(
    name="overhead",
    unit="share",
    direction="lower",
    definition="Premium − 1, shown in per cent.",
    formula="Σ tokens(language) ÷ Σ tokens(pivot) − 1",
    source="Common usage.",
    not_meant="A share of the language's own tokens.",
    trap="Taking it from bytes or characters.",
)
PROGRAM_PREMIUM = MetricSpec(
    name="program_premium",
    unit="ratio",
    direction="lower",
    definition="Tokens of the same programs in this programming language ÷ in the pivot. Languages "
    "differ in how much they need to say: read it beside the ratio of characters.",
    formula="Σ tokens(language) ÷ Σ tokens(pivot)",
    source="tokbench, after the premium.",
    not_meant="What the tokenizer does to a language: a verbose language costs more with any.",
    trap="Comparing corpora of different programs.",
)
CHARACTERS_RATIO = MetricSpec(
    name="characters_ratio",
    unit="ratio",
    direction="none",
    definition="Code points of the text ÷ code points of the same documents in the pivot.",
    formula="Σ code points(language) ÷ Σ code points(pivot)",
    source="tokbench; the context of a premium.",
    not_meant="Anything about a tokenizer: it is the same for all of them.",
    trap="Leaving it out, so that a verbose translation looks like an unfair tokenizer.",
)
TOKENS_PER_CHARACTER = MetricSpec(
    name="tokens_per_character",
    unit="tokens/character",
    direction="lower",
    definition="Tokens ÷ code points, totals over all documents.",
    formula="Σ tokens ÷ Σ code points",
    source="Common usage; the inverse of characters_per_token.",
    not_meant="A price between languages: the same content takes few characters in Chinese and "
    "many in German.",
    trap="Averaging per-document ratios under the same name.",
)
MEAN_TOKENS_PER_CHARACTER = MetricSpec(
    name="mean_tokens_per_character",
    unit="tokens/character",
    direction="lower",
    definition="Mean over documents of tokens ÷ code points, as textbook exercises compute it; "
    "empty documents are left out.",
    formula="mean over documents of tokens ÷ code points",
    source="Textbook exercises on multilingual tokenization.",
    not_meant="The ratio of totals (tokens_per_character): each document weighs the same here, "
    "however short.",
    trap="Reporting it without its name.",
)
GINI = MetricSpec(
    name="gini",
    unit="index",
    direction="lower",
    definition="Gini coefficient of the premiums of a corpus's languages, the pivot among them: 0 "
    "when all pay the same. Params name the script where it is over the languages of one.",
    formula="Σᵢ Σⱼ |pᵢ − pⱼ| ÷ (2 n Σ p)",
    source="Gini 1912; used on tokenizers by Foroutan et al. 2025, there on costs per line.",
    not_meant="A weighting by speakers: every language of the config counts once, so it changes "
    "with the choice of languages.",
    trap="Comparing values over different sets of languages, or leaving out those refused.",
)
MAX_MIN_PREMIUM = MetricSpec(
    name="premium_max_min",
    unit="ratio",
    direction="lower",
    definition="Highest ÷ lowest premium over the languages of a corpus, the pivot among them; "
    "the detail names both.",
    formula="max p ÷ min p",
    source="Petrov et al., NeurIPS 2023, compare extremes.",
    not_meant="Typical inequality: it is about two languages.",
    trap="Counting a language whose text is lost as the cheapest.",
)
PREMIUM_DEVIATION = MetricSpec(
    name="premium_standard_deviation",
    unit="ratio",
    direction="lower",
    definition="Standard deviation of the premiums of a corpus's languages, the pivot among them.",
    formula="√(Σ (p − mean p)² ÷ n)",
    source="Common usage; divided by n: the languages are all there are, not a sample.",
    not_meant="An uncertainty of a premium: those are the intervals.",
    trap="Dividing by n − 1 in one tool and n in another.",
)
MEAN_PREMIUM = MetricSpec(
    name="mean_premium",
    unit="ratio",
    direction="lower",
    definition="Mean of the premiums of a corpus's languages, the pivot among them.",
    formula="Σ p ÷ n",
    source="Common usage.",
    not_meant="The premium of all text together: languages count once each.",
    trap="Leaving the pivot out in one table and in in another.",
)
LANGUAGES_ABOVE = MetricSpec(
    name="languages_above",
    unit="share",
    direction="lower",
    definition="Share of a corpus's languages, the pivot aside, whose premium is above a limit "
    "(in params).",
    formula="|{language : p > limit}| ÷ |languages without the pivot|",
    source="tokbench; limits 1.5 and 2 by default.",
    not_meant="A test: a premium of 1.51 counts even if its interval reaches below 1.5.",
    trap="Comparing values over different sets of languages.",
)
CONTEXT_CHARACTERS = MetricSpec(
    name="context_characters",
    unit="characters",
    direction="higher",
    definition="Characters (code points) of this text that fit into a context of N tokens; N is "
    "in params.",
    formula="N × Σ code points ÷ Σ tokens",
    source="tokbench, from totals.",
    not_meant="A promise for one document, nor a comparison of languages.",
    trap="Ignoring that a prompt's template and the answer share the context.",
)
CONTEXT_WORDS = MetricSpec(
    name="context_words",
    unit="words",
    direction="higher",
    definition="Words of this text that fit into a context of N tokens, where words are defined; "
    "N is in params.",
    formula="N × Σ words ÷ Σ tokens",
    source="tokbench, from totals.",
    not_meant="A comparison of languages: what a word is differs.",
    trap="The rule of three quarters of a word per token, which is about English under GPT-3's "
    "vocabulary.",
)
CONTEXT_SHARE = MetricSpec(
    name="context_share",
    unit="share",
    direction="higher",
    definition="How much of the content that fits into a context in the pivot fits in this "
    "language; the same for every context length.",
    formula="Σ tokens(pivot) ÷ Σ tokens(language) = 1 ÷ premium",
    source="tokbench; after Petrov et al., NeurIPS 2023.",
    not_meant="Quality over long contexts.",
    trap="Comparing characters, which differ in what they say.",
)
