"""What the information suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

SHANNON_ENTROPY = MetricSpec(
    name="shannon_entropy",
    unit="bits/token",
    direction="none",
    definition="Shannon entropy of the distribution of token ids, as observed (plug-in estimate).",
    formula="−Σ p log₂ p, p = count ÷ tokens",
    source="Shannon 1948.",
    not_meant="Bits per token of a model: ids are taken out of context. The plug-in estimate is "
    "low on little text.",
    trap="Comparing texts of different length: the estimate grows with the number of tokens.",
)
RENYI_ENTROPY = MetricSpec(
    name="renyi_entropy",
    unit="bits/token",
    direction="none",
    definition="Rényi entropy of the distribution of token ids; α is in params.",
    formula="log₂(Σ p^α) ÷ (1 − α); Shannon's at α = 1",
    source="Rényi 1961; Zouhar et al., Tokenization and the Noiseless Channel, ACL 2023.",
    not_meant="A quality by itself.",
    trap="Comparing values of different α.",
)
SHANNON_EFFICIENCY = MetricSpec(
    name="shannon_efficiency",
    unit="share",
    direction="higher",
    definition="Shannon entropy ÷ log₂ of the vocabulary: of the ids observed, or nominal (all "
    "non-special entries); the basis is in params.",
    formula="H ÷ log₂ |V|",
    source="Zouhar et al., ACL 2023.",
    not_meant="A measure of compression: a tokenizer can be efficient here and write long texts.",
    trap="Not saying which |V|: the observed one rises with the text, the nominal one does not.",
)
RENYI_EFFICIENCY = MetricSpec(
    name="renyi_efficiency",
    unit="share",
    direction="higher",
    definition="Rényi entropy (α = 2.5 unless params say otherwise) ÷ log₂ of the vocabulary: of "
    "the ids observed, or nominal (all non-special entries); the basis is in params.",
    formula="H_α ÷ log₂ |V|",
    source="Zouhar et al., ACL 2023, who found α = 2.5 to go with translation quality; the "
    "PyPI package tokenization-scorer divides by the observed vocabulary.",
    not_meant="A guarantee of downstream quality: it can rise while quality falls. Cognetta et al. "
    "(2024, arXiv 2402.14614) build variants of BPE that raise it at will and do worse.",
    trap="Counting tokens of text split at white space, where a token with a space in it becomes "
    "two.",
)
ZIPF_EXPONENT = MetricSpec(
    name="zipf_exponent",
    unit="exponent",
    direction="none",
    definition="Exponent s of a power law over the frequency ranks stated in params, by maximum "
    "likelihood.",
    formula="s that maximizes Σ f_r log(r^−s ÷ Σ_k k^−s) over those ranks",
    source="Zipf 1949; the likelihood of the truncated zeta law, as in Clauset et al. 2009.",
    not_meant="Evidence that a power law fits. Ranks come from the same counts, which biases the "
    "fit at rare ids (Piantadosi 2014), so rare ranks are left out.",
    trap="Least squares on log-log axes over all ranks, which the tail of ids seen once decides.",
)
RANK_FREQUENCY = MetricSpec(
    name="rank_frequency",
    unit="share",
    direction="none",
    definition="Share of tokens that the r-th most frequent id of a corpus makes up; r is in "
    "params.",
    formula="count of the r-th id ÷ tokens",
    source="Zipf 1949.",
    not_meant="A curve per language: languages weigh as much as they have tokens.",
    trap="Plotting every rank: ids seen once make a staircase that is an artefact.",
)
VOCABULARY_UTILIZATION = MetricSpec(
    name="vocabulary_utilization",
    unit="share",
    direction="none",
    definition="Distinct ids seen ÷ non-special entries. It grows with the amount of text: "
    "compare at equal numbers of tokens (see params).",
    formula="|ids seen, special ones aside| ÷ |entries, special ones aside|",
    source="Common usage.",
    not_meant="How good the rest of the vocabulary is: other text uses other entries.",
    trap="Comparing languages, or tokenizers, at different numbers of tokens.",
)
EQUAL_UTILIZATION = MetricSpec(
    name="vocabulary_utilization_at_equal_tokens",
    unit="share",
    direction="none",
    definition="Distinct ids expected in so many tokens drawn from the text (in params: the "
    "fewest of any language and tokenizer of the corpus that is ranked) ÷ non-special entries.",
    formula="Σ_id (1 − C(N − c, n) ÷ C(N, n)) ÷ entries",
    source="Rarefaction: Hurlbert 1971.",
    not_meant="What a text of that length uses: tokens of one document go together, and draws "
    "do not.",
    trap="Cutting the text at n tokens, which measures its first documents.",
)
NEW_IDS = MetricSpec(
    name="expected_new_ids",
    unit="ids",
    direction="none",
    definition="Ids not seen yet that as much text again is expected to show, with a 95 % "
    "interval from Efron and Thisted's variance; never below 0 nor above the unseen entries.",
    formula="Φ₁ − Φ₂ + Φ₃ − …, Φ_k = ids seen k times; variance Σ Φ_k",
    source="Good and Toulmin 1956; Efron and Thisted 1976.",
    not_meant="What another domain would show: it is about more text of the same kind.",
    trap="Going beyond as much text again, where the alternating sum explodes.",
)
