"""Published figures and known losses, through a config and a run on real text."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.run.runner import RunOutcome
from tokbench.reports.view import View

Measure = Callable[..., RunOutcome]


@pytest.fixture
def tiktoken_cache(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))


def flores(data_folder: Path, languages: list[str], **options: Any) -> dict[str, Any]:
    return {
        "source": "huggingface",
        "path": str(data_folder / "corpora" / "flores200"),
        "config": "{language}",
        "languages": languages,
        "id": "id",
        "split": "devtest",
        **options,
    }


@pytest.mark.usefixtures("tiktoken_cache")
def test_petrov_et_al_2023_token_counts_of_flores_200(data_folder: Path, measure: Measure) -> None:
    """Bytes, characters and tokens of gpt2 and cl100k_base in 49 languages, all exact.

    One string per language: rows and the empty string that ends each file joined by one space,
    dev then devtest (Petrov et al. 2023, assets/tokenization_lengths.csv).
    """
    anchors = data_folder / "anchors" / "petrov2023_flores200_lengths.csv"
    with anchors.open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    corpus = flores(
        data_folder,
        [row["flores_code"] for row in published],
        split=None,
        splits=["dev", "devtest"],
        join={"rows": " ", "end_of_split": " ", "splits": " "},
    )
    config = {
        "corpora": {"flores": corpus},
        "tokenizers": {
            name: {"type": "tiktoken", "encoding": name} for name in ("gpt2", "cl100k_base")
        },
        "suites": ["efficiency"],
    }
    run = measure(config)
    assert run.exit_code == 0
    view = View(run.results)
    assert len(published) == 49
    for row in published:
        language = row["flores_code"]
        meta = view.corpora["flores"][language]
        assert meta["documents"] == 1
        assert {
            "flores_code": language,
            "gpt2_tokens": _whole(view.value("tokens", "gpt2", "flores", language)),
            "cl100k_base_tokens": _whole(view.value("tokens", "cl100k_base", "flores", language)),
            "utf8_bytes": str(meta["bytes"]),
            "code_points": str(meta["characters"]),
        } == row


def _whole(value: float | None) -> str:
    return f"{value:.0f}"


# what unknown tokens hide


@pytest.fixture(scope="module")
def losses(data_folder: Path, measure: Measure) -> RunOutcome:
    folder = data_folder / "tokenizers"
    bert = "bert-base-cased/vocab.txt"
    nepali = folder / "nepali" / "WordPiece.json"
    config = {
        "corpora": {
            "flores": flores(
                data_folder, ["eng_Latn", "tha_Thai", "khm_Khmr", "ben_Beng", "jpn_Jpan"]
            )
            | {"parallel": True, "pivot": "eng_Latn"}
        },
        "tokenizers": {
            "nepali": {"type": "huggingface", "file": str(nepali)},
            "bert_cased": {"type": "huggingface", "file": str(folder / bert), "lowercase": False},
            "t5": {"type": "sentencepiece", "file": str(folder / "t5" / "spiece.model")},
            "bytes": {"type": "utf8_bytes"},
        },
        "resamples": 200,
        "reports": ["markdown", "summary"],
    }
    return measure(config)


@pytest.mark.parametrize(
    ("tokenizer", "language", "unknown_below", "lost_above"),
    [
        ("nepali", "tha_Thai", 0.1, 0.1),
        ("nepali", "khm_Khmr", 0.1, 0.1),
        ("bert_cased", "ben_Beng", 0.1, 0.1),
        ("t5", "jpn_Jpan", 0.5, 0.9),
    ],
)
def test_text_that_is_lost_behind_few_unknown_tokens_is_marked_and_never_ranked(
    losses: RunOutcome, tokenizer: str, language: str, unknown_below: float, lost_above: float
) -> None:
    view = View(losses.results)
    unknown = view.value("unk_rate", tokenizer, "flores", language)
    lost = view.value("lost_byte_share", tokenizer, "flores", language)
    assert unknown is not None
    assert lost is not None
    assert 0 < unknown < unknown_below
    assert lost_above < lost <= 1
    assert view.value("rank", tokenizer, "flores", language) is None
    premium = view.row("premium", tokenizer, "flores", language)
    assert premium is not None
    assert (premium["value"], premium["status"]) == (None, "refused")
    report = (losses.results.folder / "detail.md").read_text(encoding="utf-8")
    marked = []
    for line in report.splitlines():
        if line.startswith("| language |"):
            header = [cell.strip().removesuffix(" †") for cell in line.split("|")]
        elif line.startswith(f"| {language} |") and tokenizer in header:
            cell = line.split("|")[header.index(tokenizer)].strip()
            if any(c.isdigit() for c in cell):  # not a refused value, nor none
                marked.append(cell[-1:])
    assert set(marked) == {"†"}


def test_t5_loses_nearly_all_of_japanese_at_an_unknown_share_of_45_percent(
    losses: RunOutcome,
) -> None:
    unknown = View(losses.results).value("unk_rate", "t5", "flores", "jpn_Jpan")
    assert unknown == pytest.approx(0.45, abs=0.02)


# Σ bytes(token) = bytes(text)


@pytest.mark.usefixtures("tiktoken_cache")
def test_token_bytes_add_up_to_the_text_for_byte_exact_tokenizers(
    data_folder: Path, measure: Measure
) -> None:
    """A few languages of several scripts; every document, no breach."""
    folder = data_folder / "tokenizers"
    tokenizers = {
        "gpt2": {"type": "tiktoken", "encoding": "gpt2"},
        "o200k_base": {"type": "tiktoken", "encoding": "o200k_base"},
        "llama2": {"type": "sentencepiece", "file": str(folder / "llama2" / "tokenizer.model")},
        "mistral": {"type": "huggingface", "file": str(folder / "mistral" / "tokenizer_v1.json")},
        "bert": {
            "type": "huggingface",
            "file": str(folder / "bert-base-uncased" / "tokenizer.json"),
        },
    }
    languages = ["eng_Latn", "tha_Thai", "khm_Khmr", "ben_Beng", "zho_Hans", "arb_Arab"]
    corpus = flores(data_folder, languages, limit={"rows": 200})
    config = {
        "corpora": {"flores": corpus},
        "tokenizers": tokenizers,
        "suites": ["fidelity"],
    }
    view = View(measure(config).results)
    for tokenizer in tokenizers:
        breaches = [view.value("byte_sum_breaches", tokenizer, "flores", k) for k in languages]
        assert breaches == ([None] * 6 if tokenizer == "bert" else [0] * 6)
    assert not view.run["tokenizers"]["bert"]["byte_exact"]
    assert any(
        note.startswith("not byte-exact: ") for note in view.run["tokenizers"]["bert"]["notes"]
    )
