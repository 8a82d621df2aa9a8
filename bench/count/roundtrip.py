"""Did the text survive, and if not, what was lost and why.

A round trip is judged on whole documents. Lost bytes are those of the input's characters that do
not come back: covered by unknown tokens, or gone from the decoded text (a multiset difference per
document; canonically equivalent forms do not count, order is ignored), and white space that
appears, vanishes or changes inside the text. White space at its ends does not count as lost.
"""

from __future__ import annotations

import itertools
import operator
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tokbench.bench.count.tally import EXACT, LOSS_CAUSES, LOSSY, NORMALIZED, ROUND_TRIP
from tokbench.bench.count.white_space import WHITE_SPACE_CAUSES, white_space_loss
from tokbench.bench.count.words import Boundaries
from tokbench.bench.environment import Stopwatch
from tokbench.bench.markup import plural
from tokbench.bench.model import Finding, Ids, IntArray, Tokenizer

if TYPE_CHECKING:
    from tokbench.bench.corpus.slice_file import SliceBatch
    from tokbench.bench.count.encoded import Encoded

_SHIFT = 21  # code points need 21 bits; document number above them makes one sortable key
_EXCERPT = 12


@dataclass(frozen=True, kw_only=True)
class RoundTrip:
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
) -> RoundTrip:
    """Compare what came back with what went in; the first document of each class is a witness."""
    kinds = np.full(len(batch.texts), EXACT, np.int64)
    lost = {cause: np.zeros(len(batch.texts), np.int64) for cause in LOSS_CAUSES}
    if batch.texts == decoded:
        return RoundTrip(kinds=kinds, lost=lost, findings=())
    pairs = enumerate(zip(batch.texts, decoded, strict=True))
    differing = dict(itertools.compress(pairs, map(operator.ne, batch.texts, decoded)))
    with_unknown = _without_unknown(tokenizer, batch, encoded, differing, boundaries, lost, watch)
    suspects: dict[int, tuple[Settled, Settled]] = {}
    converted: dict[int, int] = {}
    for i, (before, after) in differing.items():
        spaces = white_space_loss(before, after, gaps=i in with_unknown)
        for cause, n_bytes in spaces.lost.items():
            lost[cause][i] = n_bytes
        if spaces.converted:
            converted[i] = spaces.converted
        kinds[i], pair = _kind_of(before, after, has_unknown=i in with_unknown)
        if pair is not None:
            suspects[i] = pair
    if suspects:
        _add_lost_characters(suspects, lost)
    _settle_causes(batch, lost, converted, _unplaced(with_unknown, boundaries))
    return RoundTrip(
        kinds=kinds,
        lost=lost,
        findings=_witnesses(tokenizer, batch, encoded, decoded, boundaries, kinds, lost),
    )


def _kind_of(
    before: str, after: str, *, has_unknown: bool
) -> tuple[int, tuple[Settled, Settled] | None]:
    """Return the class of a text that differs, and both texts settled where characters are lost."""
    words, words_after = before.split(), after.split()
    if words == words_after:  # as they are written: their normal forms are equal too
        return LOSSY if has_unknown else NORMALIZED, None
    if "".join(words) == "".join(words_after):
        return LOSSY, None
    pair = settle(before), settle(after)
    if not has_unknown and pair[0].words == pair[1].words:
        return NORMALIZED, None
    return LOSSY, pair if pair[0].letters != pair[1].letters else None


def _unplaced(with_unknown: frozenset[int], boundaries: Boundaries | None) -> frozenset[int]:
    """Return the documents whose unknown tokens cover an unknown part of the text."""
    if boundaries is None:
        return with_unknown
    return frozenset(i for i in with_unknown if not boundaries.known[i])


def _settle_causes(
    batch: SliceBatch,
    lost: dict[str, IntArray],
    converted: Mapping[int, int],
    unplaced: Iterable[int],
) -> None:
    """Assign each lost byte one cause; a document cannot lose more bytes than it has.

    A zero-width character that became white space is spacing; what is unexplained in a document
    with unknown tokens, whose places are not known, is under them.
    """
    for i, n_bytes in converted.items():
        lost["other"][i] -= min(n_bytes, int(lost["other"][i]))
    for i in unplaced:
        lost["unknown"][i] += lost["other"][i]
        lost["other"][i] = 0
    over = sum(lost.values()) - np.diff(batch.offsets)
    for i in np.flatnonzero(over > 0).tolist():  # white space that appears has no bytes of its own
        for cause in WHITE_SPACE_CAUSES:
            less = min(int(lost[cause][i]), max(int(over[i]), 0))
            lost[cause][i] -= less
            over[i] -= less


@dataclass(frozen=True, slots=True)
class Settled:
    """A text reduced to what stays the same under normal forms and white space."""

    text: str
    """As it was written."""
    words: list[str]
    """What white space separates, in NFC."""
    is_nfc: bool
    """Whether the text is its own normal form."""

    @property
    def letters(self) -> str:
        """All that is not white space, in NFC."""
        return "".join(self.words)


def settle(text: str) -> Settled:
    """Reduce a text to the form in which texts are compared.

    >>> settle(" e\u0301  b").words, settle("a b").letters
    (['é', 'b'], 'ab')
    """
    normal = unicodedata.normalize("NFC", text)
    return Settled(text, normal.split(), normal == text)


def classify(before: str, after: str, *, unknown: bool = False) -> int:
    """Return the round-trip class of one text; `unknown` says whether it has unknown tokens.

    >>> ROUND_TRIP[classify("a", "a")], ROUND_TRIP[classify("a  b", " a b")]
    ('exact', 'normalized')
    >>> ROUND_TRIP[classify("don't", "don ' t")]
    'lossy'
    """
    if before == after:
        return EXACT
    return NORMALIZED if not unknown and _alike(before, after) else LOSSY


def _alike(before: str, after: str) -> bool:
    return settle(before).words == settle(after).words


def _without_unknown(
    tokenizer: Tokenizer,
    batch: SliceBatch,
    encoded: Encoded,
    differing: dict[int, tuple[str, str]],
    boundaries: Boundaries | None,
    lost: dict[str, IntArray],
    watch: Stopwatch,
) -> frozenset[int]:
    """Remove unknown tokens from both sides and count the bytes they cover.

    The decoder writes something for an unknown token ("[UNK]", " ⁇ "); its letters must not
    stand in for letters that were lost. Returns the documents that have unknown tokens.
    """
    if not encoded.has(tokenizer.vocabulary.is_unknown):
        return frozenset()
    unknown = tokenizer.vocabulary.is_unknown.take(encoded.ids)
    some = np.diff(np.searchsorted(np.flatnonzero(unknown), encoded.offsets))
    documents = [i for i in np.flatnonzero(some).tolist() if i in differing]
    with watch.section("decode"):
        clean = list(tokenizer.decode_batch(_known_ids(encoded, documents, unknown)))
    kept: Iterable[str] = [batch.texts[i] for i in documents]
    if boundaries is not None:
        starts, ends = boundaries.starts[unknown], boundaries.ends[unknown]
        covered = covered_bytes(len(batch.buffer), starts, ends)
        marked = (ends - starts > 1) & (
            batch.buffer[np.minimum(starts, len(batch.buffer) - 1)] == 32
        )
        counted = covered_bytes(len(batch.buffer), starts + marked, ends)
        kept = _outside(batch, covered, counted, documents, lost["unknown"])
    for i, before, after in zip(documents, kept, clean, strict=True):
        differing[i] = before, after
    return frozenset(documents)


def _known_ids(
    encoded: Encoded, documents: Sequence[int], unknown: npt.NDArray[np.bool_]
) -> list[Ids]:
    ids = encoded.ids[~unknown]
    gone = np.zeros(len(unknown) + 1, np.int64)
    np.cumsum(unknown, out=gone[1:])
    ends = (encoded.offsets - gone[encoded.offsets]).tolist()
    return [ids[ends[i] : ends[i + 1]] for i in documents]


def covered_bytes(n: int, starts: IntArray, ends: IntArray) -> npt.NDArray[np.bool_]:
    """Return which of n bytes lie in any of the spans, which may overlap; shape (n,).

    >>> covered_bytes(6, np.array([1, 2]), np.array([3, 4])).tolist()
    [False, True, True, True, False, False]
    """
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    edges = np.zeros(2 * len(order) + 2, np.int64)
    edges[2:-1:2], edges[-1] = reached, n
    edges[1:-1:2] = np.maximum(starts[order], edges[:-2:2])
    return np.repeat(np.arange(len(edges) - 1) % 2 == 1, np.diff(edges))


def _outside(
    batch: SliceBatch,
    covered: npt.NDArray[np.bool_],
    counted: npt.NDArray[np.bool_],
    documents: Sequence[int],
    lost: IntArray,
) -> Iterator[str]:
    """Yield each document without what is covered; count what is lost under it.

    That is everything but the space that a piece may begin with, which the decoder gives back.
    """
    ends = np.searchsorted(np.flatnonzero(covered), batch.offsets)
    gone = np.diff(np.searchsorted(np.flatnonzero(counted), batch.offsets))
    left, left_ends = batch.buffer[~covered].tobytes(), (batch.offsets - ends).tolist()
    for i in documents:
        lost[i] = gone[i]
        yield left[left_ends[i] : left_ends[i + 1]].decode("utf-8", "replace")


def _add_lost_characters(
    suspects: dict[int, tuple[Settled, Settled]], lost: dict[str, IntArray]
) -> None:
    documents = np.fromiter(suspects, np.int64, len(suspects))
    before, after = ([pair[side] for pair in suspects.values()] for side in (0, 1))
    keys, counts = _character_counts(before)
    out_keys, out_counts = _character_counts(after)
    missing = counts - _lookup(out_keys, out_counts, keys)
    gained = out_keys[out_counts > _lookup(keys, counts, out_keys)]
    n_bytes = _bytes_of(before, keys, counts) * missing // counts
    gone = missing > 0
    if not gone.any():
        return
    keys, n_bytes = keys[gone], n_bytes[gone]
    document, code = keys >> _SHIFT, keys & ((1 << _SHIFT) - 1)
    cause = _causes(document, code, gained)
    for number, name in enumerate(LOSS_CAUSES):
        chosen = cause == number
        np.add.at(lost[name], documents[document[chosen]], n_bytes[chosen])


def _character_counts(texts: Sequence[Settled]) -> tuple[IntArray, IntArray]:
    """Count the letters of each text: sorted keys (its number and the code point), and counts."""
    letters = [text.letters for text in texts]
    codes = np.frombuffer("".join(letters).encode("utf-32-le", "surrogatepass"), "<u4")
    document = np.repeat(np.arange(len(texts), dtype=np.int64), list(map(len, letters)))
    return np.unique((document << _SHIFT) | codes, return_counts=True)


def _bytes_of(texts: Sequence[Settled], keys: IntArray, counts: IntArray) -> IntArray:
    """Return the bytes of all characters of a key in the original text."""
    codes = keys & ((1 << _SHIFT) - 1)
    n_bytes = counts * (1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
    for number, text in enumerate(texts):
        if not text.is_nfc:
            first, last = np.searchsorted(keys, (number << _SHIFT, (number + 1) << _SHIFT))
            written = _bytes_as_written(text)
            n_bytes[first:last] = [written[chr(code)] for code in codes[first:last].tolist()]
    return n_bytes


def _bytes_as_written(text: Settled) -> Mapping[str, int]:
    """Distribute the bytes of a text over the characters of its normal form.

    Within each grapheme cluster, since normal forms do not reach beyond one: U+0958 takes three
    bytes, and the two characters it is normalized to take six.
    """
    import regex

    visible = "".join(text.text.split())
    n_bytes: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for cluster, n in Counter(regex.findall(r"\X", visible)).items():
        normal = unicodedata.normalize("NFC", cluster)
        for character, share in zip(normal, _shares(normal, len(cluster.encode())), strict=True):
            n_bytes[character] += n * share
            seen[character] += n
    if seen == Counter(text.letters):
        return n_bytes
    n_bytes.clear()  # a cluster composed with its neighbour
    shares = _shares(text.letters, len(visible.encode()))
    for character, share in zip(text.letters, shares, strict=True):
        n_bytes[character] += share
    return n_bytes


def _shares(characters: str, total: int) -> list[int]:
    """Split a total in proportion to the bytes of characters, without a remainder.

    >>> _shares("日本", 3), _shares("abc", 5)
    ([1, 2], [1, 2, 2])
    """
    ends = list(itertools.accumulate(len(c.encode()) for c in characters))
    marks = [end * total // ends[-1] for end in ends]
    return [after - before for before, after in itertools.pairwise([0, *marks])]


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
            spaces_alone = "".join(batch.texts[i].split()) == "".join(decoded[i].split())
            if swallowed is not None and spaces_alone:
                reason = f"white space beside the added token {swallowed!r} was swallowed"
            causes = [cause for cause in LOSS_CAUSES if lost[cause][i]]
            found.append(_witness(batch, i, decoded[i], ROUND_TRIP[kind], reason, causes))
    return tuple(found)


def explain(before: str, after: str, lost: dict[str, int]) -> str:
    """Describe what changed between a text and its round trip.

    >>> explain("plain", " plain", {})
    'a leading space was added'
    >>> explain("Café", "cafe", {"case": 1, "marks": 2})
    'lost: 2 bytes by marks, 1 byte by case'
    """
    if after == f" {before}":
        return "a leading space was added"
    parts = sorted(((n, cause) for cause, n in lost.items() if n), reverse=True)
    if not parts and _alike(before, after):
        if "".join(before.split()) == "".join(after.split()):
            return "white space was trimmed at the ends"
        return "the Unicode normal form changed"
    if parts:
        return "lost: " + ", ".join(
            f"{plural(n, 'byte')} by {cause.replace('_', ' ')}" for n, cause in parts
        )
    return "characters were added, moved or replaced"


def _witness(
    batch: SliceBatch, i: int, after: str, kind: str, reason: str, causes: Sequence[str]
) -> Finding:
    before = batch.texts[i]
    at = next(
        (p for p, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    expected, got = _code_point(before, at), _code_point(after, at)
    return Finding(
        kind="witness",
        suite="fidelity",
        reason="changed_text",
        document_id=batch.ids[i],
        message=f"{reason}; first difference at character {at}: {expected} came back as {got}",
        data={
            "class": kind,
            "lost": list(causes),
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
