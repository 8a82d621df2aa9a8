"""Did the text survive, and if not, what was lost and why.

A round trip is judged on whole documents. Lost bytes are those of the input's characters that do
not come back: covered by unknown tokens, or gone from the decoded text (a multiset difference per
document; white space and canonically equivalent forms do not count, order is not looked at).
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bench.environment import Stopwatch
from bench.model import Finding, IntArray, Tokenizer
from bench.slices import SliceBatch
from bench.tally import EXACT, LOSS_CAUSES, LOSSY, NORMALIZED, ROUND_TRIP
from bench.words import Boundaries

if TYPE_CHECKING:
    from bench.encode import Encoded

_SHIFT = 21  # code points need 21 bits; document number above them makes one sortable key
_EXCERPT = 12


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Round-trip class and lost bytes by cause of each document, shape (n,) each."""

    kinds: IntArray
    lost: dict[str, IntArray]
    findings: tuple[Finding, ...]


def judge(
    tokenizer: Tokenizer,
    batch: SliceBatch,
    encoded: Encoded,
    decoded: Sequence[str],
    boundaries: Boundaries | None,
    *,
    watch: Stopwatch,
) -> Verdict:
    """Compare what came back with what went in; the first document of each class is a witness."""
    kinds = np.full(len(batch.texts), EXACT, np.int64)
    lost = {cause: np.zeros(len(batch.texts), np.int64) for cause in LOSS_CAUSES}
    if batch.texts == decoded:
        return Verdict(kinds=kinds, lost=lost, findings=())
    for i, (before, after) in enumerate(zip(batch.texts, decoded, strict=True)):
        if before != after:
            kinds[i] = classify(before, after)
    suspects = np.flatnonzero(kinds == LOSSY)
    if suspects.size:
        unknown = tokenizer.vocabulary.is_unknown.take(encoded.index)
        texts, kept = _without_unknown(
            tokenizer, batch, encoded, decoded, boundaries, suspects, unknown, lost, watch
        )
        _add_lost_characters(texts, kept, suspects, lost)
    return Verdict(
        kinds=kinds,
        lost=lost,
        findings=_witnesses(tokenizer, batch, encoded, decoded, boundaries, kinds, lost),
    )


def classify(before: str, after: str) -> int:
    """Return the round-trip class of one text.

    >>> ROUND_TRIP[classify("a", "a")], ROUND_TRIP[classify("a  b", " a b")]
    ('exact', 'normalized')
    >>> ROUND_TRIP[classify("don't", "don ' t")]
    'lossy'
    """
    if before == after:
        return EXACT
    return NORMALIZED if _settled(before) == _settled(after) else LOSSY


def _settled(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _without_unknown(
    tokenizer: Tokenizer,
    batch: SliceBatch,
    encoded: Encoded,
    decoded: Sequence[str],
    boundaries: Boundaries | None,
    suspects: IntArray,
    unknown: npt.NDArray[np.bool_],
    lost: dict[str, IntArray],
    watch: Stopwatch,
) -> tuple[list[str], list[str]]:
    """Take unknown tokens off both sides and count the bytes under them.

    The decoder writes something for an unknown token ("[UNK]", " ⁇ "); its letters must not
    stand in for letters that were lost.
    """
    before = [batch.texts[i] for i in suspects.tolist()]
    after = [decoded[i] for i in suspects.tolist()]
    places = np.flatnonzero(encoded.sums(unknown)[suspects] > 0).tolist()
    if not places:
        return before, after
    documents = [int(suspects[place]) for place in places]
    with watch.section("decode"):
        clean = list(tokenizer.decode_batch(_known_ids(encoded, documents, unknown)))
    for place, text in zip(places, clean, strict=True):
        after[place] = text
    if boundaries is not None:
        covered = _covered_bytes(batch, encoded, boundaries, unknown)
        for place, document in zip(places, documents, strict=True):
            before[place], lost["unknown"][document] = _cut(batch, document, covered)
    return before, after


def _known_ids(
    encoded: Encoded, documents: Sequence[int], unknown: npt.NDArray[np.bool_]
) -> list[list[int]]:
    ids = encoded.ids[~unknown]
    gone = np.zeros(len(unknown) + 1, np.int64)
    np.cumsum(unknown, out=gone[1:])
    ends = (encoded.offsets - gone[encoded.offsets]).tolist()
    return [ids[ends[i] : ends[i + 1]].tolist() for i in documents]


def _covered_bytes(
    batch: SliceBatch, encoded: Encoded, boundaries: Boundaries, unknown: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    edges = np.zeros(len(batch.buffer) + 1, np.int64)
    np.add.at(edges, boundaries.starts[unknown], 1)
    np.add.at(edges, boundaries.ends[unknown], -1)
    covered: npt.NDArray[np.bool_] = np.cumsum(edges[:-1]) > 0
    return covered


def _cut(batch: SliceBatch, document: int, covered: npt.NDArray[np.bool_]) -> tuple[str, int]:
    """Return the text outside unknown tokens, and the bytes inside them that are not space."""
    start, end = int(batch.offsets[document]), int(batch.offsets[document + 1])
    text, inside = batch.buffer[start:end], covered[start:end]
    lost = text[inside].tobytes().decode("utf-8", "replace")
    kept = text[~inside].tobytes().decode("utf-8", "replace")
    return kept, len("".join(lost.split()).encode())


def _add_lost_characters(
    before: list[str], after: list[str], suspects: IntArray, lost: dict[str, IntArray]
) -> None:
    keys, counts, sizes = _character_counts(before)
    out_keys, out_counts, _ = _character_counts(after)
    missing = counts - _lookup(out_keys, out_counts, keys)
    gained = out_keys[out_counts > _lookup(keys, counts, out_keys)]
    gone = missing > 0
    keys, n_bytes = keys[gone], sizes[gone] * missing[gone] // counts[gone]
    if not keys.size:
        return
    document, code = keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)
    cause = _causes(document, code, gained)
    for number, name in enumerate(LOSS_CAUSES):
        chosen = cause == number
        np.add.at(lost[name], suspects[document[chosen]], n_bytes[chosen])


def _character_counts(texts: list[str]) -> tuple[IntArray, IntArray, IntArray]:
    """Count each document's characters, canonical forms made equal and white space left out.

    Returns keys (document and code point), counts, and the bytes that all of a key's characters
    take in the text as it was written.
    """
    settled = ["".join(unicodedata.normalize("NFC", text).split()) for text in texts]
    codes = np.frombuffer("".join(settled).encode("utf-32-le", "surrogatepass"), "<u4")
    codes = codes.astype(np.int64)
    lengths = [len(text) for text in settled]
    document = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)
    sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    end = 0
    for text, length in zip(texts, lengths, strict=True):
        end += length
        if not text.isascii() and not unicodedata.is_normalized("NFC", text):
            sizes[end - length : end] = _sizes_as_written(text, sizes[end - length : end])
    keys, place, counts = np.unique(
        (document << _SHIFT) | codes, return_inverse=True, return_counts=True
    )
    return keys, counts, np.bincount(place, sizes, len(keys)).astype(np.int64)


def _sizes_as_written(text: str, sizes: IntArray) -> IntArray:
    """Share the bytes of a text out to the characters of its normal form.

    Within each grapheme cluster, since normal forms do not reach beyond one: U+0958 takes three
    bytes, and the two characters it is normalized to take six.
    """
    import regex

    shared: list[int] = []
    for cluster in regex.findall(r"\X", "".join(text.split())):
        n = len(unicodedata.normalize("NFC", cluster))
        shared += _share(len(cluster.encode()), sizes[len(shared) : len(shared) + n])
    if len(shared) != len(sizes):  # a cluster composed with its neighbour
        shared = _share(len("".join(text.split()).encode()), sizes)
    return np.array(shared, np.int64)


def _share(total: int, sizes: IntArray) -> list[int]:
    """Split a total in proportion to sizes, without a remainder.

    >>> _share(3, np.array([3, 3])), _share(5, np.array([1, 1, 1]))
    ([1, 2], [1, 2, 2])
    """
    ends = np.cumsum(sizes) * total // max(int(sizes.sum()), 1)
    return np.diff(ends, prepend=0).tolist()  # type: ignore[no-any-return]


def _lookup(keys: IntArray, counts: IntArray, wanted: IntArray) -> IntArray:
    """Return the count of each wanted key, 0 where there is none."""
    if not keys.size:
        return np.zeros(len(wanted), np.int64)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, counts[place], 0)


def _causes(document: IntArray, code: IntArray, gained: IntArray) -> IntArray:
    """Name the cause of each lost character by what stands in its place, as an index.

    A capital whose small letter appeared is `case`; a letter whose base appeared, or a combining
    mark that went, is `marks`; a character whose compatibility form appeared is `compatibility`.
    """
    distinct, place = np.unique(code, return_inverse=True)
    cause = np.full(len(code), LOSS_CAUSES.index("other"), np.int64)
    for name, replacement in reversed(_REPLACEMENTS):
        stand_in = np.array([replacement(chr(c)) for c in distinct.tolist()], np.int64)[place]
        key = (document << _SHIFT) | np.maximum(stand_in, 0)
        known = np.isin(key, gained) & (stand_in >= 0) & (stand_in != code)
        cause[known] = LOSS_CAUSES.index(name)
    is_mark = np.array([unicodedata.category(chr(c))[0] == "M" for c in distinct.tolist()])[place]
    cause[is_mark] = LOSS_CAUSES.index("marks")
    return cause


def _first(text: str) -> int:
    return ord(text[0]) if text else -1


_REPLACEMENTS = (
    ("case", lambda c: _first(c.lower())),
    ("marks", lambda c: _first(unicodedata.normalize("NFD", c))),
    ("marks", lambda c: _first(unicodedata.normalize("NFD", c.lower()))),
    ("compatibility", lambda c: _first(unicodedata.normalize("NFKC", c))),
    ("compatibility", lambda c: _first(unicodedata.normalize("NFKC", c).lower())),
)


def _witnesses(
    tokenizer: Tokenizer,
    batch: SliceBatch,
    encoded: Encoded,
    decoded: Sequence[str],
    boundaries: Boundaries | None,
    kinds: IntArray,
    lost: dict[str, IntArray],
) -> tuple[Finding, ...]:
    found = []
    for kind in (NORMALIZED, LOSSY):
        documents = np.flatnonzero(kinds == kind)
        if documents.size:
            i = int(documents[0])
            swallowed = _added_token_at_difference(
                tokenizer, batch, encoded, boundaries, i, decoded[i]
            )
            reason = explain(batch.texts[i], decoded[i], {c: int(v[i]) for c, v in lost.items()})
            if swallowed is not None and "space" in reason:
                reason = f"white space beside the added token {swallowed!r} was swallowed"
            found.append(_witness(batch, i, decoded[i], ROUND_TRIP[kind], reason))
    return tuple(found)


def explain(before: str, after: str, lost: dict[str, int]) -> str:
    """Name in words what changed between a text and its round trip.

    >>> explain("plain", " plain", {})
    'a leading space was added'
    >>> explain("Café", "cafe", {"case": 1, "marks": 2})
    'lost: 2 bytes by marks, 1 byte by case'
    """
    if after == f" {before}":
        return "a leading space was added"
    if _settled(before) == _settled(after):
        if "".join(before.split()) == "".join(after.split()):
            return "white space was trimmed, merged or changed"
        return "the Unicode normal form changed"
    parts = sorted(((n, cause) for cause, n in lost.items() if n), reverse=True)
    if parts:
        return "lost: " + ", ".join(
            f"{n} {'byte' if n == 1 else 'bytes'} by {cause}" for n, cause in parts
        )
    if "".join(before.split()) == "".join(after.split()):
        fewer = sum(map(str.isspace, after)) < sum(map(str.isspace, before))
        return f"white space was {'lost' if fewer else 'added'} inside the text"
    return "characters were added, moved or replaced"


def _witness(batch: SliceBatch, i: int, after: str, kind: str, reason: str) -> Finding:
    before = batch.texts[i]
    at = next(
        (p for p, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    expected, got = _code_point(before, at), _code_point(after, at)
    return Finding(
        kind="witness",
        suite="fidelity",
        document_id=batch.ids[i],
        message=f"{reason}; first difference at character {at}: {expected} came back as {got}",
        data={
            "class": kind,
            "position": at,
            "expected": expected,
            "got": got,
            "expected_excerpt": before[max(0, at - _EXCERPT) : at + _EXCERPT],
            "got_excerpt": after[max(0, at - _EXCERPT) : at + _EXCERPT],
        },
    )


def _code_point(text: str, at: int) -> str:
    return f"U+{ord(text[at]):04X}" if at < len(text) else "the end"


def _added_token_at_difference(
    tokenizer: Tokenizer,
    batch: SliceBatch,
    encoded: Encoded,
    boundaries: Boundaries | None,
    i: int,
    after: str,
) -> str | None:
    """Return the spelling of the added token that covers the first difference, if one does."""
    added = tokenizer.vocabulary.added_ids
    if not added or boundaries is None or not boundaries.known[i]:
        return None
    before = batch.texts[i]
    at = sum(
        1 for _ in itertools.takewhile(lambda p: p[0] == p[1], zip(before, after, strict=False))
    )
    byte = int(batch.offsets[i]) + len(before[:at].encode())
    for token in range(int(encoded.offsets[i]), int(encoded.offsets[i + 1])):
        if boundaries.starts[token] <= byte < boundaries.ends[token]:
            content = tokenizer.vocabulary.token_bytes[int(encoded.ids[token])]
            is_added = int(encoded.ids[token]) in added
            return content.decode("utf-8", "replace") if is_added and content else None
    return None
