"""What the suites `witnesses` and `differential` measure, with sources and traps."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

FAILURES = MetricSpec(
    name="round_trip_failures",
    unit="documents",
    direction="lower",
    additive=True,
    definition="Documents whose round trip is not exact. With a class in params: those in which "
    "at least one differing spot has that class; one document can count in several classes.",
    formula="|{document : decode(encode(text)) ≠ text}|; by class, of those with a spot of it",
    source="tokbench; witnesses are shrunk after Zeller and Hildebrandt, Simplifying and "
    "Isolating Failure-Inducing Input, 2002.",
    not_meant="A severity: a trimmed space and a lost word are one document each.",
    trap="Naming one cause per document, when most failing documents have several.",
)
STABILITY = MetricSpec(
    name="id_stability",
    unit="share",
    direction="higher",
    definition="Share of documents whose ids come back from encode(decode(ids)). Documents with "
    "an exact round trip are stable by definition; the others are asked.",
    formula="|{document : encode(decode(ids)) = ids}| ÷ documents",
    source="tokbench.",
    not_meant="That every sequence of ids is stable: a model can write ids that no text has.",
    trap="Asking it of the text that came back in place of the ids.",
)
FUZZ = MetricSpec(
    name="fuzz_round_trip",
    unit="share",
    direction="higher",
    definition="Share of seeded hard strings, by category, whose round trip is exact. It says "
    "what can happen, not how often it does in text.",
    formula="exact round trips ÷ strings of the category",
    source="Miller, Fredriksen and So, An Empirical Study of the Reliability of UNIX Utilities, "
    "1990, for tests by random input.",
    not_meant="A rate on real text: the strings are drawn to be hard.",
    trap="Drawing code points uniformly, which gives unassigned ones almost always.",
)
FUZZ_FAILURES = MetricSpec(
    name="fuzz_failures",
    unit="strings",
    direction="lower",
    additive=True,
    definition="Seeded hard strings whose round trip is not exact, by class of the loss.",
    formula="|{string : at least one spot of the class}|",
    source="tokbench.",
    not_meant="A rate on real text.",
    trap="Changing the seed between two runs that are compared.",
)
INCREMENTAL = MetricSpec(
    name="incremental_decode",
    unit="share",
    direction="higher",
    definition="Share of documents (the first of each cell) whose tokens, decoded as they arrive "
    "from the bytes of each id with unfinished characters held back, join to the decoded text. "
    "Null for tokenizers whose token bytes are not meant to add up to the text.",
    formula="|{document : joined steps = decode(ids)}| ÷ documents asked",
    source="tokbench; the need is that of huggingface/tokenizers#1141.",
    not_meant="A check of a serving stack: those decode in their own ways.",
    trap="Showing U+FFFD for a character that the next token would have finished.",
)
HELD_BACK = MetricSpec(
    name="held_back_token_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens after which a reader of a stream must wait for the next, because a "
    "character is not finished.",
    formula="tokens that end inside a character ÷ tokens",
    source="tokbench.",
    not_meant="A latency.",
    trap="Counting entries that are not valid UTF-8, among them those that finish a character.",
)
SINGLE_DECODES = MetricSpec(
    name="single_token_decode",
    unit="share",
    direction="higher",
    definition="Share of documents (the first of each cell) for which decoding each token alone "
    "and joining the pieces gives the decoded text. Streaming that way is right only where this "
    "is 1.",
    formula="|{document : joined decode([id]) = decode(ids)}| ÷ documents asked",
    source="tokbench; huggingface/tokenizers#1141 reports what goes wrong below 1.",
    not_meant="A loss: the whole sequence decodes as it should.",
    trap="Judging round trips by pieces that were decoded alone, where spaces and pieces of "
    "characters vanish.",
)
AGREEMENT = MetricSpec(
    name="id_agreement",
    unit="share",
    direction="higher",
    definition="Share of documents for which two tokenizers declared to be one vocabulary give "
    "the same ids; params name both and count the differing documents by explanation.",
    formula="|{document : ids(first) = ids(second)}| ÷ documents",
    source="Differential testing: McKeeman, Differential Testing for Software, 1998.",
    not_meant="Which of the two is right.",
    trap="Comparing counts, which can agree where ids do not; comparing a few sentences of "
    "English.",
)
UNEXPECTED = MetricSpec(
    name="unexpected_id_differences",
    unit="documents",
    direction="lower",
    additive=True,
    definition="Documents whose ids differ for no reason that the config expects.",
    formula="documents with other ids − documents whose explanation or id is expected",
    source="tokbench.",
    not_meant="That an expected difference is harmless.",
    trap="Excusing whole languages in place of one explanation.",
)
