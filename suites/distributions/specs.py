"""What the distributions suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_BOUND = (
    "Exact over the first eight batches of a language, about 8 MiB of text; params say how many "
    "tokens and documents that was. Pairs do not cross documents."
)
_POELMAN = (
    "Poelman, Bauwens and de Lhoneux, Confounding Factors in Relating Model Performance to "
    "Morphology, EMNLP 2025"
)
SUCCESSOR_ENTROPY = MetricSpec(
    name="successor_entropy",
    unit="bits/token",
    direction="none",
    definition="Entropy of the next token's id, given the id of a token (plug-in estimate). "
    + _BOUND,
    formula="−Σ p(a, b) log₂ p(b | a) over adjacent ids a, b",
    source="The conditional entropy of Shannon 1948, of bigrams.",
    not_meant="Bits per token of a model, which sees more than one token. The estimate is low on "
    "little text: most pairs of a large vocabulary are seen once.",
    trap="Comparing texts of different length, or joining documents, which adds pairs that no text "
    "holds.",
)
SUCCESSOR_EVENNESS = MetricSpec(
    name="successor_evenness",
    unit="share",
    direction="none",
    definition="How evenly the successors of an id are spread: entropy ÷ log₂ of how many different "
    "ones it has (0 where it has one), the mean over ids with 3 or more, weighted by occurrences. "
    + _BOUND,
    formula="Σ n_a H_a ÷ log₂ k_a ÷ Σ n_a over ids a with n_a ≥ 3 successors, k_a of them different",
    source="TokEval calls it bigram entropy, after " + _POELMAN + ".",
    not_meant="Variety: an id with two successors in equal parts scores 1.",
    trap="Taking an id with one successor for even: its entropy is 0.",
)
SUCCESSOR_EFFICIENCY = MetricSpec(
    name="successor_efficiency",
    unit="share",
    direction="none",
    definition="Entropy of an id's successors ÷ log₂ of the most different ones that it could have "
    "(the ids that follow any, or its occurrences where these are fewer), the mean over ids with 3 "
    "or more. " + _BOUND,
    formula="mean over ids a with n_a ≥ 3 of H_a ÷ log₂ min(|ids that follow any|, n_a)",
    source=_POELMAN + ", without its windows of 1,000 successors and its filters of types.",
    not_meant="A figure that compares with the paper's, which drops ids with digits and marks.",
    trap="Weighting by occurrences, which makes commas decide.",
)
ACCESSOR_VARIETY = MetricSpec(
    name="accessor_variety",
    unit="ids",
    direction="none",
    definition="The smaller of the numbers of different ids before and after an id, the mean over "
    "ids with 3 or more successors. " + _BOUND,
    formula="mean over ids a with n_a ≥ 3 of min(|ids before a|, |ids after a|)",
    source="Feng et al., Accessor Variety Criteria for Chinese Word Extraction, 2004; here of "
    "tokens, with ends of documents left out.",
    not_meant="A property of the tokenizer alone: it grows with the text.",
    trap="Comparing at different numbers of tokens.",
)
RANK_FREQUENCY_AREA = MetricSpec(
    name="rank_frequency_area",
    unit="share",
    direction="none",
    definition="Area under the curve of counts by frequency rank, both logarithmic and both divided "
    "by their largest: 1/2 for a straight line down to ids seen once, more where the curve bulges.",
    formula="∫ log f(r) d log r ÷ (log f(1) · log R), by trapezoids over the R ids seen",
    source="After Lotz et al., Beyond Text Compression, ACL 2025 (arXiv 2506.03101), who found such "
    "measures to go with quality in languages other than English; the scaling is tokbench's.",
    not_meant="A quality by itself, nor a figure that compares with the paper's.",
    trap="Taking the area on plain axes, which the few most frequent ids decide.",
)
POWER_LAW_DEVIATION = MetricSpec(
    name="power_law_deviation",
    unit="bits",
    direction="none",
    definition="How far the curve of counts by rank is from a straight line on logarithmic axes: the "
    "mean distance of log₂ counts from the line fitted, each doubling of the rank with equal weight.",
    formula="Σ w_r |log₂ f(r) − (a − s log₂ r)| ÷ Σ w_r, w_r = 1/r; a and s by weighted least squares",
    source="After Lotz et al., ACL 2025 (arXiv 2506.03101); fit and weights are tokbench's.",
    not_meant="A test of a power law: counts are ranked by themselves (Piantadosi 2014).",
    trap="Equal weight for every rank: ids seen once, most of them all, decide.",
)
HEAPS_EXPONENT = MetricSpec(
    name="heaps_exponent",
    unit="exponent",
    direction="none",
    definition="Slope of the logarithm of the different ids expected in n tokens over log n, from a "
    "sixteenth of the tokens to all of them: 0 when all ids were seen early, 1 when every token is "
    "new.",
    formula="least squares of log E[ids in n tokens] on log n, n = N, N/2, …, N/16",
    source="Heaps 1978, with the curve by rarefaction (Hurlbert 1971) in place of one order of the "
    "documents.",
    not_meant="A constant of a language: it falls as text grows, down to 0 where all entries were "
    "seen.",
    trap="Counting along the text, where the order of documents makes steps.",
)
HEAPS_CURVE = MetricSpec(
    name="heaps_curve",
    unit="ids",
    direction="none",
    definition="Different ids expected in so many tokens (in params) drawn from a corpus, all "
    "languages together.",
    formula="Σ_id 1 − C(N − c, n) ÷ C(N, n)",
    source="Heaps 1978; rarefaction: Hurlbert 1971.",
    not_meant="What a text of that length uses: tokens of one document go together.",
    trap="Cutting the text at n tokens.",
)
NEIGHBOUR_METRICS = (SUCCESSOR_ENTROPY, SUCCESSOR_EVENNESS, SUCCESSOR_EFFICIENCY, ACCESSOR_VARIETY)
SHAPE_METRICS = (RANK_FREQUENCY_AREA, POWER_LAW_DEVIATION, HEAPS_EXPONENT)
