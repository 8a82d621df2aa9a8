"""What the efficiency suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

BYTES_PER_TOKEN = MetricSpec(
    name="bytes_per_token",
    unit="bytes/token",
    direction="higher",
    definition="UTF-8 bytes of the text ÷ tokens, totals over all documents. Compares tokenizers "
    "within a language, never languages.",
    formula="Σ bytes(document) ÷ Σ tokens(document)",
    source="The inverse of the compression ratio of textbooks (tokens ÷ bytes).",
    not_meant="A scale between languages: one character takes one to four bytes in UTF-8, so a "
    "language with long encodings looks well served. Nor a price for text that got lost: read it "
    "beside lost_byte_share. Nor the quality of a model: fewer tokens alone did not make better ones "
    "(Schmidt et al., Tokenization Is More Than Compression, EMNLP 2024).",
    trap="Taking bytes from tokens decoded alone: a piece of a character becomes U+FFFD, three "
    "bytes each. Here bytes come from the text that was encoded.",
)
CHARACTERS_PER_TOKEN = MetricSpec(
    name="characters_per_token",
    unit="characters/token",
    direction="higher",
    definition="Code points of the text ÷ tokens, totals over all documents.",
    formula="Σ code points(document) ÷ Σ tokens(document)",
    source="Common usage; the inverse of tokens_per_character.",
    not_meant="Information per token: a Chinese character says more than a Latin letter.",
    trap="Counting UTF-16 units, or letters after a normalization the tokenizer never saw.",
)
GRAPHEMES_PER_TOKEN = MetricSpec(
    name="graphemes_per_token",
    unit="graphemes/token",
    direction="higher",
    definition="Extended grapheme clusters (UAX #29) of the text ÷ tokens, totals over all "
    "documents: a letter with its marks, or an emoji sequence, counts once.",
    formula="Σ clusters(document) ÷ Σ tokens(document)",
    source="Unicode Standard Annex #29; clusters as the regex package finds them.",
    not_meant="A unit that is equal across scripts: a cluster of Devanagari holds more than a "
    "Latin one.",
    trap="Counting code points for Indic scripts, where vowel signs would count as characters.",
)
TOKENS = MetricSpec(
    name="tokens",
    unit="tokens",
    direction="lower",
    additive=True,
    definition="Tokens of all documents, special tokens never added.",
    formula="Σ tokens(document)",
    source="The tokenizer's own encoder.",
    not_meant="What an API bills: chat templates and special tokens come on top.",
    trap="A truncation saved in a tokenizer.json, which makes every long document as short as "
    "the limit; a begin-of-text token added to each row.",
)
FERTILITY = MetricSpec(
    name="fertility",
    unit="tokens/word",
    direction="lower",
    definition="Mean number of tokens that overlap a word (at least 1); words by UAX #29, or by the "
    "segmenter that the config names. Does not compare languages: what a word is differs. It "
    "presupposes cuts at words: a token over several words counts once for each, so where "
    "multi_word_token_share is not 0, tokens_per_word says what the text costs.",
    formula="Σ over words of tokens that overlap the word ÷ words",
    source="Rust et al., How Good is Your Tokenizer?, ACL 2021 (subwords per tokenized word).",
    not_meant="A comparison of languages: agglutinating languages have longer words. Undefined "
    "where a script does not separate words and the config names no segmenter.",
    trap="Splitting at white space, which makes a Thai or Chinese sentence one word; encoding "
    "words on their own, where a word at the start of a text has other tokens than inside it.",
)
TOKENS_PER_WORD = MetricSpec(
    name="tokens_per_word",
    unit="tokens/word",
    direction="lower",
    definition="All tokens ÷ words; unlike fertility it counts punctuation and spaces too.",
    formula="Σ tokens ÷ Σ words",
    source="Common usage.",
    not_meant="Fertility: punctuation and white space are in the numerator here.",
    trap="Calling it fertility, which makes two papers' numbers look comparable.",
)
CONTINUED_WORDS = MetricSpec(
    name="proportion_of_continued_words",
    unit="share",
    direction="lower",
    definition="Share of words cut into two or more tokens.",
    formula="words overlapped by two or more tokens ÷ words",
    source="Rust et al., ACL 2021.",
    not_meant="Badly cut words: a cut between morphemes counts like any other.",
    trap="Counting words that start with a ## piece only, which other kinds of vocabulary lack.",
)
SINGLE_TOKEN_WORDS = MetricSpec(
    name="single_token_word_share",
    unit="share",
    direction="higher",
    definition="Share of words covered by one token that holds nothing else but white space "
    "before the word. It presupposes cuts at words: a word in a token with its neighbours does not "
    "count, though it costs less than a token.",
    formula="words that are one token ÷ words",
    source="The single token retention rate of the literature is the same over a list of words.",
    not_meant="1 − proportion_of_continued_words: a token may hold a word and more.",
    trap="Encoding a list of words without the space that stands before them in text.",
)
NORMALIZED_SEQUENCE_LENGTH = MetricSpec(
    name="normalized_sequence_length",
    unit="ratio",
    direction="lower",
    definition="Tokens ÷ tokens of a named reference tokenizer on the same documents; the "
    "reference is in params.",
    formula="Σ tokens ÷ Σ tokens(reference)",
    source="Dagan, Synnaeve and Rozière, Getting the Most out of your Tokenizer, ICML 2024, "
    "with totals in place of a mean of ratios.",
    not_meant="A property of one tokenizer: another reference gives another number.",
    trap="Averaging per-document ratios, which gives a tweet the weight of a book.",
)
TOKEN_LENGTH = MetricSpec(
    name="token_length",
    unit="bytes",
    direction="none",
    definition="Quantiles of the bytes of the tokens emitted; the quantile is in params, 1 is the "
    "longest. Tokens without bytes of their own are left out.",
    formula="the smallest length with at least that share of tokens at or below it",
    source="tokbench, from the histogram of ids and the raw vocabulary.",
    not_meant="The lengths in the vocabulary: each entry counts as often as it is used.",
    trap="Measuring the printed form of a token, where a space is three bytes (▁) or two (Ġ).",
)
TOKEN_LENGTH_SHARE = MetricSpec(
    name="token_length_share",
    unit="share",
    direction="none",
    definition="Share of the tokens emitted over a corpus that have so many bytes; params give "
    "the bytes, the last row holds all longer ones.",
    formula="tokens of that length ÷ tokens with bytes",
    source="tokbench, from the histogram of ids and the raw vocabulary.",
    not_meant="A distribution per language: languages weigh as much as they have tokens.",
    trap="Measuring the printed form of a token.",
)
SPACE_INITIAL_SHARE = MetricSpec(
    name="space_initial_share",
    unit="share",
    direction="none",
    definition="Share of tokens whose bytes begin with a space (U+0020).",
    formula="tokens that begin with a space ÷ tokens",
    source="tokbench, from the histogram of ids and the raw vocabulary.",
    not_meant="A share of words: runs of spaces count, and WordPiece keeps no spaces at all.",
    trap="Looking for a marker such as Ġ or ▁, which belongs to one family of vocabularies.",
)
SEGMENTATION_HEADROOM = MetricSpec(
    name="segmentation_headroom",
    unit="share",
    direction="lower",
    definition="Share of the tokens emitted that the same vocabulary could have saved on a stated "
    "sample, within the same pre-tokens: 1 − fewest tokens possible ÷ tokens emitted.",
    formula="1 − Σ fewest(pre-token) ÷ Σ emitted(pre-token), fewest by dynamic programming",
    source="The optimum is the shortest path over the vocabulary's byte strings.",
    not_meant="A fault: the fewest tokens are not the best ones for a model.",
    trap="Ignoring pre-tokens, which compares with cuts the tokenizer may never make.",
)
RANK = MetricSpec(
    name="rank",
    unit="place",
    direction="lower",
    definition="1 + number of tokenizers whose paired 95 % interval shows more bytes per token in "
    "this language. Ranked are tokenizers that give the text back: at most rank_lost_limit of its "
    "bytes lost, some document exact, counted whole, and not trained on this text. The same "
    "tokenizer under several keys counts once.",
    formula="1 + |{other : upper end of Σ tokens(other) ÷ Σ tokens < 1}|",
    source="tokbench; pairs are in token_ratio.",
    not_meant="A transitive order: two tokenizers can share a place with a third and not with each "
    "other. Intervals are pointwise, with no correction for the number of pairs.",
    trap="Ranking by the point value, or sharing places because two intervals overlap: the "
    "interval of a paired difference is much narrower.",
)
TOKEN_RATIO = MetricSpec(
    name="token_ratio",
    unit="ratio",
    direction="none",
    definition="Tokens ÷ tokens of another tokenizer (in params) on the same documents, with a "
    "paired interval: the matrix behind the ranks. Each pair is stored once.",
    formula="Σ tokens ÷ Σ tokens(other)",
    source="tokbench; paired bootstrap over documents.",
    not_meant="A difference that matters in practice: with much text any difference is resolved.",
    trap="Comparing two separate intervals instead of the interval of the ratio.",
)

SIZES = (
    (BYTES_PER_TOKEN, "bytes"),
    (CHARACTERS_PER_TOKEN, "characters"),
    (GRAPHEMES_PER_TOKEN, "graphemes"),
)
WORD_METRICS = (FERTILITY, TOKENS_PER_WORD, CONTINUED_WORDS, SINGLE_TOKEN_WORDS)
