"""WordPiece as a plug-in with options."""

from __future__ import annotations

from pydantic import Field

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl import own_json
from tokbench.tokenizers_impl.wordpiece.bert_characters import BertOptions
from tokbench.tokenizers_impl.wordpiece.files import from_json, read_vocab_txt
from tokbench.tokenizers_impl.wordpiece.model import WordPieceTokenizer


class WordPiece(TokenizerPlugin):
    """tokbench's own WordPiece, from BERT's ``vocab.txt`` or tokbench's JSON."""

    file: str = Field(
        description="BERT's `vocab.txt`, or tokbench's own JSON, which holds all other options."
    )
    lowercase: bool | None = Field(
        None, description="Lower-case the text; required for `vocab.txt`."
    )
    strip_accents: bool | None = Field(
        None, description="Remove accents; by default as `lowercase`."
    )
    handle_chinese_chars: bool = Field(True, description="Surround Chinese characters with spaces.")
    clean_text: bool = Field(True, description="Remove control characters.")
    max_characters_per_word: int = Field(100, description="Longer words are unknown.")

    def load(self, context: LoadContext) -> WordPieceTokenizer:
        """Read the file; raise `TokenizerError` with what to do when it cannot be used."""
        path = context.resolve(self.file)
        text = own_json.read_text(path)
        if path.suffix == ".json":
            return from_json(text, path)
        if self.lowercase is None:
            raise TokenizerError(
                f"{path.name} does not say whether its words are lower-cased: "
                "set `lowercase: true` (as BERT uncased) or `lowercase: false`"
            )
        return WordPieceTokenizer(
            read_vocab_txt(text),
            options=BertOptions(
                lowercase=self.lowercase,
                strip_accents=self.strip_accents,
                handle_chinese_chars=self.handle_chinese_chars,
                clean_text=self.clean_text,
            ),
            max_characters_per_word=self.max_characters_per_word,
        )
