"""Training Unigram: start with too many pieces, estimate their probabilities, drop the least useful.

1. Seeds: all characters and the most frequent substrings (`seeds`).
2. Expectation maximisation: how often is each piece expected over all cuts of all words, given
   the present probabilities; from the counts come new probabilities (Kudo 2018).
3. Pruning: for each piece, how much likelihood is lost when its occurrences in the best cuts are
   cut otherwise. The pieces with the smallest loss go, a quarter at a time.
4. Again from 2 until the vocabulary is small enough. Characters always stay, so that every text
   of them can be cut.

Everything is decided by counts, scores and then the order of strings; words are sorted first. So
neither the order of the documents nor the hash seed matters. Probabilities are sums of many
floating-point terms: with another build of NumPy their last digits may differ.

What `sentencepiece` does differently: it counts substrings once for each distinct word, not as
often as the word occurs; it cuts words at changes of script, where `split_by_class` here cuts at
changes between letters, digits and the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tokbench.bench.plugins import PruneEvent, PruningTrainer, TrainedModel
from tokbench.tokenizers_impl.sentencepiece.words import SentencePieceStyleTrainer
from tokbench.tokenizers_impl.training_input import TrainingTexts
from tokbench.tokenizers_impl.unigram.files import unigram_model, unigram_tokenizer_json
from tokbench.tokenizers_impl.unigram.lattice import Floats, Ints, Lattice
from tokbench.tokenizers_impl.unigram.model import UnigramTokenizer, to_json
from tokbench.tokenizers_impl.unigram.seeds import Seeds, find_seeds


def train_pieces(
    words: Mapping[str, int],
    *,
    n_pieces: int,
    seed_size: int = 1_000_000,
    longest: int = 16,
    shrinking_factor: float = 0.75,
    n_sub_iterations: int = 2,
    trace: Callable[[PruneEvent], None] | None = None,
) -> list[tuple[str, float]]:
    """Return pieces with their log probabilities, most probable first.

    There are `n_pieces` of them, more where there are more characters, fewer where the words do
    not give as many.

    >>> pieces = train_pieces({"▁hug": 10, "▁pug": 5, "▁hugs": 5}, n_pieces=8)
    >>> [piece for piece, _ in pieces]
    ['▁hug', 's', '▁pug', 'g', 'h', 'p', 'u', '▁']
    """
    seeds, lattice = find_seeds(words, size=seed_size, longest=longest)
    del words  # large, and not needed any more
    alive = np.ones(len(seeds), np.bool_)
    scores = np.log(seeds.counts / seeds.counts.sum())
    # a tenth more than wanted is kept to the end, and the least probable of them dropped there
    stop_at = max(seeds.n_characters, int(n_pieces * 1.1))
    for number in count():
        for _ in range(n_sub_iterations):
            likelihood, expected = lattice.expected_counts(scores)
            alive &= (expected >= 0.5) | _characters(seeds)
            scores = _new_scores(expected, alive)
            lattice.keep(alive)
        before = alive
        if alive.sum() > stop_at:
            keep = max(stop_at, int(shrinking_factor * alive.sum()))
            alive = _pruned(seeds, lattice, scores, alive, keep)
        if trace is not None:
            trace(_round(seeds, number, float(likelihood), before, alive, scores))
        if alive is before:
            break
        scores = np.where(alive, scores, -np.inf)
        lattice.keep(alive)
    return _final(seeds, scores, alive, n_pieces)


def _round(
    seeds: Seeds,
    number: int,
    likelihood: float,
    before: npt.NDArray[np.bool_],
    after: npt.NDArray[np.bool_],
    scores: Floats,
) -> PruneEvent:
    def dropped(n: int) -> list[str]:
        gone = np.flatnonzero(before & ~after).tolist()
        order = sorted(gone, key=lambda i: (scores[i], seeds.piece(i)))
        return list(map(seeds.piece, order[:n]))

    return PruneEvent(
        round=number, pieces=int(before.sum()), log_likelihood=likelihood, dropped=dropped
    )


def _characters(seeds: Seeds) -> npt.NDArray[np.bool_]:
    return np.arange(len(seeds)) < seeds.n_characters


def _new_scores(expected: Floats, alive: npt.NDArray[np.bool_]) -> Floats:
    """Return log probabilities from expected counts, small counts discounted.

    exp(digamma(n)) is n - 1/2 for large n and far less for small n: the Bayesian estimate under
    a sparse prior, which drives rare pieces out.
    """
    counts = np.where(alive, np.maximum(expected, 0.5), 0.0)
    scores = np.full(len(counts), -np.inf)
    scores[alive] = _digamma(counts[alive]) - _digamma(counts.sum(keepdims=True))
    return scores


def _digamma(x: Floats) -> Floats:
    """Return the derivative of log gamma for x > 0.

    Abramowitz and Stegun 6.3.5 (recurrence up to 6 and more) and 6.3.18 (asymptotic series).

    >>> bool(abs(_digamma(np.array([1.0]))[0] + 0.5772156649) < 1e-9)
    True
    """
    x, shift = x.astype(np.float64), np.zeros(len(x))
    for _ in range(6):
        small = x < 6
        shift[small] -= 1 / x[small]
        x = np.where(small, x + 1, x)
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return shift + np.log(x) - 0.5 / x - series


def _pruned(
    seeds: Seeds,
    lattice: Lattice,
    scores: Floats,
    alive: npt.NDArray[np.bool_],
    keep: int,
) -> npt.NDArray[np.bool_]:
    """Return which pieces stay: all characters, and those whose loss would cost most."""
    counts = lattice.best_counts(scores)
    total = counts.sum()
    loss = np.full(len(counts), -np.inf)
    candidates = np.flatnonzero(alive & (counts > 0) & ~_characters(seeds))
    for part in np.array_split(candidates, len(candidates) // 50_000 + 1):
        loss[part] = _losses(seeds, lattice, scores, counts, total, part)
    room = max(0, keep - seeds.n_characters)
    best = np.argsort(-loss, kind="stable")[:room]
    kept = _characters(seeds)
    kept[best[loss[best] > -np.inf]] = True
    return kept


def _losses(
    seeds: Seeds, lattice: Lattice, scores: Floats, counts: Floats, total: float, pieces: Ints
) -> Floats:
    """Return how much the log likelihood falls when each piece alone is taken away.

    Its occurrences are then cut into the pieces of its own best cut, whose counts rise by as
    much. Infinite where there is no other cut.
    """
    lengths = seeds.lengths.take(pieces)
    alternatives = _lattice_of_pieces(seeds, lattice, pieces, lengths)
    sums = np.zeros(len(pieces))
    n_parts = np.zeros(len(pieces))
    own = counts[pieces]
    for numbers, edges in alternatives.best_paths(scores):
        sums[numbers] += np.log(counts[alternatives.piece[edges]] + own[numbers])
        n_parts[numbers] += 1
    before = np.log(own) - np.log(total)
    after = sums - n_parts * np.log(total + own * (n_parts - 1))
    return np.where(n_parts > 0, own * (before - after), np.inf)


def _lattice_of_pieces(seeds: Seeds, lattice: Lattice, pieces: Ints, lengths: Ints) -> Lattice:
    """Return all cuts of the pieces themselves into others, copied from where each occurs."""
    by_source = np.argsort(lattice.source, kind="stable")
    starts = seeds.examples[pieces]
    low = np.searchsorted(lattice.source, starts, sorter=by_source)
    high = np.searchsorted(lattice.source, starts + lengths, sorter=by_source)
    sizes = high - low
    of_piece = np.repeat(np.arange(len(pieces)), sizes)
    edges = by_source[np.repeat(low - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())]
    inside = lattice.target[edges] <= (starts + lengths)[of_piece]
    itself = lattice.piece[edges] == pieces[of_piece]
    edges, of_piece = edges[inside & ~itself], of_piece[inside & ~itself]
    nodes = lengths + 1
    last = np.cumsum(nodes) - 1
    first = last - lengths
    moved = (first - starts)[of_piece]
    return Lattice(
        source=(lattice.source[edges] + moved).astype(np.int32),
        target=(lattice.target[edges] + moved).astype(np.int32),
        piece=lattice.piece[edges],
        place=(np.arange(nodes.sum()) - np.repeat(first, nodes)).astype(np.int32),
        first=first,
        last=last,
        weights=np.ones(len(pieces)),
    )


def _final(
    seeds: Seeds, scores: Floats, alive: npt.NDArray[np.bool_], n_pieces: int
) -> list[tuple[str, float]]:
    room = max(0, n_pieces - seeds.n_characters)
    learned = np.flatnonzero(alive & ~_characters(seeds))
    best = sorted(learned.tolist(), key=lambda i: (-scores[i], seeds.piece(i)))[:room]
    kept = [*range(seeds.n_characters), *best]
    # single precision, so that every format holds the same score
    pieces = [(seeds.piece(i), float(np.float32(scores[i]))) for i in kept]
    return sorted(pieces, key=lambda piece: (-piece[1], piece[0]))


class UnigramTrainer(SentencePieceStyleTrainer, PruningTrainer):
    """tokbench's own Unigram trainer over raw text, spaces included."""

    former: ClassVar[Mapping[str, str]] = {
        "min_frequency": "is gone: a seed occurs at least twice, as the algorithm has it"
    }

    seed_size: int = Field(1_000_000, gt=0, description="Pieces to start from.")
    max_piece_length: int = Field(16, gt=0, description="Longest piece, in characters.")
    shrinking_factor: float = Field(
        0.75, gt=0, lt=1, description="Share of pieces kept in each round."
    )
    n_sub_iterations: int = Field(2, gt=0, description="EM steps in each round.")

    def train(
        self,
        texts: Iterable[str],
        folder: Path,
        *,
        trace: Callable[[PruneEvent], None] | None = None,
    ) -> TrainedModel:
        """Write ``unigram.json``, ``tokenizer.json`` and, if asked, ``tokenizer.model``.

        Raises `TrainingError` for input that cannot be trained on.
        """
        checked = TrainingTexts(texts)
        apart = self.pieces_apart()
        pieces = train_pieces(
            self.words(checked),
            n_pieces=self.vocab_size - len(apart),
            seed_size=self.seed_size,
            longest=self.max_piece_length,
            shrinking_factor=self.shrinking_factor,
            n_sub_iterations=self.n_sub_iterations,
            trace=trace,
        )
        tokenizer = UnigramTokenizer(
            [(piece, 0.0) for piece in apart] + pieces, **self.tokenizer_options()
        )
        return self.saved(
            "unigram",
            tokenizer,
            folder,
            checked,
            own_json=to_json,
            tokenizer_json=unigram_tokenizer_json,
            model=unigram_model,
        )
