"""What the boundaries suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

WORD_ENDS_INSIDE = MetricSpec(
    name="word_end_inside_token_share",
    unit="share",
    direction="lower",
    definition="Share of words that end inside a token: a prompt that stops after the word ends "
    "where the tokens of the whole text have no boundary.",
    formula="words with a token over their last byte and the next ÷ words",
    source="The partial token problem: Xu et al., Are You Going to Finish That?, 2026, arXiv "
    "2601.23223; here over the words of a corpus, by "
    "UAX #29 or by the segmenter that the config names.",
    not_meant="A share of prompts: where people stop is not spread evenly over words. Nor a fault "
    "by itself: tokens that span words make texts shorter.",
    trap="Taking spaces for word ends, which hides that commas, and the words of Chinese or Thai, "
    "may sit in one token with what precedes them.",
)
MULTI_WORD_TOKENS = MetricSpec(
    name="multi_word_token_share",
    unit="share",
    direction="none",
    definition="Share of tokens that overlap two or more words. Where it is not 0, fertility and "
    "single_token_word_share, which presuppose cuts at words, do not say what a text costs.",
    formula="tokens over two or more words ÷ tokens",
    source="tokbench; tokens over several words as in Liu et al., SuperBPE, COLM 2025.",
    not_meant="A share of the vocabulary: each token counts as often as it is used.",
    trap="Looking for a space inside a token, which finds runs of blanks, and misses words that "
    "are written without spaces.",
)
WORDS_PER_TOKEN = MetricSpec(
    name="words_per_token",
    unit="words/token",
    direction="higher",
    definition="Words ÷ all tokens: the inverse of tokens_per_word. It holds whether or not a "
    "tokenizer cuts at words.",
    formula="Σ words ÷ Σ tokens",
    source="Common usage.",
    not_meant="The inverse of fertility: that counts a token once for every word that it overlaps.",
    trap="Comparing languages, whose words differ.",
)
INSIDE_CHARACTER = MetricSpec(
    name="inside_character_token_share",
    unit="share",
    direction="lower",
    definition="Share of tokens that begin or end inside a character (a code point).",
    formula="tokens whose first or last boundary lies inside a code point ÷ tokens",
    source="tokbench, from the places of tokens in the text.",
    not_meant="partial_character_rate, which looks at a token's own bytes: a token that ends with "
    "half a character, and one that holds it, are judged here by where they lie.",
    trap="Decoding tokens one by one and counting U+FFFD, which some texts contain themselves.",
)
SPLIT_CHARACTERS = MetricSpec(
    name="split_character_share",
    unit="share",
    direction="lower",
    definition="Share of the text's characters (code points) whose bytes lie in more than one "
    "token.",
    formula="code points with a token boundary inside ÷ code points",
    source="tokbench, from the places of tokens in the text.",
    not_meant="Lost characters: they come back when all their tokens are decoded together.",
    trap="Counting the tokens instead, of which one character may have four.",
)
SPLIT_GRAPHEMES = MetricSpec(
    name="split_grapheme_share",
    unit="share",
    direction="lower",
    definition="Share of extended grapheme clusters (UAX #29) that lie in more than one token: a "
    "letter parted from its marks, an emoji from its skin tone.",
    formula="clusters with a token boundary inside ÷ clusters",
    source="Unicode Standard Annex #29; clusters as the regex package finds them.",
    not_meant="An error of the tokenizer: most split clusters at some marks, and their text "
    "survives.",
    trap="Cutting texts into clusters and encoding each alone, which gives other tokens.",
)
