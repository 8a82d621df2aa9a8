"""What the fidelity suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

ROUND_TRIP_SHARE = MetricSpec(
    name="round_trip",
    unit="share",
    direction="none",
    definition="Share of documents whose round trip is exact (decode(encode(text)) equals the "
    "text), normalized (equal after NFC and after trimming and collapsing white space, with no "
    "unknown token) or lossy; "
    "the class is in params.",
    formula="documents of the class ÷ documents",
    source="Kudo and Richardson, SentencePiece, EMNLP 2018, for lossless tokenization; NFC is "
    "that of Unicode Standard Annex 15.",
    not_meant="How much of a text is lost: one character is enough to make a document lossy; see "
    "lost_byte_share.",
    trap="Comparing with a normalized or stripped text, which hides exactly what is looked for; "
    "decoding token by token and joining.",
)
UNK_RATE = MetricSpec(
    name="unk_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens that are unknown tokens.",
    formula="unknown tokens ÷ tokens",
    source="Common usage.",
    not_meant="The amount of lost text: one unknown token can replace a whole word of 100 "
    "characters.",
    trap="Reading a good compression without looking here: text that became unknown tokens "
    "counts as few tokens.",
)
LOST_BYTE_SHARE = MetricSpec(
    name="lost_byte_share",
    unit="share",
    direction="lower",
    definition="Share of the text's bytes covered by unknown tokens, whose characters do not "
    "come back, or of white space inside the text that appears, vanishes or changes; white space "
    "at the ends, one added leading space and canonically equivalent forms do not count. Params "
    "with a cause give the part lost to it.",
    formula="Σ bytes lost ÷ Σ bytes; characters that do not come back are the difference of the "
    "two multisets of each document, white space is compared run by run",
    source="tokbench.",
    not_meant="What a model misses: a lower-cased text has lost its case here and may be as "
    "useful to it.",
    trap="Counting unknown tokens only, which misses accents stripped, case folded and bytes "
    "dropped without a trace.",
)
BYTE_FALLBACK_RATE = MetricSpec(
    name="byte_fallback_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens that encode one byte of a character the vocabulary lacks.",
    formula="byte-fallback tokens ÷ tokens",
    source="The byte fallback of SentencePiece; Wang, Cho and Gu, Neural Machine "
    "Translation with Byte-Level Subwords, AAAI 2020, for bytes as units.",
    not_meant="A measure of byte-level BPE, whose every token is made of bytes: it is 0 there by "
    "definition; see partial_character_rate.",
    trap="Taking 256 entries spelled <0x00> to <0xFF> for ordinary ones.",
)
PARTIAL_CHARACTER_RATE = MetricSpec(
    name="partial_character_rate",
    unit="share",
    direction="lower",
    definition="Share of tokens whose bytes are not valid UTF-8 on their own.",
    formula="tokens that are no UTF-8 alone ÷ tokens",
    source="tokbench; Land and Bartolo, EMNLP 2024, count such entries of vocabularies.",
    not_meant="A loss: together the tokens give the characters back.",
    trap="Decoding each token and looking for U+FFFD, which a text can also contain itself.",
)
SPECIAL_SPELLINGS = MetricSpec(
    name="documents_spelling_special_tokens",
    unit="documents",
    direction="none",
    additive=True,
    definition="Documents that contain the spelling of a special token; it is read as ordinary "
    "text, unless the tokenizer's notes say that it matches.",
    formula="|{document : a special token's spelling occurs in its text}|",
    source="tokbench.",
    not_meant="A fault of the text or of the tokenizer: it says where the policy on special "
    "tokens matters.",
    trap="Letting one library match such spellings and another refuse or split them, and then "
    "comparing counts.",
)
BYTE_SUM_BREACHES = MetricSpec(
    name="byte_sum_breaches",
    unit="documents",
    direction="lower",
    additive=True,
    definition="Documents whose token bytes do not add up to the text's bytes, for tokenizers that "
    "are meant to be byte-exact.",
    formula="|{document : Σ bytes(token) ≠ bytes(text)}|, less a space put before the text",
    source="tokbench.",
    not_meant="A count of failed round trips: tokenizers that normalize are not asked.",
    trap="Measuring bytes of re-encoded tokens in place of the text's, which is then right by "
    "construction.",
)
