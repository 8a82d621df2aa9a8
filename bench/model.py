"""The domain model: tokenizer, vocabulary, metric, measurement.

Nothing here reads a file, imports a tokenizer library or knows about configs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tokbench.bench.reasons import Reason

Ids = Sequence[int] | npt.NDArray[Any]
"""The token ids of one document, as the library returns them: a list or an integer array."""

Span = tuple[int, int]
"""First and one-past-last code point of the text that a token covers."""


class Place(NamedTuple):
    """One language of a corpus: the text that every tokenizer of a run is measured on."""

    corpus: str
    language: str


BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The entries of a tokenizer, by token id.

    `token_bytes[i]` is the raw UTF-8 content of id i: with the space that a piece encodes
    (``▁the`` is ``b" the"``), without markers that encode no text (``##ing`` is ``b"ing"``),
    one byte for a byte-fallback piece. It is None where the id has no content of its own
    (control tokens, unknown tokens, holes in the id range).

    >>> v = Vocabulary(token_bytes=[None, b"a", b" b"], special_ids=frozenset({0}))
    >>> v.n_ids, v.n_entries, v.n_special, v.byte_lengths.tolist()
    (3, 3, 1, [-1, 1, 2])
    """

    token_bytes: Sequence[bytes | None]
    special_ids: frozenset[int] = frozenset()
    unknown_ids: frozenset[int] = frozenset()
    byte_fallback_ids: frozenset[int] = frozenset()
    added_ids: frozenset[int] = frozenset()
    """Added tokens that are content: matched in any text before the model sees it."""
    hole_ids: frozenset[int] = frozenset()
    """Unused ids below the highest one."""
    inside_ids: frozenset[int] = frozenset()
    """Entries that only continue a word, such as ``##ing``; empty if entries are not marked."""
    ending_ids: frozenset[int] = frozenset()
    """Entries that only end a word, such as ``ing</w>``; empty if entries are not marked."""

    @property
    def n_ids(self) -> int:
        """Highest id + 1: the rows an embedding needs."""
        return len(self.token_bytes)

    @property
    def n_entries(self) -> int:
        """Ids that exist, special tokens included."""
        return self.n_ids - len(self.hole_ids)

    @property
    def n_special(self) -> int:
        """Ids registered as special or control tokens."""
        return len(self.special_ids)

    @cached_property
    def byte_lengths(self) -> npt.NDArray[np.int32]:
        """Bytes of each id, -1 where it has none; shape (n_ids,)."""
        return np.fromiter(
            (-1 if b is None else len(b) for b in self.token_bytes), np.int32, self.n_ids
        )

    @cached_property
    def sizes(self) -> npt.NDArray[Any]:
        """Bytes of each id, 0 where it has none, negative where they are no whole characters.

        Shape (n_ids,). Looked up for every token, so all that is asked of a token is in one small
        number: 16 bits where all fit, for the processor's cache to hold.
        """
        lengths = np.maximum(self.byte_lengths, 0)
        sizes = np.where(self.is_partial_character, -lengths, lengths)
        return sizes.astype(np.int16) if lengths.max(initial=0) < 1 << 15 else sizes

    @cached_property
    def is_special(self) -> BoolArray:
        """Shape (n_ids,)."""
        return self._mask(self.special_ids)

    @cached_property
    def is_unknown(self) -> BoolArray:
        """Shape (n_ids,)."""
        return self._mask(self.unknown_ids)

    @cached_property
    def is_byte_fallback(self) -> BoolArray:
        """Shape (n_ids,)."""
        return self._mask(self.byte_fallback_ids)

    @cached_property
    def is_partial_character(self) -> BoolArray:
        """Whether an id's bytes are not valid UTF-8 on their own; shape (n_ids,)."""
        return np.fromiter(
            (b is not None and not _is_utf8(b) for b in self.token_bytes), np.bool_, self.n_ids
        )

    @cached_property
    def starts_with_space(self) -> BoolArray:
        """Whether an id's first byte is a space (U+0020); shape (n_ids,)."""
        return np.fromiter(
            (b is not None and b.startswith(b" ") for b in self.token_bytes), np.bool_, self.n_ids
        )

    def _mask(self, ids: frozenset[int]) -> BoolArray:
        mask = np.zeros(self.n_ids, np.bool_)
        mask[list(ids)] = True
        return mask


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Fingerprint:
    """A tokenizer's identity: one SHA-256 for each part that decides ids, and one for all.

    Parts are named as in the `tokenizers` documentation where they exist there:
    ``vocabulary``, ``merges``, ``normalizer``, ``pre_tokenizer``, ``special_tokens``, ``options``.

    >>> a = Fingerprint.of(vocabulary=[b"a"], options={"lowercase": True})
    >>> b = Fingerprint.of(vocabulary=[b"a"], options={"lowercase": False})
    >>> a.parts["vocabulary"] == b.parts["vocabulary"], a.sha256 == b.sha256
    (True, False)
    """

    parts: Mapping[str, str]

    @classmethod
    def of(cls, **parts: object) -> Fingerprint:
        """Hash each part; bytes, text, numbers, lists and mappings are allowed."""
        return cls(parts={name: _canonical_sha256(parts[name]) for name in sorted(parts)})

    @cached_property
    def sha256(self) -> str:
        """The hash over all parts, 64 hex digits."""
        return _canonical_sha256(dict(self.parts))


def _canonical_sha256(value: object) -> str:
    digest = hashlib.sha256()
    if isinstance(value, list) and all(b is None or isinstance(b, bytes) for b in value):
        for b in value:  # a vocabulary: length-prefixed, so that no two lists write the same bytes
            digest.update(b"-" if b is None else b"%d:%b" % (len(b), b))
    else:
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=_jsonable)
        digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _jsonable(value: object) -> object:
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"a fingerprint cannot hold {type(value).__name__}")


@runtime_checkable
class Tokenizer(Protocol):
    """What a tokenizer must provide. Special tokens are never added to a text.

    `encode_batch` and `decode_batch` are the library's own calls on one thread with as little
    around them as possible: they are what the throughput suite times. They return what the
    library returns; tokbench converts.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """The facts about every id."""

    @property
    def fingerprint(self) -> Fingerprint:
        """What decides the ids, hashed."""

    @property
    def byte_exact(self) -> bool:
        """Whether token bytes are meant to add up to the text's bytes.

        True for byte-level and byte-fallback tokenizers that do not normalize; tokbench checks
        the claim on every document and reports each breach.
        """

    @property
    def prefix_space(self) -> bool:
        """Whether a space is put before a text, so that its tokens may hold one byte more."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes for readers of the results, such as "truncation switched off"."""

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        """Return the ids of each text, special tokens' spellings read as ordinary text."""

    def decode_batch(self, ids: Sequence[Ids]) -> Sequence[str]:
        """Return the text of each list of ids, as the library's decoder returns it."""


@runtime_checkable
class HasOffsets(Protocol):
    """Optional: a tokenizer that returns which part of the text each token covers."""

    def encode_batch_with_offsets(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[Span]]]:
        """Return ids as `encode_batch` does, and one (start, end) in code points per token."""


@runtime_checkable
class HasSpecialTokens(Protocol):
    """Optional: a tokenizer that returns how its special tokens are spelled."""

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Id by spelling; documents that contain one are counted."""


@dataclass(frozen=True, kw_only=True)
class Merging:
    """How a BPE model builds its entries: adjacent symbols are joined, lowest rank first."""

    entries: Callable[[], Iterable[tuple[int, Sequence[Any]]]]
    """The id of each ordinary entry, and the symbols that its content starts from."""
    join: Callable[[Any, Any], tuple[int, Any] | None]
    """The rank of a pair and the symbol that it becomes, None where it is never joined."""


@runtime_checkable
class HasMerging(Protocol):
    """Optional: a tokenizer that may be BPE, and returns its merges."""

    def merging(self) -> Merging | None:
        """Return how it joins, None where its model is not BPE."""


@runtime_checkable
class HasSpelling(Protocol):
    """Optional: a tokenizer whose vocabulary has its own spelling of entries."""

    def spelling(self, ids: Sequence[int]) -> Sequence[str]:
        """Return the entry of each id as the vocabulary has it: ``##ing``, ``Ġthe``, ``▁the``."""


@runtime_checkable
class HasPreTokens(Protocol):
    """Optional: a tokenizer that returns the pre-token of each token."""

    def encode_batch_in_pre_tokens(
        self, texts: Sequence[str]
    ) -> tuple[Sequence[Ids], Sequence[Sequence[int]]]:
        """Return ids as `encode_batch` does, and for each token the number of its pre-token.

        No entry reaches from one pre-token into the next. A tokenizer that cuts nothing before
        its model runs gives every token the same number.
        """


@runtime_checkable
class HasSingleCall(Protocol):
    """Optional: a library with a call for one text that is not a batch of one."""

    def encode_one(self, text: str) -> Ids:
        """Return the ids of one text, as `encode_batch` would; timed where single calls are."""


@runtime_checkable
class HasThreads(Protocol):
    """Optional: a library whose batch call can use several threads."""

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> Sequence[Ids]:
        """Return what `encode_batch` does, on the given number of threads."""


Direction = Literal["higher", "lower", "none"]
Lane = Literal["exact", "noisy"]
Status = Literal["ok", "partial", "failed", "refused", "skipped"]
Kind = Literal["natural", "code"]


@dataclass(frozen=True, kw_only=True)
class MetricSpec:
    """One metric: the only source of its name, unit, direction and definition."""

    name: str
    unit: str
    direction: Direction
    definition: str
    lane: Lane = "exact"
    additive: bool = False
    formula: str = ""
    """The formula, in the terms of the definition, if it adds to the sentence."""
    source: str = ""
    """Source of the definition; "tokbench" if it was defined here."""
    not_meant: str = ""
    """What the value does not mean."""
    trap: str = ""
    """The mistake that leads to a wrong value."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One value of one metric, or the reason why it is missing.

    `language`, `corpus` and `tokenizer` are config keys, None where the value is about all.
    `n` counts documents unless `params` names another unit. A row without a value, or with a
    status other than ok, has a `reason`; `detail` says it in words. `suite` is the name of the
    suite's entry point: the runner writes it, a suite leaves it empty.
    """

    metric: MetricSpec
    suite: str = ""
    tokenizer: str | None = None
    corpus: str | None = None
    language: str | None = None
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    n: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    status: Status = "ok"
    reason: Reason | None = None
    detail: str | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A result that is not a number: a witness, a refusal, a warning.

    `suite` is written by the runner, as in a `Measurement`.
    """

    kind: Literal["witness", "refusal", "warning", "failure", "note"]
    reason: Reason
    message: str
    suite: str = ""
    tokenizer: str | None = None
    corpus: str | None = None
    language: str | None = None
    document_id: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
