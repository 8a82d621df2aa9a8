"""What the morphology suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_NOT = (
    "The quality of a model trained with the tokenizer: alignment explains little of it (Arnett, "
    "Hudspeth and O'Connor 2025, arXiv 2507.06378)."
)
PRECISION = MetricSpec(
    name="morpheme_boundary_precision",
    unit="share",
    direction="higher",
    definition="Share of the token boundaries inside words of a gold file that are boundaries of "
    "morphemes, totals over all words.",
    formula="|token boundaries ∩ morpheme boundaries| ÷ |token boundaries|, inside words",
    source="Boundary precision of unsupervised segmentation, as in Morpho Challenge (Kurimo et al. "
    "2010).",
    not_meant=_NOT + " It is high for a tokenizer that cuts hardly any word.",
    trap="Counting the ends of words as boundaries, which every tokenizer gets right.",
)
RECALL = MetricSpec(
    name="morpheme_boundary_recall",
    unit="share",
    direction="higher",
    definition="Share of the morpheme boundaries inside words of a gold file that are token "
    "boundaries, totals over all words, those of one token too.",
    formula="|token boundaries ∩ morpheme boundaries| ÷ |morpheme boundaries|, inside words",
    source="Boundary recall, as in Morpho Challenge (Kurimo et al. 2010).",
    not_meant=_NOT + " Cutting at every character gives 1.",
    trap="Comparing vocabularies of different size: a larger one leaves more words whole.",
)
F1 = MetricSpec(
    name="morpheme_boundary_f1",
    unit="share",
    direction="higher",
    definition="Harmonic mean of precision and recall of morpheme boundaries inside words.",
    formula="2 · precision · recall ÷ (precision + recall)",
    source="Kurimo et al. 2010; TokEval averages the F1 of single words.",
    not_meant=_NOT,
    trap="Averaging the F1 of words, where a word of one token has none, and 0 is put in its place.",
)
MORPHSCORE = MetricSpec(
    name="morphscore",
    unit="share",
    direction="higher",
    definition="Mean over words of two or more tokens and two or more morphemes of the share of "
    "their morpheme boundaries that are token boundaries; params say whether words are weighted by "
    "frequency.",
    formula="Σ weight · share of boundaries found ÷ Σ weight, over words cut at all",
    source="Arnett and Bergen, COLING 2025; Arnett, Hudspeth and O'Connor 2025, with its defaults "
    "(words of one token and of one morpheme left out).",
    not_meant=_NOT,
    trap="Comparing tokenizers by it without n: each is judged on the words that it cuts.",
)
MORPHSCORE_PRECISION = MetricSpec(
    name="morphscore_precision",
    unit="share",
    direction="higher",
    definition="Mean over the same words of morpheme boundaries found ÷ tokens of the word, the end "
    "of the word counted as a boundary that is wrong: MorphScore's rule.",
    formula="Σ weight · (boundaries found ÷ tokens) ÷ Σ weight, over words cut at all",
    source="Arnett, Hudspeth and O'Connor 2025, second version of MorphScore.",
    not_meant="morpheme_boundary_precision: a word cut right into two tokens scores 1/2 here.",
    trap="Reading it as a share that can reach 1.",
)
CONSISTENCY = MetricSpec(
    name="morpheme_consistency",
    unit="share",
    direction="higher",
    definition="Share of the occurrences of morphemes, of those in two or more words of a gold "
    "file, that have the morpheme's usual tokens: those that overlap it, with where they begin and "
    "end beside it.",
    formula="Σ over morphemes of the commonest tokens' count ÷ Σ occurrences",
    source="tokbench; the question is that of number_consistency.",
    not_meant="Right cuts: a morpheme that is always cut in the middle is consistent.",
    trap="Counting morphemes seen once, which are always consistent.",
)
METRICS = (PRECISION, RECALL, F1, MORPHSCORE, MORPHSCORE_PRECISION, CONSISTENCY)
