from __future__ import annotations

import random
from collections import Counter

from tokbench.bench.corpus.sampling import HashReservoir, Head, Sampler


def sample(sampler: Sampler, ids: list[str], size: int = 1) -> set[str]:
    admitted = []
    for id in ids:
        if sampler.admit(id, size):
            admitted.append(id)
        if sampler.done:
            break
    return {admitted[i] for i in sampler.kept()}


IDS = [f"doc{i}" for i in range(200)]


def test_head_takes_the_first_rows() -> None:
    assert sample(Head(rows=3, n_bytes=None), IDS) == {"doc0", "doc1", "doc2"}


def test_head_never_goes_over_the_bytes() -> None:
    assert len(sample(Head(rows=None, n_bytes=100), IDS, size=30)) == 3


def test_without_limits_head_takes_all() -> None:
    assert sample(Head(rows=None, n_bytes=None), IDS) == set(IDS)


def test_a_reservoir_does_not_depend_on_the_order_of_rows() -> None:
    shuffled = random.Random(1).sample(IDS, len(IDS))
    reservoirs = [HashReservoir(rows=20, n_bytes=None, seed=3) for _ in range(2)]
    assert sample(reservoirs[0], IDS) == sample(reservoirs[1], shuffled)


def test_a_reservoir_limited_by_bytes_does_not_depend_on_the_order_either() -> None:
    def kept(ids: list[str]) -> set[str]:
        reservoir = HashReservoir(rows=None, n_bytes=500, seed=3)
        admitted = [id for id in ids if reservoir.admit(id, 10 + len(id) * int(id[3:]) % 50)]
        return {admitted[i] for i in reservoir.kept()}

    first = kept(IDS)
    assert all(kept(random.Random(i).sample(IDS, len(IDS))) == first for i in range(5))


def test_a_reservoir_is_uniform() -> None:
    counts: Counter[str] = Counter()
    for seed in range(300):
        counts.update(sample(HashReservoir(rows=10, n_bytes=None, seed=seed), IDS[:50]))
    # 300 draws of a fifth: 60 expected, and a standard deviation of 7
    assert len(counts) == 50
    assert all(60 - 28 < n < 60 + 28 for n in counts.values())


def test_a_seed_gives_its_own_sample() -> None:
    one, other = (HashReservoir(rows=10, n_bytes=None, seed=seed) for seed in (0, 1))
    assert sample(one, IDS) != sample(other, IDS)
