"""Segmentation headroom: the fewest tokens possible, within pre-tokens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.bench.model import HasPreTokens, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.suites.anchors.measuring import results_of
from tokbench.suites.headroom.suite import Fewest
from tokbench.tokenizers_impl.adapters.huggingface import HuggingFace
from tokbench.tokenizers_impl.adapters.sentencepiece_model import SentencePiece
from tokbench.tokenizers_impl.wordpiece.plugin import WordPiece

# merging "bc" first keeps "abc" from being "ab" + "c" or from being found at all: "abcd" is
# a + bc + d for the encoder, and ab + cd with the fewest tokens
TOKENS = [bytes([b]) for b in range(256)] + [b"bc", b"ab", b"cd"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    import base64

    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(TOKENS)]
    (tmp_path / "toy.tiktoken").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "eng.txt").write_text("abcd abcd\n", encoding="utf-8")
    return tmp_path


def headroom(folder: Path, pattern: str, kind: str = "tiktoken") -> dict[str, object]:
    toy = {"type": "tiktoken", "file": "toy.tiktoken", "pattern": pattern}
    config = {
        "name": "toy",
        "corpora": {"corpus": {"source": "files", "languages": {"en": "eng.txt"}}},
        "tokenizers": {"t": toy if kind == "tiktoken" else {"type": kind}},
        "suites": ["headroom"],
    }
    with results_of(config, folder) as results:
        (row,) = results.measurements.to_pylist()
    return row


def test_the_encoder_is_held_against_the_shortest_path(folder: Path) -> None:
    # emitted: a bc d, space a bc d = 7 tokens; possible: ab cd, space, ab cd = 5
    assert headroom(folder, r"\w+|\s")["value"] == pytest.approx(1 - 5 / 7)


def test_no_path_crosses_a_pre_token(folder: Path) -> None:
    # a, b, c, d stand alone before anything is merged: nothing could have been saved
    assert headroom(folder, r"\w|\s")["value"] == 0


def test_a_tokenizer_that_does_not_say_where_it_cuts_is_refused(folder: Path) -> None:
    row = headroom(folder, "", kind="utf8_bytes")
    assert (row["status"], row["value"]) == ("refused", None)
    assert row["detail"] == "the tokenizer does not say which tokens lie in one pre-token"


def fewest_by_trying(piece: bytes, entries: set[bytes]) -> int:
    """Try every way to cut a piece, fewest parts first."""
    for n in range(1, len(piece) + 1):
        for places in itertools.combinations(range(1, len(piece)), n - 1):
            edges = (0, *places, len(piece))
            if all(piece[a:b] in entries for a, b in itertools.pairwise(edges)):
                return n
    raise AssertionError(f"{piece!r} cannot be cut")


LETTERS = st.lists(st.integers(0, 3), min_size=1, max_size=10)
ENTRIES = st.sets(st.text("abcd", min_size=2, max_size=4), max_size=8)


@given(LETTERS, ENTRIES)
def test_no_way_of_cutting_has_fewer(letters: list[int], longer: set[str]) -> None:
    entries = [b"a", b"b", b"c", b"d", *sorted(entry.encode() for entry in longer)]
    fewest = Fewest(Vocabulary(token_bytes=entries)).of_document(letters, [0] * len(letters))
    piece = b"".join(entries[letter] for letter in letters)
    assert fewest == fewest_by_trying(piece, set(entries))


WORDS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1, max_size=4)


@given(WORDS, ENTRIES)
def test_cutting_at_spaces_first_changes_nothing(words: list[list[int]], longer: set[str]) -> None:
    # entries behind a space, and runs of spaces: none reaches across one, so parts are cut alone
    spaced = [b" " + entry.encode() for entry in sorted(longer)]
    entries = [b"a", b"b", b"c", b"d", b" ", b"  ", *spaced]
    ids = [i for word in words for i in (4, 4, *word)]
    together = Fewest(Vocabulary(token_bytes=[*entries, b"x y"]))
    apart = Fewest(Vocabulary(token_bytes=entries))
    assert (together._cut, apart._cut is None) == (None, False)
    assert apart.of_document(ids, [0] * len(ids)) == together.of_document(ids, [0] * len(ids))


def test_entries_stay_where_they_may_stand() -> None:
    # WordPiece: un ##a ##ble; "unab" starts a word and "##ble" goes on, but "able" cannot
    entries: list[bytes | None] = [b"un", b"a", b"ble", b"able", b"unab", b"le"]
    pieces = Vocabulary(token_bytes=entries, inside_ids=frozenset({1, 2, 5}))
    assert Fewest(pieces).of_document([0, 1, 2], [0, 0, 0]) == 2  # unab ##le
    without = Vocabulary(token_bytes=[*entries[:4], b"-", b"-"], inside_ids=frozenset({1, 2}))
    assert Fewest(without).of_document([0, 1, 2], [0, 0, 0]) == 3
    # BPE with a mark of word ends: lo w er</w>; "lower" is an entry, and none ends a word
    marked = Vocabulary(token_bytes=[b"lo", b"w", b"er", b"lower"], ending_ids=frozenset({2}))
    assert Fewest(marked).of_document([0, 1, 2], [0, 0, 0]) == 3


def test_a_run_ends_at_tokens_that_stand_for_themselves() -> None:
    entries = [None, b"a", b"b", b"ab", b"abab", b"<t>"]
    vocabulary = Vocabulary(
        token_bytes=entries, unknown_ids=frozenset({0}), added_ids=frozenset({5})
    )
    fewest = Fewest(vocabulary)
    assert fewest.of_document([1, 2, 0, 1, 2, 5, 1, 2], [0] * 8) == 5
    assert fewest.of_document([5, 5, 0], [0] * 3) == 3


REAL: dict[str, TokenizerPlugin] = {
    "bert": HuggingFace(file="bert-base-multilingual-cased/vocab.txt", lowercase=False),
    "own_wordpiece": WordPiece(file="bert-base-cased/vocab.txt", lowercase=False),
    "clip": HuggingFace(file="clip-vit/tokenizer.json"),
    "gemma": HuggingFace(file="gemma3/tokenizer.json.gz"),
    "deepseek": HuggingFace(file="deepseek-v4/tokenizer.json"),
    "unigram": HuggingFace(file="xlm-roberta/tokenizer.json.gz"),
    "t5": SentencePiece(file="t5/spiece.model"),
    "llama2": SentencePiece(file="llama2/tokenizer.model"),
}


@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers_could_have_saved_what_another_way_of_counting_finds(
    name: str, data_folder: Path, corpus_texts: Callable[[str, str, int], list[str]]
) -> None:
    tokenizer = REAL[name].load(LoadContext(folder=data_folder / "tokenizers"))
    assert isinstance(tokenizer, HasPreTokens)
    vocabulary = tokenizer.vocabulary
    fewest = Fewest(vocabulary)
    texts = [t for lang in ("eng_Latn", "tha_Thai") for t in corpus_texts("flores200", lang, 12)]
    ids, numbers = tokenizer.encode_batch_in_pre_tokens(texts)
    assert [list(one) for one in ids] == [list(one) for one in tokenizer.encode_batch(texts)]
    for one, many in zip(ids, numbers, strict=True):
        document = [int(i) for i in one]
        found = fewest.of_document(document, many)
        assert found == by_hops(vocabulary, document, many)
        assert found <= len(document)


def by_hops(vocabulary: Vocabulary, ids: list[int], numbers: Sequence[int]) -> int:
    """Count by breadth: all places that n tokens reach, n by n; entries by place and by id."""
    apart = vocabulary.special_ids | vocabulary.unknown_ids | vocabulary.added_ids
    by_content: dict[bytes, list[int]] = {}
    for i, content in enumerate(vocabulary.token_bytes):
        if content and i not in apart:
            by_content.setdefault(content, []).append(i)
    longest = max(map(len, by_content))
    total = 0
    for _, group in itertools.groupby(range(len(ids)), lambda at: (ids[at] in apart, numbers[at])):
        run = [ids[at] for at in group]
        if run[0] in apart:
            total += len(run)
            continue
        whole = b"".join(vocabulary.token_bytes[i] or b"" for i in run)
        reached, steps = {0}, 0
        while len(whole) not in reached:
            steps += 1
            reached = {
                end
                for start in reached
                for end in range(start + 1, min(len(whole), start + longest) + 1)
                if any(
                    (i in vocabulary.inside_ids) == (start > 0 and bool(vocabulary.inside_ids))
                    and (i in vocabulary.ending_ids)
                    == (end == len(whole) and bool(vocabulary.ending_ids))
                    for i in by_content.get(whole[start:end], ())
                )
            }
        total += steps
    return total
