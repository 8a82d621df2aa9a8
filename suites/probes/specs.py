"""What the probes measure: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_ARITHMETIC = "Singh and Strouse, Tokenization counts, 2024"
_OWN_CODE = "tokbench; lexers of Pygments"

NUMBER_TOKENS = MetricSpec(
    name="number_tokens",
    unit="tokens",
    direction="lower",
    definition="Mean tokens of whole numbers with so many digits (50 drawn from the run's seed; "
    "params: digits), encoded alone.",
    formula="Σ tokens ÷ numbers",
    source=f"tokbench; {_ARITHMETIC}, on how models cut numbers.",
    not_meant="Arithmetic: one token a digit is long and often the easiest to compute with.",
    trap="Asking about a few round numbers, which are entries of their own.",
)
NUMBER_CONSISTENCY = MetricSpec(
    name="number_consistency",
    unit="share",
    direction="higher",
    definition="Share of numbers of one length that are cut at the most frequent places. At 1 "
    "every number of that length is cut alike.",
    formula="numbers with the most frequent set of cuts ÷ numbers",
    source=f"tokbench; after {_ARITHMETIC}.",
    not_meant="That the cuts are good ones: see number_right_alignment.",
    trap="Comparing counts of tokens: 12|345 and 123|45 are both two.",
)
RIGHT_ALIGNED = MetricSpec(
    name="number_right_alignment",
    unit="share",
    direction="none",
    definition="Share of numbers all of whose cuts lie a multiple of three digits from the right, "
    "and that are cut at each of these places, as thousands are read.",
    formula="numbers cut exactly at 3, 6, 9, ... digits from the right ÷ numbers",
    source=f"{_ARITHMETIC}: groups from the right improve sums of GPT-3.5 and GPT-4.",
    not_meant="That single digits are worse: they have no cut at thousands alone, and are 0 here.",
    trap="Asking numbers of 3, 6 or 9 digits only, where groups from the left and from the right "
    "are the same.",
)
YEAR_TOKENS = MetricSpec(
    name="year_tokens",
    unit="tokens",
    direction="lower",
    definition="Mean tokens of the years 1900 to 2050; params give the share that is one token.",
    formula="Σ tokens ÷ 151",
    source="tokbench.",
    not_meant="How dates in text are cut: there a year follows a space or a hyphen.",
    trap="Asking about the year of writing alone.",
)
INDENT_TOKENS = MetricSpec(
    name="indentation_tokens",
    unit="tokens",
    direction="lower",
    definition="Tokens of an indented statement less those of the bare statement (`x = 1`). "
    "Where the last space joins the statement's first token, an indent costs one less.",
    formula="tokens(indent + statement) − tokens(statement)",
    source="tokbench; runs of spaces as tokens: Chen et al., Evaluating Large Language Models "
    "Trained on Code, 2021.",
    not_meant="The share of indentation in a program: see tokens_per_indentation_level.",
    trap="Encoding the white space alone, which cuts unlike white space before a word.",
)
HIDDEN = MetricSpec(
    name="hidden_characters",
    unit="characters",
    direction="lower",
    definition="Mean number of characters per token beyond the first, over ordinary words: letters "
    "that a model reading ids is not shown one by one. What it has learned about them is another "
    "matter.",
    formula="max(0, Σ characters − Σ tokens) ÷ Σ tokens",
    source="tokbench; Itzhak and Levy, Models In a Spelling Bee, NAACL 2022, find that models "
    "learn much of the spelling all the same.",
    not_meant="That a model cannot spell.",
    trap="Judging by one word (strawberry) under one vocabulary.",
)
VARIANT_TOKENS = MetricSpec(
    name="variant_tokens",
    unit="tokens",
    direction="lower",
    definition="Mean tokens of 20 common English words in one casing, with or without a space "
    "before; params give the share that is one token.",
    formula="Σ tokens ÷ 20",
    source="tokbench.",
    not_meant="Words of other languages, or rare ones.",
    trap="Counting a word at the start of a text and inside it as the same token.",
)
PROBE_TOKENS = MetricSpec(
    name="probe_tokens",
    unit="tokens",
    direction="lower",
    definition="Mean tokens of the strings of one probe (dates, urls, hexadecimal, repeated "
    "characters, emoji and others); params give characters per token and exact round trips.",
    formula="Σ tokens ÷ strings of the probe",
    source="tokbench.",
    not_meant="How often such strings occur; between probes nothing can be compared, since their "
    "strings differ in length.",
    trap="Reading few tokens as good where the string does not survive: compare the share of exact "
    "round trips.",
)
TOKENS_PER_LINE = MetricSpec(
    name="tokens_per_line",
    unit="tokens",
    direction="lower",
    definition="Tokens ÷ lines that are not blank, over the documents that were lexed.",
    formula="Σ tokens ÷ lines with a character that is not white space",
    source="Common usage.",
    not_meant="A comparison of programming languages, whose lines differ in length.",
    trap="Counting blank lines, which come almost free.",
)
WHOLE_IDENTIFIERS = MetricSpec(
    name="whole_identifier_share",
    unit="share",
    direction="higher",
    definition="Share of identifiers (names as Pygments lexes them) that one token covers, and "
    "nothing but white space before them.",
    formula="identifiers covered by one token ÷ identifiers",
    source=f"{_OWN_CODE}; Karampatsis et al., Big Code != Big Vocabulary, ICSE 2020, on how "
    "identifiers fill vocabularies.",
    not_meant="Distinct names: an identifier counts as often as it occurs.",
    trap="Finding identifiers by a pattern, which takes keywords and words of comments for them.",
)
CUT_AT_PARTS = MetricSpec(
    name="identifier_cut_at_parts",
    unit="share",
    direction="higher",
    definition="Share of cut identifiers with several parts (camelCase, snake_case) all of whose "
    "cuts lie between parts. An underscore may go with either side.",
    formula="identifiers cut at part boundaries only ÷ cut identifiers with several parts",
    source=f"{_OWN_CODE}; splitting names at case and underscores is common in models of code "
    "(Karampatsis et al. 2020).",
    not_meant="Identifiers kept whole, which are left out.",
    trap="Rewarding a tokenizer that cuts everywhere: cuts inside parts count against it.",
)
ISOLATED_OPERATORS = MetricSpec(
    name="isolated_operator_share",
    unit="share",
    direction="none",
    definition="Share of operators that one token covers, and nothing but white space before them.",
    formula="operators covered by one token ÷ operators",
    source=f"{_OWN_CODE}.",
    not_meant="Better or worse: `);` in one token is shorter, and blurs what a model reads.",
    trap="Counting brackets and commas, which lexers call punctuation.",
)
INDENT_LEVEL = MetricSpec(
    name="tokens_per_indentation_level",
    unit="tokens",
    direction="lower",
    definition="Tokens that start inside the white space at line starts ÷ levels of indentation. "
    "A level is a tab, or as many spaces as the document's least indented line has.",
    formula="tokens starting in indentation ÷ Σ levels",
    source=f"{_OWN_CODE}; runs of spaces as tokens: Chen et al. 2021.",
    not_meant="A cost by language: who indents with tabs pays otherwise.",
    trap="Measuring on code whose line starts were stripped.",
)
CODE_METRICS = (TOKENS_PER_LINE, WHOLE_IDENTIFIERS, CUT_AT_PARTS, ISOLATED_OPERATORS, INDENT_LEVEL)
