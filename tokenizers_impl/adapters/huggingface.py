"""`tokenizers`: a tokenizer.json, a BERT vocab.txt, a repository of the Hub, or a sample."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from tokbench.bench.errors import TokenizerError, is_library_failure
from tokbench.bench.markup import plural
from tokbench.bench.model import Fingerprint, Ids, Merging, Span, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters import loaded, samples, tokenizer_json
from tokbench.tokenizers_impl.adapters.heads import not_count, unlike
from tokbench.tokenizers_impl.convert import as_list
from tokbench.tokenizers_impl.files import json_of, read_file, text_of, well_formed
from tokbench.tokenizers_impl.wordpiece.files import read_vocab_txt

_CASING = ("lowercase", "strip_accents", "handle_chinese_chars", "clean_text")
CLEAN_UP = (
    "its decoder removes the space before . , ? ! and in contractions (clean-up), so a text that "
    "has one does not come back"
)
_BERT_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class HuggingFace(TokenizerPlugin):
    """A tokenizer.json (or .json.gz), a BERT vocab.txt, a Hub repository, or a sample.

    Exactly one of `file`, `hub` and `sample`. A vocab.txt does not say how it was cased, so
    `lowercase` must. Special tokens spelled in a text are ordinary text unless `special_tokens`
    is `match`; added tokens that are not special always match.
    """

    file: str | None = Field(
        None, description="`tokenizer.json`, `tokenizer.json.gz` or a BERT `vocab.txt`."
    )
    hub: str | None = Field(
        None, description="Repository of the Hub that holds a `tokenizer.json`."
    )
    revision: str | None = Field(None, description="Commit, tag or branch of that repository.")
    sample: Literal["deepseek"] | None = Field(
        None, description="`deepseek`, from the `samples` extra."
    )
    special_tokens: Literal["text", "match"] = Field(
        "text",
        description="`text`: special tokens spelled in a text are ordinary text. `match`: they "
        "match, as the library does by default.",
    )
    lowercase: bool | None = Field(None, description="For `vocab.txt`: lower-case the text.")
    strip_accents: bool | None = Field(
        None, description="For `vocab.txt`: remove accents; by default as `lowercase`."
    )
    handle_chinese_chars: bool | None = Field(
        None,
        description="For `vocab.txt`: surround Chinese characters with spaces; by default true.",
    )
    clean_text: bool | None = Field(
        None, description="For `vocab.txt`: remove control characters; by default true."
    )

    @field_validator("special_tokens", mode="before")
    @classmethod
    def _counting_is_a_suite(cls, value: object) -> object:
        return not_count(value)

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [self.file, self.hub, self.sample]
        if sum(source is not None for source in sources) != 1:
            raise ValueError("give exactly one of file, hub and sample")
        if self.revision is not None and self.hub is None:
            raise ValueError("revision belongs to hub only")
        casing = [name for name in _CASING if getattr(self, name) is not None]
        if casing and not self._is_vocab:
            raise ValueError(f"{casing[0]} belongs to a vocab.txt only; other files say it inside")
        if self._is_vocab and self.lowercase is None:
            raise ValueError("a vocab.txt needs lowercase: true or false; the file does not say")
        return self

    @property
    def _is_vocab(self) -> bool:
        return self.file is not None and self.file.endswith(".txt")

    def repository(self, context: LoadContext) -> str | None:
        """Return the repository of the Hub, where it is one."""
        return self.hub

    def bare(self, context: LoadContext, folder: Path) -> Mapping[str, Any]:
        """Name the library and write the tokenizer.json; the worker switches off what `load` does.

        It is the file as it is, since what this version of the library would write may be beyond
        an older one. Where the model has special tokens as pieces, it is what `load` made of it.
        """
        content, source = self._whole_content(context)
        with well_formed(source, "a tokenizer.json"):
            is_changed = loaded.with_ordinary_specials(_parse(content, source)) is not None
        if is_changed:
            content = self.load(context).library.to_str()
        file = folder / "tokenizer.json"
        file.write_text(content, encoding="utf-8")
        return {"library": "tokenizers", "file": str(file), "special_tokens": self.special_tokens}

    def misfit(self, option: str, head: bytes) -> str | None:
        """Say so where a tokenizer.json does not begin like JSON."""
        return None if self._is_vocab else unlike(head, "JSON")

    def load(self, context: LoadContext) -> HuggingFaceTokenizer:
        """Find and build the tokenizer, with all that adds, cuts or draws lots switched off."""
        content, source = self._whole_content(context)
        built = build(content, source, self.special_tokens)
        if self._is_vocab:
            text = self._content(context)[0]
            notes = (*built.notes, *_doubled_lines(text))
            return replace(built, notes=notes, added_special_tokens=_of_bert(built))
        return built

    def _whole_content(self, context: LoadContext) -> tuple[str, str]:
        """The text of the tokenizer.json, also of the one that a vocab.txt stands for."""
        content, source = self._content(context)
        if self._is_vocab:
            content = json.dumps(_bert_spec(content, self), ensure_ascii=False)
        return content, source

    def _content(self, context: LoadContext) -> tuple[str, str]:
        """The text of the file, and how to name it."""
        if self.sample is not None:
            sample = samples.SAMPLES[self.sample]
            return _text(samples.read(sample), sample.path), f"sample {self.sample}"
        if self.hub is not None:
            from tokbench.tokenizers_impl.adapters.hub import tokenizer_json_of

            return tokenizer_json_of(self.hub, self.revision)
        assert self.file is not None
        return _text(read_file(context.resolve(self.file), self.file), self.file), self.file


def _of_bert(built: HuggingFaceTokenizer) -> int:
    """Return how many special tokens a BERT model adds to a text; a vocab.txt has no template."""
    return sum(name in built.special_tokens for name in ("[CLS]", "[SEP]"))


_OTHERS = (
    "; this type reads tokenizer.json, its .gz and vocab.txt; a SentencePiece .model is of type "
    "sentencepiece"
)


def _text(content: bytes, source: str) -> str:
    return text_of(content, source, _OTHERS)


def _bert_spec(text: str, options: HuggingFace) -> dict[str, Any]:
    """A vocab.txt as the tokenizer.json it stands for: one piece a line, ids counted from 0."""
    vocab = {entry: i for i, entry in enumerate(read_vocab_txt(text))}
    if "[UNK]" not in vocab:
        raise TokenizerError(
            f"{options.file}: no line is [UNK], so this is not the vocab.txt of a BERT model"
        )
    return {
        "version": "1.0",
        "added_tokens": [_bert_special(vocab[s], s) for s in _BERT_SPECIALS if s in vocab],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": options.clean_text is not False,
            "handle_chinese_chars": options.handle_chinese_chars is not False,
            "strip_accents": options.strip_accents,
            "lowercase": options.lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }


def _doubled_lines(text: str) -> Iterator[str]:
    """Yield a note where a vocab.txt has an entry on several lines."""
    lines = read_vocab_txt(text)
    if twice := [entry for entry, n in Counter(lines).items() if n > 1]:
        at = [number for number, entry in enumerate(lines) if entry == twice[0]]
        yield (
            f"{plural(len(twice), 'entry', 'entries')} on several lines of the vocab.txt "
            f"({twice[0]!r}: ids {', '.join(map(str, at))}); the last line is used, and the ids "
            "of the others have no entry"
        )


def _bert_special(i: int, content: str) -> dict[str, Any]:
    off = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": i, "content": content, "special": True, **off}


@dataclass(frozen=True, kw_only=True, eq=False)
class HuggingFaceTokenizer:
    """A tokenizer run by the `tokenizers` library on one thread."""

    library: Any
    """A `tokenizers.Tokenizer`."""
    decoder: Any
    """The one that decodes: the same, unless a Unigram model would match special tokens."""
    vocabulary: Vocabulary
    fingerprint: Fingerprint
    byte_exact: bool
    prefix_space: bool
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    """Id by spelling, of the special ones."""
    matched_special: tuple[str, ...] = ()
    """Special tokens that a text which spells them gets, as measured at load."""
    added_special_tokens: int = 0
    """Special tokens that the file's template adds to a text, had it not been switched off."""
    notes: tuple[str, ...] = ()

    encode_call: ClassVar[str] = "tokenizers.Tokenizer.encode_batch_fast"

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one list of ids for each text; the library computes no offsets here."""
        encoded = self.library.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encoded]

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> list[Ids]:
        """Return what `encode_batch` does; the library reads the number of threads once, from
        RAYON_NUM_THREADS and TOKENIZERS_PARALLELISM, before its first batch."""
        return self.encode_batch(texts)

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        """Return the same ids, and (start, end) in code points for each token."""
        encoded = self.library.encode_batch(list(texts), add_special_tokens=False)
        return [e.ids for e in encoded], [e.offsets for e in encoded]

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[int]]]:
        """Return the same ids, and for each token the number of its pre-token.

        An added token is a pre-token of its own.
        """
        encoded = self.library.encode_batch(list(texts), add_special_tokens=False)
        return [e.ids for e in encoded], [e.word_ids for e in encoded]

    def spelling(self, ids: Sequence[int]) -> list[str]:
        """Return the entries as the file has them."""
        return [self.library.id_to_token(int(i)) or "" for i in ids]

    def merging(self) -> Merging | None:
        """Return how it joins, None where the model is not BPE."""
        # read back from the library: most runs never ask, and merges take much memory
        spec = json.loads(self.library.to_str())
        return tokenizer_json.merging(spec, self.vocabulary)

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts by the library's decoder, special tokens spelled out."""
        lists = [as_list(document) for document in ids]
        texts: list[str] = self.decoder.decode_batch(lists, skip_special_tokens=False)
        return texts


def build(
    content: str, source: str, special_tokens: Literal["text", "match"] = "text"
) -> HuggingFaceTokenizer:
    """Return the tokenizer that a tokenizer.json describes; `source` names it in errors."""
    # The library reads this at each batch call; one thread is what tokbench measures.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    spec = _parse(content, source)
    with well_formed(source, "a tokenizer.json"):
        return _built(spec, _library(content, source), source, special_tokens)


def _built(
    declared: Mapping[str, Any], library: Any, source: str, special_tokens: Literal["text", "match"]
) -> HuggingFaceTokenizer:
    spec, notes = loaded.with_true_ids(declared, library)
    notes += loaded.doubtful_entries(spec)
    added = int(library.num_special_tokens_to_add(False))
    notes += [*_switch_off(library, spec), *_remarks(spec, special_tokens)]
    encoder = library
    if special_tokens == "text":
        library.encode_special_tokens = True
        encoder = _encoder(declared, library, source)
    special = {t.content: t.id for t in tokenizer_json.added_tokens(spec) if t.special}
    match = special_tokens == "match"
    unknown = tokenizer_json.unknown_id(spec)
    read, tried = loaded.read_as_special(encoder, special, unknown)
    notes += loaded.special_token_notes(read, tried, match=match) if tried else []
    losses = tokenizer_json.losses(spec)
    notes += [f"not byte-exact: {loss}" for loss in losses]
    return HuggingFaceTokenizer(
        library=encoder,
        decoder=library,
        vocabulary=tokenizer_json.vocabulary(spec, match_special=match),
        fingerprint=tokenizer_json.fingerprint(spec, {"special_tokens": special_tokens}),
        byte_exact=not losses,
        prefix_space=tokenizer_json.prefix_space(spec),
        special_tokens=special,
        matched_special=tuple(read),
        added_special_tokens=added,
        notes=tuple(notes),
    )


def _encoder(spec: Mapping[str, Any], library: Any, source: str) -> Any:
    """Return the object that encodes: one whose model does not have special tokens as pieces."""
    content = loaded.with_ordinary_specials(spec)
    if content is None:
        return library
    encoder = _library(content, source)
    encoder.encode_special_tokens = True
    ids = [
        {t.content: i for i, t in each.get_added_tokens_decoder().items() if not t.special}
        for each in (encoder, library)
    ]
    return encoder if ids[0] == ids[1] else library


def _parse(content: str, source: str) -> dict[str, Any]:
    spec = json_of(content, source, "; Mistral's tekken.json is of type tekken")
    model = spec.get("model")
    if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict | list):
        raise TokenizerError(
            f"{source} is not a tokenizer.json: no model with a vocab in it; Mistral's "
            "tekken.json is of type tekken"
        )
    return spec


def _library(content: str, source: str) -> Any:
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_str(content)
    except BaseException as exc:  # the library raises nothing narrower, and may panic
        if not is_library_failure(exc):
            raise
        raise TokenizerError(
            f"{source}: tokenizers {tokenizers.__version__} cannot load it ({exc}); the file may "
            "be damaged or need another version of tokenizers"
        ) from exc


def _switch_off(library: Any, spec: Mapping[str, Any]) -> Iterator[str]:
    """Switch off what adds, cuts or draws lots; yield a note for each that was on."""
    if library.truncation is not None:
        limit = library.truncation["max_length"]
        library.no_truncation()
        yield f"truncation to {limit} tokens switched off"
    if library.padding is not None:
        library.no_padding()
        yield "padding switched off"
    post_processor = (spec.get("post_processor") or {}).get("type")
    if post_processor not in (None, "ByteLevel"):
        yield f"the template that adds special tokens ({post_processor}) switched off"
    library.post_processor = None
    if spec["model"].get("dropout"):
        library.model.dropout = None
        yield f"BPE dropout of {spec['model']['dropout']} switched off"


def _remarks(spec: Mapping[str, Any], special_tokens: str) -> Iterator[str]:
    """What a reader of the numbers should know about the file."""
    if any(step.get("cleanup") for step in tokenizer_json.steps(spec, "decoder")):
        yield CLEAN_UP
    missing = tokenizer_json.missing_bytes(spec)
    if missing:
        yield f"{missing} of the 256 bytes have no token and vanish without a trace"
    for token in tokenizer_json.added_tokens(spec):
        swallows = [name for name in ("lstrip", "rstrip") if getattr(token, name)]
        if swallows and (special_tokens == "match" or not token.special):
            yield (
                f"added token {token.content!r} swallows the whitespace beside it "
                f"({', '.join(swallows)})"
            )
