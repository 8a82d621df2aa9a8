"""Token boundaries against morphemes: files, scores by hand, a run."""

from __future__ import annotations

from importlib import resources
from itertools import combinations
from pathlib import Path

import pytest

import tokbench
from tokbench.bench.errors import InputError
from tokbench.reports import detail
from tokbench.reports.view import View
from tokbench.suites.morphology.gold_files import GoldWord, read_gold
from tokbench.suites.morphology.scores import BoundaryCounts, CutWord, consistency, morphscores

FILES = {
    "plain.csv": "word;parts\nwalked;walk ed\nkind;kind\n",
    "frequencies.csv": "walked,walk ed,3\nkind,kind,1\n",
    "morphscore.csv": ",full_word,pt1,rest\n0,walked,walk,ed\n1,kind,kind,\n",
    "morphscore2.csv": "wordform,lemma,preceding_part,stem,following_part,word_freq_norm\n"
    "walked,walk,,walk,ed,3\nkind,kind,,kind,,1\n",
    "unimorph.tsv": "walk\twalked\tV|PST\twalk|ed\nbe\tkind\tN\tkind|\n",
    "sigmorphon.tsv": "walked\twalk @@ed\t100\nkind\tkind\t000\n",
}


@pytest.mark.parametrize("name", FILES)
def test_each_kind_of_file_gives_the_same_words(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    found = {word.word: word.parts for word in read_gold(path).words}
    assert found == {"walked": ("walk", "ed"), "kind": ("kind",)}


@pytest.mark.parametrize("name", ["frequencies.csv", "morphscore2.csv"])
def test_frequencies_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    gold = read_gold(tmp_path / name)
    assert gold.weighted
    assert gold.words[0].weight == 3


def test_a_word_that_is_not_its_parts_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("happiness\thappy @@ness\t010\nwalked\twalk @@ed\t100\n")
    gold = read_gold(tmp_path / "g")
    assert ([word.word for word in gold.words], gold.left_out) == (["walked"], 1)


@pytest.mark.parametrize("text", ["", "word;parts\n", "plain text\nof no use\n"])
def test_a_file_without_segmented_words_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text(text)
    with pytest.raises(InputError, match="no word of two parts"):
        read_gold(tmp_path / "g.csv")


def test_the_words_that_tokbench_brings_are_their_parts() -> None:
    folder = resources.files("tokbench.suites.morphology") / "gold"
    keys = sorted(path.name for path in folder.iterdir() if path.name.endswith(".csv"))
    assert keys == [
        f"{k}.csv" for k in ("deu_Latn", "eng_Latn", "fin_Latn", "swh_Latn", "tur_Latn")
    ]
    for key in keys:
        with resources.as_file(folder / key) as path:
            gold = read_gold(path)
        assert (len(gold.words) >= 30, gold.left_out) == (True, 0)


def cut(parts: str, tokens: str, weight: float = 1.0) -> CutWord:
    """Return a word by its morphemes and its tokens, each separated by ``|``."""
    edges, at = set(), 0
    for token in tokens.split("|")[:-1]:
        at += len(token.encode())
        edges.add(at)
    gold = GoldWord(word=parts.replace("|", ""), parts=tuple(parts.split("|")), weight=weight)
    return CutWord(gold=gold, places=frozenset(edges), tokens=len(tokens.split("|")))


WORDS = [
    cut("un|happi|ness", "un|happiness", weight=1),  # 1 of 2 found, 1 of 1 right
    cut("walk|ed", "walk|e|d", weight=3),  # 1 of 1 found, 1 of 2 right
    cut("häus|er", "häuser"),  # whole: 0 of 1 found
    cut("kind", "ki|nd"),  # 0 of 1 right
]


def test_precision_and_recall_are_ratios_of_totals() -> None:
    counts = BoundaryCounts.of(WORDS)
    assert (counts.tokens, counts.morphemes, counts.both) == (4, 4, 2)
    assert (counts.precision, counts.recall, counts.f1) == (0.5, 0.5, 0.5)
    assert BoundaryCounts.of([WORDS[2]]).precision is None


def test_morphscore_leaves_out_whole_words_and_whole_morphemes() -> None:
    plain = morphscores(WORDS, by_frequency=False)
    assert (plain.n, plain.recall) == (2, (1 / 2 + 1) / 2)
    assert plain.precision == (1 / 2 + 1 / 3) / 2  # found ÷ tokens
    weighted = morphscores(WORDS, by_frequency=True)
    assert weighted.recall == (1 * 1 / 2 + 3 * 1) / 4


def test_scores_agree_with_a_classifier_of_every_place() -> None:
    """Brute force: every place inside every word is a yes or a no, on all cuts of two words."""
    for word, parts in (("abcd", "ab|cd"), ("abcde", "a|bc|de")):
        n = len(word)
        places = range(1, n)
        for k in range(n):
            for chosen in combinations(places, k):
                edges = [0, *chosen, n]
                tokens = "|".join(word[a:b] for a, b in zip(edges, edges[1:], strict=False))
                counts = BoundaryCounts.of([cut(parts, tokens)])
                gold = cut(parts, word).boundaries
                hits = [(p in chosen, p in gold) for p in places]
                assert counts.both == sum(a and b for a, b in hits)
                assert counts.tokens == sum(a for a, _ in hits)
                assert counts.morphemes == sum(b for _, b in hits)


def test_consistency_is_about_morphemes_of_several_words() -> None:
    words = [
        cut("walk|ing", "walk|ing"),
        cut("read|ing", "read|ing"),
        cut("sing|ing", "sing|i|ng"),
        cut("kind|ly", "kindly"),  # each of its morphemes once
    ]
    share, n = consistency(words)
    assert (share, n) == (2 / 3, 3)
    longer = [cut("read|er", "read|er"), cut("farm|er", "far|mer")]
    assert consistency(longer) == (1 / 2, 2)  # the token `mer` begins before the morpheme
    assert consistency([cut("kind|ly", "kind|ly")]) == (None, 0)


CONFIG = """
name: morphemes
corpora: {c: {source: files, path: text.txt, language: en}}
tokenizers: {bytes: {type: utf8_bytes}}
suites: {morphology: {files: {en: words.csv, tur_Latn: builtin}}}
reports: []
"""


def test_a_run_has_the_scores_of_every_language(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("walked\n")
    (tmp_path / "words.csv").write_text("walked;walk ed\nhopeful;hope ful\n")
    (tmp_path / "run.yaml").write_text(CONFIG)
    results = tokbench.run(tmp_path / "run.yaml", output=tmp_path)
    view = View(results)
    for language in ("en", "tur_Latn"):
        assert view.value("morpheme_boundary_recall", "bytes", None, language) == 1.0
        assert view.value("morphscore", "bytes", None, language) == 1.0
        assert view.value("morpheme_consistency", "bytes", None, language) in (None, 1.0)
    assert view.value("morpheme_boundary_precision", "bytes", None, "en") == 2 / 11
    page = detail.page(view)
    assert "Alignment with morphemes explains little" in page
    assert "en: 2 words" in page
