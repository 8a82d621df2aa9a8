"""What the vocabulary suite measures: definitions, sources and the ways to get them wrong."""

from __future__ import annotations

from tokbench.bench.model import MetricSpec

_MAGIKARP = "Land and Bartolo, Fishing for Magikarp, EMNLP 2024"

ENTRIES = MetricSpec(
    name="vocabulary_entries",
    unit="entries",
    direction="none",
    definition="Entries by kind: all ids that exist; ids (highest id + 1, the rows an embedding "
    "needs); special; added (content matched before the model); byte_fallback; holes.",
    formula="all = ids − holes",
    source="tokbench, in the terms of the tokenizers library.",
    not_meant="Entries that a text can produce; see unreached_entries.",
    trap="Taking the length of the vocabulary for the rows of the embedding: with holes it is "
    "too small, and an id then lies behind the end.",
)
CATEGORY = MetricSpec(
    name="vocabulary_category_share",
    unit="share",
    direction="none",
    definition="Share of entries of a category, determined from their bytes: letters behind a "
    "space, "
    "letters without one, digits, white space, punctuation and symbols, mixed, not valid UTF-8 on "
    "their own (partial_utf8), byte_fallback, special, empty.",
    formula="entries of the category ÷ entries",
    source="tokbench; categories of characters are Unicode's.",
    not_meant="How much of a text such entries cover.",
    trap="Reading the spelling of entries (Ġ, ▁, ##) in place of their bytes.",
)
SCRIPT = MetricSpec(
    name="vocabulary_script_share",
    unit="share",
    direction="none",
    definition="Share, of entries that are valid UTF-8, of those whose letters are of one script. "
    "It says what the vocabulary has, not how well a language is served.",
    formula="entries whose letters are all of the script ÷ entries that are valid UTF-8",
    source="tokbench; scripts by Unicode Standard Annex 24.",
    not_meant="How cheap the script is: byte-level entries that are pieces of characters belong "
    "to none, and many entries of a script may belong to one language.",
    trap="Decoding each entry alone, which turns pieces of characters into U+FFFD.",
)
DUPLICATES = MetricSpec(
    name="duplicate_entries",
    unit="entries",
    direction="lower",
    definition="Entries beyond the first of their kind: by decoded, equal bytes and equal decoded "
    "text at several ids; by NFC or NFKC, different texts with one normal form, which a tokenizer "
    "with that normalization cannot distinguish.",
    formula="Σ over groups of equal entries of (entries − 1)",
    source="tokbench; normal forms by Unicode Standard Annex 15.",
    not_meant="Waste by itself: without normalization both forms can occur in text.",
    trap="Comparing bytes alone, which takes a piece that goes on with a word for one that "
    "starts it.",
)
UNMERGED = MetricSpec(
    name="unmerged_entries",
    unit="entries",
    direction="lower",
    definition="Entries of BPE that merging what their own content starts from, always the pair of "
    "lowest rank, does not give. Encoders that look up whole pieces first can still emit them. "
    "Special, added and byte-fallback entries are left out.",
    formula="|{entry : merge(symbols of the entry) is more than one}|",
    source=f"tokbench; {_MAGIKARP}, call entries that no text gives unreachable.",
    not_meant="Entries that never occur: another text may merge to them, and a look-up of whole "
    "pieces gives them.",
    trap="Asking a library that takes the short cut by whole pieces: it finds none.",
)
UNREACHED = MetricSpec(
    name="unreached_entries",
    unit="entries",
    direction="lower",
    definition="Entries that neither the run's corpora produced nor any of the texts made of "
    "their own bytes in many contexts. Candidates: a search cannot prove that no text has them. "
    "Params count those of them that are pieces of characters, and whose bytes no UTF-8 has.",
    formula="|{entry : in no ids of the corpora, nor of encode(context(entry))}|",
    source=f"{_MAGIKARP}, who encode decoded entries; tokbench adds contexts and raw bytes.",
    not_meant="Glitch tokens: only a model's weights or its answers show whether an entry is badly "
    "trained.",
    trap="Decoding an entry and encoding the result: pieces of characters and words that need a "
    "space before them then look unreachable.",
)
SWALLOWING = MetricSpec(
    name="swallowing_added_tokens",
    unit="entries",
    direction="lower",
    definition="Added tokens beside which white space does not survive the round trip.",
    formula="|{added token t : spaces(decode(encode(x␣␣t␣␣y))) < 4}|",
    source="tokbench; lstrip and rstrip of added tokens as in the tokenizers library, reported in "
    "huggingface/transformers#11415.",
    not_meant="A fault where the token is a mask: BERT's and RoBERTa's are meant to.",
    trap="Reading the flags in the file, which do not act where special tokens are ordinary text.",
)
PARAMETERS = MetricSpec(
    name="embedding_parameters",
    unit="parameters",
    direction="none",
    definition="Ids × width: the input embedding, at a width given in the config. An output layer "
    "that is not tied to it needs as many again.",
    formula="(highest id + 1) × width",
    source="tokbench; tied output layers: Press and Wolf, Using the Output Embedding to Improve "
    "Language Models, EACL 2017.",
    not_meant="The size in a published model, which often pads the number of rows.",
    trap="Counting entries in place of ids.",
)
OVERLAP = MetricSpec(
    name="vocabulary_overlap",
    unit="share",
    direction="none",
    definition="Common entries of two vocabularies ÷ entries of either (Jaccard index), by bytes, "
    "special and byte-fallback entries left out. Params count the common ones, those of them "
    "that have another id (moved), and those that only one has.",
    formula="|A ∩ B| ÷ |A ∪ B|",
    source="Jaccard 1901.",
    not_meant="That two tokenizers cut alike: order of merges and pre-tokenization decide too.",
    trap="Comparing spellings (Ġthe and ▁the) of the same bytes.",
)
