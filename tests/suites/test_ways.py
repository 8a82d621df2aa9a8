"""Engines asked in other ways: what has state or cuts texts between threads is found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from byte_tokenizer import Bytes
from tokbench.bench.count.tally import CellKey
from tokbench.bench.model import Ids
from tokbench.bench.run.probe import Subject
from tokbench.suites.ids.ways import OtherIds, joined_and_cut, other_ids

TEXTS = [f"the cat {n} sat" for n in range(20)]
KEY = CellKey("engine", "texts", "en")


@dataclass(frozen=True, kw_only=True)
class CutsBetweenThreads(Bytes):
    """On several threads each half of a text is encoded alone, and pieces across halves are lost."""

    pieces: tuple[bytes, ...] = (b"sat",)

    def encode_batch_on(self, texts: Sequence[str], threads: int) -> Sequence[Ids]:
        if threads < 8:
            return self.encode_batch(texts)
        halves = [(text[: len(text) // 2], text[len(text) // 2 :]) for text in texts]
        return [[*self._encode(a), *self._encode(b)] for a, b in halves]


@dataclass(frozen=True, kw_only=True)
class Changes(Bytes):
    """Ids of some calls have one more, as a rule says of the call's number and its texts."""

    rule: Callable[[int, Sequence[str]], bool]
    calls: list[int] = field(default_factory=list)

    def encode_batch(self, texts: Sequence[str]) -> Sequence[Ids]:
        self.calls.append(0)
        more = self.rule(len(self.calls), texts)
        return [[*self._encode(text), *([0] if more else [])] for text in texts]


@dataclass(frozen=True, kw_only=True)
class SingleDiffers(Bytes):
    """The call for one text forgets its last byte."""

    def encode_one(self, text: str) -> Ids:
        return self._encode(text)[:-1]


def found(tokenizer: Bytes) -> dict[str, OtherIds]:
    subject = Subject(key="engine", tokenizer=tokenizer)
    return {one.way: one for one in other_ids(subject, TEXTS, "0")}


def test_an_engine_without_state_gives_the_same_ids_in_every_way() -> None:
    ways = found(Bytes())
    assert list(ways) == ["one_by_one", "batches_of_7", "reversed", "shuffled", "again"]
    assert not any(one.texts for one in ways.values())


def test_a_text_cut_between_threads_is_found_and_shrunk() -> None:
    ways = found(CutsBetweenThreads())
    assert "threads_2" in ways
    assert not any(one.texts for one in ways.values())  # each middle lies before the piece
    subject = Subject(key="engine", tokenizer=CutsBetweenThreads())
    cut = {o.way: o for o in other_ids(subject, ["a cat that sat on its mat"], "0")}["threads_8"]
    assert (cut.texts, cut.text, cut.repeats) == (1, "sat", True)
    assert (cut.plain, cut.other) == ((257,), (115, 97, 116))
    finding = cut.finding(KEY)
    assert "(threads_8), engine gives other ids for 'sat'" in finding.message
    assert finding.message.endswith("115 97 116 in place of 257; 1 text")
    assert (finding.data["expected"], finding.data["text"]) == (False, "sat")
    assert cut.measurement(KEY, 1).value == 1.0


def test_ids_that_depend_on_the_batch_are_told_apart_from_those_of_a_text_alone() -> None:
    """A batch of one is right by itself, so no text alone shows what larger batches do."""
    ways = found(Changes(rule=lambda call, texts: 1 < len(texts) < 20))
    assert {way for way, one in ways.items() if one.texts} == {"batches_of_7"}
    assert ways["batches_of_7"].texts == 20
    assert not ways["batches_of_7"].repeats
    assert "among other texts" in ways["batches_of_7"].finding(KEY).message


def test_order_and_repeated_calls_are_told() -> None:
    by_order = found(Changes(rule=lambda call, texts: len(texts) == 20 and texts[0] != TEXTS[0]))
    assert {way for way, one in by_order.items() if one.texts} == {"reversed", "shuffled"}
    later = found(Changes(rule=lambda call, texts: call > 1))
    assert all(one.texts == len(TEXTS) for one in later.values())


def test_the_call_for_one_text_is_asked_too() -> None:
    one = found(SingleDiffers())["single_call"]
    assert (one.texts, len(one.text), one.other) == (len(TEXTS), 1, ())


@pytest.mark.parametrize("seed", ["0", "1"])
def test_joined_texts_are_cut_in_two_at_drawn_places(seed: str) -> None:
    whole, *parts = joined_and_cut(TEXTS, seed)
    assert whole == "\n".join(TEXTS)
    assert [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)] == [whole] * 3
    assert all(parts)
    assert joined_and_cut(["a"], seed) == ["a"]
