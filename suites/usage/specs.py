"""Definitions of what the suite `usage` measures."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

MERGE_RESIDUES = MetricSpec(
    name="merge_residues",
    unit="entries",
    direction="lower",
    definition="Entries made by merging that the tokens of the text are built through, and that "
    "are the token in the end in at most a stated share of these cases (params). Of those used at "
    "all; the share of them is in params too.",
    formula="|{entry : final ÷ (final + intermediate) ≤ limit}|",
    source="LiteToken, arXiv 2602.04706 (intermediate merge residues); PickyBPE, arXiv 2409.04599.",
    not_meant="Entries that can go: without them the tokens built through them are not merged "
    "either, unless their merges are changed too.",
    trap="Counting entries that the text does not use at all as residues.",
)
ONE_WORD_ENTRIES = MetricSpec(
    name="one_word_entries",
    unit="entries",
    direction="none",
    definition="Entries that a sample of the text holds at least a stated number of times (params), "
    "always as a part of one and the same longer pre-token.",
    formula="|{entry : all its tokens are in one pre-token, which is longer}|",
    source="tokbench, after the context-bound tokens of LiteToken, arXiv 2602.04706.",
    not_meant="Entries that are useless: the word may be frequent.",
    trap="Taking words at white space, where the tokenizer cuts elsewhere.",
)
GLITCH_CANDIDATES = MetricSpec(
    name="glitch_candidates",
    unit="entries",
    direction="lower",
    definition="Entries that encoding their own text gives (with or without its first space), of at "
    "least a stated number of characters (params), that occur in no text of the run. Special and "
    "added entries and those without a letter are left out. The finding lists them, the longest and earliest first, with the "
    "norms of an embedding that the config names.",
    formula="|{entry : encode(text(entry)) = entry, in no ids of the run}|",
    source="Rumbelow and Watkins 2023 (SolidGoldMagikarp); Land and Bartolo 2024, Fishing for "
    "Magikarp, arXiv 2405.05417, whose measures take the model's weights.",
    not_meant="Glitch tokens: a larger text has more of them, and only the model's weights or "
    "answers show which are untrained.",
    trap="Reading the number without the size of the text: with little text most entries are unseen.",
)
LANGUAGES_PER_ENTRY = MetricSpec(
    name="languages_per_entry",
    unit="languages",
    direction="none",
    definition="Mean number of languages of a corpus in which an entry that occurs at all occurs.",
    formula="Σ over entries |{language : the entry occurs}| ÷ entries that occur",
    source="tokbench; vocabulary sharing between languages: Limisiewicz et al. 2023, Tokenization "
    "Impacts Multilingual Language Modeling.",
    not_meant="Good sharing: an entry for one byte serves every language.",
    trap="Comparing corpora of different size or numbers of languages.",
)
USE_VARIATION = MetricSpec(
    name="use_variation",
    unit="ratio",
    direction="none",
    definition="How unevenly languages use an entry: the standard deviation of its share of the "
    "tokens over languages ÷ their mean; the mean over tokens, each language weighing the same.",
    formula="Σ over entries mean share × (σ(share) ÷ mean share) = Σ σ(share over languages)",
    source="tokbench; coefficient of variation: Pearson 1896.",
    not_meant="Inequality of cost between languages, which is premium and Gini.",
    trap="Letting the largest language weigh most.",
)
AVERAGE_TOKEN_RANK = MetricSpec(
    name="average_token_rank",
    unit="ranks",
    direction="none",
    definition="Mean rank of the tokens of a text among its own entries by frequency, 1 the most "
    "frequent; of equal counts the lower id has the lower rank.",
    formula="Σ count(entry) × rank(entry) ÷ Σ count(entry)",
    source="Limisiewicz et al. 2023, Tokenization Impacts Multilingual Language Modeling (average "
    "rank).",
    not_meant="Ids: the order of a vocabulary is not that of this text.",
    trap="Comparing texts of different size: a longer one has more ranks.",
)
METRICS = (
    MERGE_RESIDUES,
    ONE_WORD_ENTRIES,
    GLITCH_CANDIDATES,
    LANGUAGES_PER_ENTRY,
    USE_VARIATION,
    AVERAGE_TOKEN_RANK,
)
