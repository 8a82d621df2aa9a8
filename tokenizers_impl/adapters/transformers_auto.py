"""`transformers`: whatever `AutoTokenizer` loads, from a folder or a Hub repository, without torch.

A fast tokenizer is a `tokenizers` one underneath and is measured as that, with the same facts and
the same policy. A slow one is Python code of `transformers`: its pieces are read as their usual
spellings say, and nothing is promised about bytes. Code of a repository is never run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Tokenizer, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.bench.workers.hub_access import lock_threads_only
from tokbench.tokenizers_impl.adapters.heads import not_count
from tokbench.tokenizers_impl.convert import as_list


class Transformers(TokenizerPlugin):
    """A tokenizer that `transformers.AutoTokenizer` loads from a folder or the Hub (`path`).

    Needs the extra `transformers`. `revision` belongs to a Hub repository.
    """

    path: str = Field(description="Folder, relative to the config's, or a Hub id `owner/name`.")
    revision: str | None = Field(
        None,
        description="Commit, tag or branch of the Hub repository; `tokbench pin` writes the "
        "commit.",
    )
    fast: bool = Field(
        True, description="`false` asks for the implementation in Python, where one exists."
    )
    special_tokens: Literal["text", "match"] = Field(
        "text",
        description="`text`: special tokens spelled in a text are ordinary text. `match`: they "
        "match.",
    )

    @field_validator("special_tokens", mode="before")
    @classmethod
    def _counting_is_a_suite(cls, value: object) -> object:
        return not_count(value)

    def repository(self, context: LoadContext) -> str | None:
        """Return the repository of the Hub, where it is no folder."""
        return None if context.resolve(self.path).is_dir() else self.path

    def load(self, context: LoadContext) -> Tokenizer:
        """Load it, and look what is underneath."""
        loaded, source = _load(self, context)
        if getattr(loaded, "is_fast", False):
            from tokbench.tokenizers_impl.adapters.huggingface import build

            found = build(loaded.backend_tokenizer.to_str(), source, self.special_tokens)
            if self.fast:
                return found
            note = (
                "fast is false, but transformers has no Python class for it: "
                f"{type(loaded).__name__} "
                "is the compiled tokenizer, the same as with fast: true"
            )
            return replace(found, notes=(*found.notes, note))
        return _slow(loaded, match_special=self.special_tokens == "match")


def _load(options: Transformers, context: LoadContext) -> tuple[Any, str]:
    try:
        import transformers
    except ImportError as exc:
        raise TokenizerError(
            "type transformers needs the extra of that name: pip install 'tokbench[transformers]'"
        ) from exc
    lock_threads_only()
    folder = context.resolve(options.path)
    local = folder.is_dir()
    if not local and (options.path.startswith((".", "/", "~")) or options.path.count("/") > 1):
        raise TokenizerError(
            f"folder {options.path!r} does not exist; paths start from the config's folder"
        )
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(
            str(folder) if local else options.path,
            revision=None if local else options.revision,
            use_fast=options.fast,
            trust_remote_code=False,
        )
    except Exception as exc:  # what it raises depends on the model; all of it is put in words
        raise _refused(options, exc, folder if local else None) from None
    commit = getattr(loaded, "init_kwargs", {}).get("_commit_hash") or options.revision
    return loaded, options.path if local or commit is None else f"{options.path}@{commit}"


def _refused(options: Transformers, exc: Exception, folder: Path | None) -> TokenizerError:
    text = f"{type(exc).__name__}: {exc}"
    if "trust_remote_code" in text or "contains custom code" in text:
        return TokenizerError(
            f"{options.path} needs code from its repository, which is never run; give its "
            "tokenizer.json to type huggingface, or write a plug-in"
        )
    if folder is None:
        from tokbench.bench.workers.hub_access import why_refused
        from tokbench.tokenizers_impl.adapters.hub import named

        if (words := why_refused(exc, options.revision)) is not None:
            return TokenizerError(f"{named(options.path, options.revision)} {words}")
    shown = text.replace(str(folder), options.path) if folder is not None else text
    return TokenizerError(f"transformers cannot load {options.path}: {shown[:400]}")


@dataclass(frozen=True, kw_only=True, eq=False)
class SlowTokenizer:
    """A tokenizer of `transformers` that is written in Python."""

    library: Any
    vocabulary: Vocabulary
    fingerprint: Fingerprint
    split_special: bool
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    added_special_tokens: int = 0
    notes: tuple[str, ...] = ()
    encode_call: str = ""
    byte_exact: bool = False
    prefix_space: bool = False

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one list of ids for each text, nothing added and nothing cut."""
        encode, convert = self.library.tokenize, self.library.convert_tokens_to_ids
        return [convert(encode(text, split_special_tokens=self.split_special)) for text in texts]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the texts by the library's decoder, special tokens spelled out."""
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        return [self.library.decode(as_list(one), **options) for one in ids]


def _slow(library: Any, *, match_special: bool) -> SlowTokenizer:
    pieces = {int(i): str(piece) for piece, i in library.get_vocab().items()}
    special = {
        str(t): int(i)
        for t, i in zip(library.all_special_tokens, library.all_special_ids, strict=True)
    }
    unknown = getattr(library, "unk_token_id", None)
    size = max(pieces, default=-1) + 1
    special_ids = frozenset(special.values())
    vocabulary = Vocabulary(
        token_bytes=[
            None if i in special_ids or i not in pieces else _content(library, pieces[i])
            for i in range(size)
        ],
        special_ids=special_ids,
        unknown_ids=frozenset() if unknown is None else frozenset({int(unknown)}),
        hole_ids=frozenset(set(range(size)) - set(pieces)),
    )
    kind = type(library).__name__
    return SlowTokenizer(
        library=library,
        vocabulary=vocabulary,
        fingerprint=Fingerprint.of(
            vocabulary=[pieces.get(i, "").encode() for i in range(size)],
            special_tokens=special,
            options={"class": kind, "match_special": match_special},
        ),
        split_special=not match_special,
        encode_call=f"transformers.{kind}.tokenize and convert_tokens_to_ids",
        special_tokens=special,
        added_special_tokens=int(library.num_special_tokens_to_add()),
        notes=(
            f"{kind} of transformers, in Python: the content of its tokens is read from their "
            "spelling",
        ),
    )


def _content(library: Any, piece: str) -> bytes:
    """Return the bytes a piece stands for, by the conventions of the tokenizer's family."""
    if (alphabet := getattr(library, "byte_decoder", None)) and set(piece) <= set(alphabet):
        return bytes(alphabet[character] for character in piece)
    if hasattr(library, "_utf_vocab_size") and len(piece) == 1 and ord(piece) < 256:
        return bytes([ord(piece)])  # ByT5 and its kin: one token a byte
    if piece.startswith("##"):
        return piece[2:].encode()
    return piece.replace("▁", " ").encode()
