"""Static facts of vocabularies, countable by hand."""

from __future__ import annotations

from collections.abc import Mapping

from byte_tokenizer import Ask
from tokbench.bench.count.token_bytes import Contents
from tokbench.bench.model import Merging, Vocabulary
from tokbench.bench.run.probe import Subject
from tokbench.suites.vocabulary import composition, merging, reachability
from tokbench.suites.vocabulary.overlap import Entries, entries, overlap


def entries_of(vocabulary: Vocabulary) -> Entries:
    return entries(Contents.of(vocabulary))


def not_reached(subject: Subject, seen: frozenset[int]) -> tuple[list[int], int]:
    entries = reachability.candidates(subject.tokenizer.vocabulary)
    return reachability.not_reached(subject, entries, seen)


def test_an_entry_inside_a_longer_one_is_not_reached_when_the_longer_always_wins(ask: Ask) -> None:
    # "ab" is always taken before "a" + "bc" can meet, and "zz" before any "z" + "zz"
    subject = ask(pieces=(b"ab", b"bc", b"abc"))
    missing, searched = not_reached(subject, frozenset(range(256)))
    assert searched == 3
    assert missing == [259]


def test_what_the_corpus_produced_needs_no_search(ask: Ask) -> None:
    subject = ask(pieces=(b"ab",))
    assert not_reached(subject, frozenset(range(258))) == ([], 0)


def test_a_piece_of_a_character_is_found_inside_one(ask: Ask) -> None:
    subject = ask(pieces=("字".encode()[:2], "é".encode()[1:] + b"x"))
    assert not_reached(subject, frozenset(range(256)))[0] == []


def test_bytes_that_no_utf8_has_are_told_apart(ask: Ask) -> None:
    vocabulary = ask().tokenizer.vocabulary
    impossible = [i for i in range(256) if reachability.in_no_text(vocabulary, i)]
    assert impossible == [0xC0, 0xC1, *range(0xF5, 0x100)]


def by_rank(ranks: Mapping[bytes, int]) -> Merging:
    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = ranks.get(left + right)
        return None if rank is None else (rank, left + right)

    return Merging(
        entries=lambda: ((i, [bytes([b]) for b in token]) for token, i in ranks.items()),
        join=join,
    )


def test_an_entry_that_no_merge_leads_to_is_found() -> None:
    singles = {bytes([b]): b for b in range(256)}
    trained = singles | {b"th": 256, b"the": 257}
    assert merging.not_reached(by_rank(trained)) == ([], 258)
    assert merging.not_reached(by_rank(trained | {b"cat": 258})) == ([258], 259)


def test_entries_are_told_apart_by_kind_and_script() -> None:
    entries = [b" word", b"word", b"12", b"  ", b"...", "слово".encode(), b"\xc3", b"a1"]
    vocabulary = Vocabulary(token_bytes=entries)
    texts = composition.texts_of(vocabulary)
    assert composition.categories(vocabulary, texts) == {
        "word_start": 1, "word_part": 2, "digits": 1, "white_space": 1,
        "punctuation": 1, "partial_utf8": 1, "mixed": 1,
    }  # fmt: skip
    assert composition.scripts(texts) == {"Latin": 3, "Cyrillic": 1, "None": 3}


def test_entries_of_one_normal_form_are_duplicates() -> None:
    texts = {0: "é", 1: "e\u0301", 2: "ﬁ", 3: "fi", 4: "x"}
    assert composition.same_form(texts, "NFC") == [(0, 1)]
    assert composition.same_form(texts, "NFKC") == [(0, 1), (2, 3)]


def test_overlap_counts_common_moved_and_own_entries() -> None:
    first = entries_of(Vocabulary(token_bytes=[b"a", b"b", b"c", None], special_ids=frozenset({3})))
    second = entries_of(Vocabulary(token_bytes=[b"b", b"a", b"c", b"d"]))
    found = overlap(first, second)
    assert (found.common, found.moved, found.only_first, found.only_second) == (3, 2, 0, 1)
    assert found.jaccard == 3 / 4
