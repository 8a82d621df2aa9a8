"""Published figures about tokenizers, each derived again by the harness it is meant to prove.

An anchor names where the figure is from, the protocol that gives it, and how far it may move.
Its options are the parts of the protocol that are often changed by mistake.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from tokbench.api import load_tokenizer
from tokbench.bench.commands.anchors import AnchorPlugin, Check
from tokbench.bench.errors import InputError
from tokbench.bench.model import HasMerging
from tokbench.suites.anchors.measuring import pieces_of, results_of, values_of
from tokbench.suites.vocabulary.merging import not_reached

FLORES = "corpora/flores200"
LENGTHS = "anchors/petrov2023_flores200_lengths.csv"
SPECS = "tokenizers/tiktoken_specs.json"


def _encoding(name: str) -> dict[str, str]:
    return {"type": "tiktoken", "encoding": name}


def _ranks(file: str) -> dict[str, str]:
    return {"type": "tiktoken", "file": f"tokenizers/{file}", "spec": SPECS, "spec_key": file}


def _needs(data: Path, *paths: str) -> None:
    missing = [path for path in paths if not (data / path).exists()]
    if missing:
        raise InputError(f"{data} has no {', '.join(missing)}; point --data to a folder that has")


def _flores(languages: Iterable[str], **more: Any) -> dict[str, Any]:
    return {
        "source": "huggingface",
        "path": FLORES,
        "config": "{language}",
        "languages": list(languages),
        **more,
    }


class Petrov2023(AnchorPlugin):
    """Tokens, bytes and code points of 49 FLORES-200 languages under gpt2 and cl100k_base."""

    citation: ClassVar[str] = (
        "Petrov, La Malfa, Torr, Bibi: Language Model Tokenizers Introduce Unfairness Between "
        "Languages, NeurIPS 2023, tokenization_lengths.csv"
    )
    protocol: ClassVar[str] = (
        "one string per language: dev, then devtest, each split at line ends with the empty last "
        "piece kept, all pieces joined by one space; ids without special tokens"
    )
    divergences: ClassVar[str] = (
        "premiums over sentences encoded one by one differ in the third digit, since a sentence's "
        "first word has no space before it then"
    )

    rows: str = " "
    end_of_split: str = " "
    splits: str = " "
    languages: tuple[str, ...] | None = None
    """Only these, to check a part."""

    def check(self, data: Path) -> Iterator[Check]:
        """Yield four figures for each language."""
        _needs(data, FLORES, LENGTHS)
        published = self._published(data)
        join = {"rows": self.rows, "end_of_split": self.end_of_split, "splits": self.splits}
        config = {
            "name": "petrov2023",
            "corpora": {"flores": _flores(published, splits=["dev", "devtest"], join=join)},
            "tokenizers": {name: _encoding(name) for name in ("gpt2", "cl100k_base")},
            "suites": ["efficiency"],
        }
        with results_of(config, data) as results:
            tokens = values_of(results, "tokens")
            texts = results.run["corpora"]["flores"]
        for language, row in published.items():
            for name in ("gpt2", "cl100k_base"):
                counted = int(tokens[name, language])
                yield Check(
                    what=f"{language}, {name} tokens",
                    expected=int(row[f"{name}_tokens"]),
                    measured=counted,
                )
            for column, key in (("utf8_bytes", "bytes"), ("code_points", "characters")):
                yield Check(
                    what=f"{language}, {key}",
                    expected=int(row[column]),
                    measured=texts[language][key],
                )

    def _published(self, data: Path) -> dict[str, dict[str, str]]:
        with (data / LENGTHS).open(encoding="utf-8", newline="") as file:
            rows = {row["flores_code"]: row for row in csv.DictReader(file)}
        wanted = self.languages or tuple(rows)
        return {language: rows[language] for language in wanted}


class FloresOverhead(AnchorPlugin):
    """What Spanish, Russian and Japanese cost over English, before and after o200k_base."""

    citation: ClassVar[str] = "overhead on FLORES-200 devtest, cl100k_base and o200k_base"
    protocol: ClassVar[str] = (
        "sentences encoded one by one; Σ tokens(language) ÷ Σ tokens(English) − 1, in per cent "
        "with one digit"
    )
    divergences: ClassVar[str] = (
        "the mean of per-sentence ratios is higher (German: 1.599 where totals give 1.586)"
    )

    published: ClassVar[Mapping[str, tuple[float, float]]] = {
        "spa_Latn": (54.4, 31.8),
        "rus_Cyrl": (146.2, 42.1),
        "jpn_Jpan": (126.6, 65.8),
    }

    def check(self, data: Path) -> Iterator[Check]:
        """Yield two figures for each language."""
        _needs(data, FLORES)
        languages = ["eng_Latn", *self.published]
        corpus = _flores(languages, split="devtest", parallel=True, pivot="eng_Latn")
        config = {
            "name": "flores_overhead",
            "corpora": {"flores": corpus},
            "tokenizers": {name: _encoding(name) for name in ("cl100k_base", "o200k_base")},
            "suites": ["multilingual"],
        }
        with results_of(config, data) as results:
            measured = values_of(results, "overhead")
        for language, figures in self.published.items():
            for name, figure in zip(config["tokenizers"], figures, strict=True):
                yield Check(
                    what=f"{language}, {name}, overhead in per cent",
                    expected=figure,
                    measured=round(100 * measured[name, language], 4),
                    tolerance=0.05,
                )


class RenyiScorer(AnchorPlugin):
    """Rényi efficiency as the reference implementation gives it."""

    citation: ClassVar[str] = (
        "tokenization-scorer 1.1.8 (PyPI), the implementation of Zouhar et al., ACL 2023"
    )
    protocol: ClassVar[str] = (
        "ids of FLORES-200 devtest sentences written as words, metric renyi, power 2.5, observed "
        "vocabulary"
    )
    divergences: ClassVar[str] = (
        "tokens written as text split apart at the spaces inside them, so ids are written instead"
    )

    published: ClassVar[Mapping[tuple[str, str], float]] = {
        ("cl100k_base", "eng_Latn"): 0.4855658456282682,
        ("cl100k_base", "jpn_Jpan"): 0.6811264468675139,
        ("o200k_base", "eng_Latn"): 0.48304869588172095,
        ("o200k_base", "jpn_Jpan"): 0.5865896322351162,
    }

    def check(self, data: Path) -> Iterator[Check]:
        """Yield one figure for each tokenizer and language."""
        _needs(data, FLORES)
        config = {
            "name": "renyi_scorer",
            "corpora": {
                "flores": _flores(sorted({key[1] for key in self.published}), split="devtest")
            },
            "tokenizers": {
                name: _encoding(name) for name in sorted({k[0] for k in self.published})
            },
            "suites": {"information": {"alpha": 2.5}},
        }
        with results_of(config, data) as results:
            measured = values_of(results, "renyi_efficiency", basis="observed")
        for (name, language), figure in self.published.items():
            yield Check(
                what=f"{language}, {name}, Rényi efficiency",
                expected=figure,
                measured=measured[name, language],
                tolerance=1e-9,
            )


class CookbookCounts(AnchorPlugin):
    """Token counts of three strings under three encodings."""

    citation: ClassVar[str] = "OpenAI Cookbook, How to count tokens with tiktoken"
    protocol: ClassVar[str] = "the string alone, no special tokens"
    divergences: ClassVar[str] = "none known"

    published: ClassVar[Mapping[str, tuple[int, int, int]]] = {
        "antidisestablishmentarianism": (5, 5, 6),
        "2 + 2 = 4": (5, 5, 7),
        "お誕生日おめでとう": (14, 14, 9),
    }

    def check(self, data: Path) -> Iterator[Check]:
        """Yield one figure for each string and encoding."""
        for place, name in enumerate(("gpt2", "p50k_base", "cl100k_base")):
            tokenizer = load_tokenizer(_encoding(name), folder=data)
            for text, counts in self.published.items():
                measured = len(tokenizer.encode_batch([text])[0])
                yield Check(what=f"{name}, {text}", expected=counts[place], measured=measured)


class KnownIds(AnchorPlugin):
    """The ids of one sentence under five encodings."""

    citation: ClassVar[str] = "ids of 'Hello, world!' as tiktoken's users publish them"
    protocol: ClassVar[str] = "the string alone, no special tokens"
    divergences: ClassVar[str] = "none known"

    published: ClassVar[Mapping[str, list[int]]] = {
        "gpt2": [15496, 11, 995, 0],
        "r50k_base": [15496, 11, 995, 0],
        "p50k_base": [15496, 11, 995, 0],
        "cl100k_base": [9906, 11, 1917, 0],
        "o200k_base": [13225, 11, 2375, 0],
    }

    def check(self, data: Path) -> Iterator[Check]:
        """Yield the ids of each encoding."""
        for name, ids in self.published.items():
            found = load_tokenizer(_encoding(name), folder=data).encode_batch(["Hello, world!"])[0]
            yield Check(what=name, expected=ids, measured=[int(i) for i in found])


class Splits(AnchorPlugin):
    """How cl100k_base cuts numbers and indentation."""

    citation: ClassVar[str] = "pieces of cl100k_base as tokenizer playgrounds show them"
    protocol: ClassVar[str] = "the string alone, no special tokens; raw bytes of each id as text"
    divergences: ClassVar[str] = "none known"

    published: ClassVar[Mapping[str, list[str]]] = {
        "1234": ["123", "4"],
        "12345": ["123", "45"],
        "1000000": ["100", "000", "0"],
        "3.14159": ["3", ".", "141", "59"],
        "2024": ["202", "4"],
        "    x = 1": ["   ", " x", " =", " ", "1"],
        "        x = 1": ["       ", " x", " =", " ", "1"],
        "\tx = 1": ["\tx", " =", " ", "1"],
    }

    def check(self, data: Path) -> Iterator[Check]:
        """Yield the pieces of each string."""
        tokenizer = load_tokenizer(_encoding("cl100k_base"), folder=data)
        for text, pieces in self.published.items():
            yield Check(what=repr(text), expected=pieces, measured=pieces_of(tokenizer, text))


class UnreachedRanks(AnchorPlugin):
    """Ranks that merging their own bytes by lowest rank does not reach."""

    citation: ClassVar[str] = "Llama 3: 588 of 128,000 ranks; gpt2, cl100k, o200k and Qwen none"
    protocol: ClassVar[str] = (
        "bytes of each rank merged by lowest rank, without the whole-piece shortcut; special "
        "tokens left out"
    )
    divergences: ClassVar[str] = "with the shortcut, every rank that is a pre-token is reached"

    def check(self, data: Path) -> Iterator[Check]:
        """Yield ranks and unreached ranks of each vocabulary."""
        llama, qwen = "llama3/tokenizer.model", "qwen/qwen.tiktoken"
        _needs(data, f"tokenizers/{llama}", f"tokenizers/{qwen}", SPECS)
        entries = {
            "Llama 3": (_ranks(llama), 128_000, 588),
            "gpt2": (_encoding("gpt2"), 50_256, 0),
            "cl100k_base": (_encoding("cl100k_base"), 100_256, 0),
            "o200k_base": (_encoding("o200k_base"), 199_998, 0),
            "Qwen": (_ranks(qwen), 151_643, 0),
        }
        for name, (entry, n_ranks, n_unreached) in entries.items():
            tokenizer = load_tokenizer(entry, folder=data)
            rules = tokenizer.merging() if isinstance(tokenizer, HasMerging) else None
            assert rules is not None
            missed, ranks = not_reached(rules)
            yield Check(what=f"{name}, ranks", expected=n_ranks, measured=ranks)
            yield Check(what=f"{name}, unreached", expected=n_unreached, measured=len(missed))
