"""Parity-aware BPE: each merge is chosen for the language that is worst off.

Foroutan, Meister, Paul, Niklaus, Ahmadi, Bosselut and Sennrich 2025 (arXiv 2508.04796). Text comes
by language, and so does the text that parity is measured on. In each step

1. the language with the most tokens per unit of its measured text is chosen, of equal ones the
   first; with a `window`, one that was chosen more than ``share * window / languages`` times in the
   last `window` steps is passed over;
2. of its pairs the most frequent one is joined, in the text of all languages.

The first `global_merges` are those of plain BPE over all text together (the paper's hybrid). A
language of which no pair is frequent enough is passed over; learning ends when that is all.

`textbook_parity` is this, counted anew in each step; `parity_merges` gives the same, fast.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tokbench.bench.plugins import MergeEvent, Trace
from tokbench.tokenizers_impl.bpe_kin.begin import begun_with
from tokbench.tokenizers_impl.byte_bpe.learning import Begun, Learned, Learning, Occurring, Ties
from tokbench.tokenizers_impl.byte_bpe.merges import fast_merges, textbook_merges
from tokbench.tokenizers_impl.byte_bpe.model import join_pair
from tokbench.tokenizers_impl.byte_bpe.positions import Pieces


@dataclass(frozen=True, kw_only=True)
class LanguageText:
    """The text of one language: what is learned from, what is measured, in how many units."""

    pieces: Pieces
    measured: Pieces
    """Parity is measured on these; they may be the same."""
    units: float
    """Tokens are divided by this: 1 for parallel text, else its bytes or characters."""


@dataclass
class Turns:
    """Whose turn it is."""

    units: Sequence[float]
    window: int = 0
    share: float = 2.0
    recent: deque[int] = field(default_factory=deque)

    def next(self, tokens: Sequence[int], candidates: Sequence[int]) -> int:
        """Return the candidate with the most tokens per unit, and remember it.

        >>> turns = Turns(units=[1, 1], window=2, share=1.0)
        >>> [turns.next([9, 5], [0, 1]) for _ in range(4)]
        [0, 0, 1, 0]
        """
        allowed = self.share * self.window / len(self.units)
        rested = [i for i in candidates if self.recent.count(i) <= allowed]
        chosen = max(rested or candidates, key=lambda i: tokens[i] / self.units[i])
        self.recent.append(chosen)
        while len(self.recent) > self.window:
            self.recent.popleft()
        return chosen


def textbook_parity(
    languages: Sequence[LanguageText],
    n_merges: int,
    turns: Turns,
    *,
    global_merges: int = 0,
    min_frequency: int = 1,
    ties: Ties = "smallest",
) -> list[Learned]:
    """Learn merges by counting all tokens and pairs anew for each one.

    >>> parallel = [{b"aaaa": 1}, {b"bcbcbc": 1}]
    >>> texts = [LanguageText(pieces=p, measured=p, units=1) for p in parallel]
    >>> textbook_parity(texts, 2, Turns(units=[1, 1]))
    [(98, 99, 3), (97, 97, 3)]
    """
    together = _together(languages)
    merges = textbook_merges(
        together, min(global_merges, n_merges), min_frequency=min_frequency, ties=ties
    )
    candidates = list(range(len(languages)))
    while len(merges) < n_merges and candidates:
        tokens = [_tokens(text.measured, merges) for text in languages]
        chosen = turns.next(tokens, candidates)
        one = textbook_merges(
            languages[chosen].pieces, 1, min_frequency=min_frequency, ties=ties, given=merges
        )
        if not one:
            candidates.remove(chosen)
        merges += one
    return merges


def _tokens(pieces: Pieces, merges: Sequence[Learned]) -> int:
    """Return how many tokens pieces have after these merges."""
    words = {piece: list(piece) for piece in pieces}
    for rank, (left, right, _) in enumerate(merges):
        words = {p: join_pair(ids, (left, right, 256 + rank)) for p, ids in words.items()}
    return sum(len(words[piece]) * count for piece, count in pieces.items())


def _together(languages: Sequence[LanguageText]) -> dict[bytes, int]:
    counts: Counter[bytes] = Counter()
    for text in languages:
        counts.update(text.pieces)
    return dict(counts)


# --- fast -----------------------------------------------------------------------------------------


class _LanguageState:
    """One language: where learning stands, and how many tokens its measured text has."""

    def __init__(self, text: LanguageText, begun: Begun, min_frequency: int, ties: Ties) -> None:
        self.learning = Learning(
            text.pieces, max(1, min_frequency), ties, begun=begun, keep_rare=True
        )
        same = text.measured is text.pieces
        self.measured = (
            self.learning if same else Learning(text.measured, 1, ties, begun=begun, keep_rare=True)
        )
        self.tokens = sum(len(begun.cut(p)) * count for p, count in text.measured.items())

    def join(self, left: int, right: int) -> None:
        """Join a pair in all text of the language."""
        states = {id(s): s for s in (self.learning, self.measured)}.values()
        for state in states:
            at = state.occurrences_of(left, right)
            if len(at):
                joined = state.join(Occurring(left, right, at), at)
            else:
                state.new_token(left, right)
                joined = 0
            if state is self.measured:
                self.tokens -= joined


def parity_merges(
    languages: Mapping[str, LanguageText],
    n_merges: int,
    turns: Turns,
    *,
    global_merges: int = 0,
    min_frequency: int = 1,
    ties: Ties = "smallest",
    trace: Trace | None = None,
) -> tuple[list[Learned], dict[str, int]]:
    """Learn the merges of `textbook_parity`; also return how many were chosen for each language.

    Each language has its own state of the fast trainer. The one whose turn it is says what is
    joined next; the others look up where they have that pair.
    """
    merges = fast_merges(
        _together(list(languages.values())),
        min(global_merges, n_merges),
        min_frequency=min_frequency,
        ties=ties,
        trace=trace,
    )
    begun = begun_with(merges)
    states = [_LanguageState(text, begun, min_frequency, ties) for text in languages.values()]
    names, chosen_for = list(languages), dict.fromkeys(languages, 0)
    candidates = list(range(len(states)))
    while len(merges) < n_merges and candidates:
        chosen = turns.next([state.tokens for state in states], candidates)
        best = states[chosen].learning.best()
        if best is None:
            candidates.remove(chosen)
            continue
        count, pair, _ = best
        if trace is not None:
            trace(_event(states[chosen].learning, len(merges), pair, count))
        merges.append((pair.left, pair.right, count))
        chosen_for[names[chosen]] += 1
        for state in states:
            state.join(pair.left, pair.right)
    return merges, chosen_for


def _event(learning: Learning, rank: int, pair: Occurring, count: int) -> MergeEvent:
    left, right = learning.token_bytes[pair.left], learning.token_bytes[pair.right]
    return MergeEvent(
        rank=rank,
        left=left,
        right=right,
        token=left + right,
        count=count,
        rivals=learning.rivals,
    )
