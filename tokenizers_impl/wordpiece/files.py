"""WordPiece vocabularies in files: BERT's ``vocab.txt``, ``tokenizer.json``, and tokbench's JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tokbench.tokenizers_impl import own_json
from tokbench.tokenizers_impl.files import well_formed
from tokbench.tokenizers_impl.wordpiece.bert_characters import BertOptions
from tokbench.tokenizers_impl.wordpiece.model import PREFIX, UNKNOWN, WordPieceTokenizer

FORMAT = "tokbench.wordpiece.1"


def read_vocab_txt(text: str) -> list[str]:
    """Return the entries of a ``vocab.txt``: one a line, the line number being the id.

    >>> read_vocab_txt("[UNK]\\na\\n##b\\n")
    ['[UNK]', 'a', '##b']
    """
    lines = text.split("\n")  # not splitlines(): entries may hold U+2028 or U+0085
    # blanks and "\r" at the end are what an editor left, as `tokenizers` reads them
    return [line.rstrip(" \t\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def to_json(tokenizer: WordPieceTokenizer) -> str:
    """Write tokbench's own format: every option by name and the entries in the order of their ids.

    >>> tokenizer = WordPieceTokenizer(["[UNK]", "a"], options=BertOptions(lowercase=False))
    >>> print(to_json(tokenizer).replace("\\n", " "))  # doctest: +NORMALIZE_WHITESPACE
    { "format": "tokbench.wordpiece.1", "lowercase": false, "strip_accents": false,
      "handle_chinese_chars": true, "clean_text": true, "max_characters_per_word": 100,
      "special_tokens": [ "[UNK]" ], "vocabulary": [ "[UNK]", "a" ] }
    """
    options = tokenizer.options
    content = {
        "format": FORMAT,
        "lowercase": options.lowercase,
        "strip_accents": options.strips_accents,
        "handle_chinese_chars": options.handle_chinese_chars,
        "clean_text": options.clean_text,
        "max_characters_per_word": tokenizer.max_characters_per_word,
        "special_tokens": tokenizer.special_tokens,
        "vocabulary": tokenizer.tokens,
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def to_vocab_txt(tokenizer: WordPieceTokenizer) -> str:
    """Write BERT's format: one entry a line, without a word about normalization."""
    return "".join(token + "\n" for token in tokenizer.tokens)


def to_tokenizer_json(tokenizer: WordPieceTokenizer) -> str:
    """Write the format of the `tokenizers` library, which gives the same ids from it."""
    options = tokenizer.options
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": tokenizer.ids[token],
                "content": token,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in tokenizer.special_tokens
        ],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": options.clean_text,
            "handle_chinese_chars": options.handle_chinese_chars,
            "strip_accents": options.strips_accents,
            "lowercase": options.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": PREFIX, "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": UNKNOWN,
            "continuing_subword_prefix": PREFIX,
            "max_input_chars_per_word": tokenizer.max_characters_per_word,
            "vocab": tokenizer.ids,
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def from_json(text: str, path: Path) -> WordPieceTokenizer:
    """Read what `to_json` wrote; `path` is for the message when it is something else."""
    content = own_json.parse(text, path, FORMAT)
    with well_formed(path.name, f"a whole {FORMAT} file"):
        return WordPieceTokenizer(
            content["vocabulary"],
            options=BertOptions(
                lowercase=content["lowercase"],
                strip_accents=content["strip_accents"],
                handle_chinese_chars=content["handle_chinese_chars"],
                clean_text=content["clean_text"],
            ),
            special_tokens=content["special_tokens"],
            max_characters_per_word=int(content["max_characters_per_word"]),
        )
