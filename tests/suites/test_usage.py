"""The suite `usage`: residues against a replay of every merge, and values made by hand."""

from __future__ import annotations

import json
import random
import re
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from pages import blocks, text_of
from tokbench.bench.config.resolve import resolve
from tokbench.bench.config.schema import load_entry
from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import HasMerging, HasPreTokens, Merging, Tokenizer, Vocabulary
from tokbench.bench.plugins import LoadContext
from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View
from tokbench.suites.usage.glitches import candidates, row_norms, with_norms
from tokbench.suites.usage.residues import uses
from tokbench.suites.usage.words import WordsOfEntries


def replay(text: str, ranks: dict[str, int]) -> tuple[list[str], Counter[str]]:
    """Merge a text pair by pair; return its tokens, and how often each entry was merged further."""
    parts, merged = list(text), Counter[str]()
    while True:
        known = [
            (ranks[a + b], i)
            for i, (a, b) in enumerate(zip(parts, parts[1:], strict=False))
            if a + b in ranks
        ]
        if not known:
            return parts, merged
        _, i = min(known)
        merged.update(parts[i : i + 2])
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def test_uses_are_those_of_a_replay_of_every_merge() -> None:
    """Random vocabularies and texts: what follows from the tokens alone is what merging did."""
    rng = random.Random(5)
    for _ in range(200):
        entries = dict.fromkeys("abc")
        for _ in range(rng.randint(1, 12)):
            a, b = rng.choice(list(entries)), rng.choice(list(entries))
            entries[a + b] = None
        made = [one for one in entries if len(one) > 1]
        ranks = {one: i for i, one in enumerate(made)}

        def join(a: str, b: str, ranks: dict[str, int] = ranks) -> tuple[int, str] | None:
            return (ranks[a + b], a + b) if a + b in ranks else None

        rules = Merging(entries=lambda ranks=ranks: ((i, t) for t, i in ranks.items()), join=join)
        finals, merged = Counter[str](), Counter[str]()
        for _ in range(20):
            tokens, inner = replay("".join(rng.choices("abc", k=rng.randint(1, 15))), ranks)
            finals.update(tokens)
            merged.update(inner)
        found = uses(rules, {ranks[t]: n for t, n in finals.items() if t in ranks})
        wanted = {i: (finals[t], merged[t]) for t, i in ranks.items() if finals[t] or merged[t]}
        assert {i: (one.final, one.intermediate) for i, one in found.items()} == wanted


def loaded(written: str) -> Tokenizer:
    entry = load_entry(resolve(written, Path()).entry)
    return entry.load(LoadContext(folder=Path()))


@pytest.mark.real
@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base", "llama3"])
@pytest.mark.parametrize("corpus", ["flores200", "source_code"])
def test_residues_of_published_vocabularies_are_those_of_a_replay(
    name: str, corpus: str, data_folder: Path, corpus_texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample of documents, each pre-token merged byte by byte."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    language = {"flores200": "deu_Latn", "source_code": "python"}[corpus]
    texts = corpus_texts(corpus, language, 30)
    folder = data_folder / "tokenizers"
    spec = {"spec": str(folder / "tiktoken_specs.json"), "spec_key": "llama3/tokenizer.model"}
    options = {"type": "tiktoken", "file": str(folder / "llama3" / "tokenizer.model"), **spec}
    if name == "llama3":
        tokenizer = load_entry(options).load(LoadContext(folder=Path()))
    else:
        tokenizer = loaded(name)
    assert isinstance(tokenizer, HasMerging)
    assert isinstance(tokenizer, HasPreTokens)
    rules = tokenizer.merging()
    assert rules is not None
    content = tokenizer.vocabulary.token_bytes
    ranks = {b: i for i, b in enumerate(content) if b is not None and len(b) > 1}
    finals, merged = Counter[int](), Counter[bytes]()
    for ids, numbers in zip(*tokenizer.encode_batch_in_pre_tokens(texts), strict=True):
        finals.update(int(i) for i in ids)
        words: dict[int, list[bytes]] = {}
        for i, number in zip(ids, numbers, strict=True):
            words.setdefault(int(number), []).append(content[int(i)] or b"")
        for tokens in words.values():
            parts, inner = [bytes([b]) for b in b"".join(tokens)], Counter[bytes]()
            while known := [
                (ranks[a + b], at)
                for at, (a, b) in enumerate(zip(parts, parts[1:], strict=False))
                if a + b in ranks
            ]:
                _, at = min(known)
                inner.update(parts[at : at + 2])
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            if parts == tokens:
                merged.update(inner)
            else:  # looked up whole, which no merges give
                assert len(tokens) == 1
    found = uses(rules, finals)
    wanted = {ranks[b]: n for b, n in merged.items() if b in ranks}
    assert len(wanted) > 50
    assert {i: one.intermediate for i, one in found.items() if one.intermediate} == wanted


def test_a_token_of_one_word_is_always_inside_the_same_longer_one() -> None:
    words = WordsOfEntries()
    words.add([((1, 2, 3, 2, 4), (0, 0, 1, 2, 2)), ((1, 2, 5), (0, 0, 1))])
    # 1 only in (1, 2), twice; 2 also in (2, 4); 3 and 5 are words of their own
    assert words.of_one_word(2) == [1]
    assert words.of_one_word(1) == [1, 4]
    assert words.seen(2) == 2


def test_candidates_are_unseen_text_the_longest_first() -> None:
    content: list[bytes | None] = [
        b"a",
        b"----",
        b" seen",
        b"later",
        b" long",
        b"\xff\xfe\xfd\xfc",
        None,
    ]
    vocabulary = Vocabulary(token_bytes=[*content, b"<end>"], special_ids=frozenset({7}))
    assert candidates(vocabulary, [2], shortest=4) == {3: "later", 4: " long"}


def safetensors(path: Path, kind: str, rows: np.ndarray[Any, Any], name: str = "wte") -> Path:
    data = rows.tobytes()
    header = json.dumps(
        {name: {"dtype": kind, "shape": list(rows.shape), "data_offsets": [0, len(data)]}}
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_norms_are_read_from_an_embedding(kind: str, tmp_path: Path) -> None:
    rows = np.array([[3, 4], [0, 0.5], [8, 6]], np.float32)
    stored = {
        "F32": rows,
        "F16": rows.astype(np.float16),
        "BF16": (rows.view(np.uint32) >> 16).astype(np.uint16),
    }[kind]
    file = safetensors(tmp_path / "model.safetensors", kind, stored)
    norms = row_norms(file, None, 3)
    assert norms.tolist() == [5, 0.5, 10]
    first, second = with_norms({1: "b", 2: "c"}, norms)
    assert (first.norm, first.norm_quantile, second.norm_quantile) == (0.5, 0, 2 / 3)


@pytest.mark.parametrize(
    "content", [b"", b"\xff" * 20, b"\2\0\0\0\0\0\0\0[]", b"\2\0\0\0\0\0\0\0{}"]
)
def test_what_is_no_embedding_is_an_error(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    with pytest.raises(TokenizerError, match=r"model.safetensors: is not a safetensors file"):
        row_norms(file, None, 3)


@pytest.fixture(scope="module")
def run(measure: Callable[..., RunOutcome]) -> RunOutcome:
    files = {
        "a.jsonl": [{"id": "1", "text": "ab ab ab"}, {"id": "2", "text": "abab"}],
        "b.jsonl": [{"id": "1", "text": "ab cd"}, {"id": "2", "text": "cd"}],
    }
    corpus = {"source": "files", "path": "{language}.jsonl", "languages": ["a", "b"], "id": "id"}
    train = {"trainer": "byte_bpe", "corpus": "c", "vocab_size": 258, "pattern": r"\S+|\s"}
    config = {
        "corpora": {"c": {**corpus, "languages": {k: {"file": f"{k}.jsonl", "tag": tag} for k, tag in (("a", "en"), ("b", "de"))}}},
        "tokenizers": {"bpe": {"train": train}, "bytes": {"type": "utf8_bytes"}},
        "suites": {"usage": {"at_least": 2, "shortest": 2}},
        "reports": ["detail"],
    }  # fmt: skip
    outcome: RunOutcome = measure(config, files)
    assert outcome.exit_code == 0, outcome.problems
    return outcome


def test_values_of_a_run_by_hand(run: RunOutcome) -> None:
    """258 entries: the bytes, `ab` and `abab` or `cd`, whichever pair is most frequent."""
    view = View(run.results)
    row = view.row("merge_residues", "bpe", "c")
    assert row is not None
    assert row["value"] == 0
    tokens = view.row("average_token_rank", "bytes", "c", "b")
    assert tokens is not None
    # "ab cd" and "cd": c and d twice, a, b and the space once: ranks 1 to 5
    assert tokens["value"] == pytest.approx((2 * 1 + 2 * 2 + 3 + 4 + 5) / 7)
    # a, b and the space are in both languages, c and d in one
    assert view.value("languages_per_entry", "bytes", "c") == pytest.approx((2 * 3 + 2) / 5)
    refused = view.row("merge_residues", "bytes", "c")
    assert refused is not None
    assert refused["reason"] == "not_offered"


def test_the_detail_page_has_a_section(run: RunOutcome) -> None:
    page = (run.results.folder / "detail.md").read_text(encoding="utf-8")
    assert "## How the texts use the vocabularies" in page
    assert "### Entries on c" in page


@pytest.mark.real
def test_the_best_known_glitch_token_is_on_the_list_of_gpt2(
    data_folder: Path, measure: Callable[..., RunOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    corpus = {
        "source": "files",
        "path": str(data_folder / "corpora" / "flores200" / "{language}.parquet"),
        "languages": ["eng_Latn", "fra_Latn"],
        "id": "id",
    }
    run = measure(
        {
            "corpora": {"flores": corpus},
            "tokenizers": {"gpt2": {"type": "tiktoken", "encoding": "gpt2"}},
            "suites": ["usage"],
            "reports": [],
        }
    )
    (note,) = [f for f in View(run.results).findings if f["data"].get("class") == "glitch"]
    assert " SolidGoldMagikarp" in note["data"]["texts"][:50]
    assert " the" not in note["data"]["texts"]


@pytest.mark.real
def test_the_page_on_glitches_shows_the_candidates_of_gpt2(
    data_folder: Path, measure: Callable[..., RunOutcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    page = "docs/algorithms/glitches.md"
    config = YAML(typ="safe").load(blocks(page, "yaml")[0])
    run = measure({**config, "reports": []})
    (note,) = [f for f in View(run.results).findings if f["data"].get("class") == "glitch"]
    shown = re.findall(r"^\| ([\d,]+) \| `(.+)` \|$", text_of(page), re.MULTILINE)
    listed = zip(note["data"]["ids"], note["data"]["texts"], strict=True)
    assert shown == [(f"{i:,}", text.replace(" ", "␣")) for i, text in listed]
    assert f"{note['data']['total']:,} of 50,257 entries" in text_of(page)
