"""Suite robustness: what each class edits, and three ratios against independent computations."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

import tokbench
from tokbench.bench.errors import UsageError
from tokbench.bench.results.run_folder import Results
from tokbench.reports import detail
from tokbench.reports.view import View
from tokbench.suites.robustness.characters import LAYOUTS, neighbours
from tokbench.suites.robustness.following import Placed, beyond
from tokbench.suites.robustness.variants import PERTURBATIONS, Variant, Writing

TEXTS = {
    Writing("en", "Latn"): "The quick brown fox said “I will”: 12 times a naïve café… and Straße.",
    Writing("tr", "Latn"): "Işık içinde büyük bir şehir, çok ilginç yerler ve insanlar.",
    Writing("vi", "Latn"): "Tất cả mọi người sinh ra đều được tự do và bình đẳng.",
    Writing("ru", "Cyrl"): "Съешь ещё этих мягких французских булок, да выпей чаю.",
    Writing("el", "Grek"): "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία, είπε ο άνθρωπος.",
    Writing("ar", "Arab"): "أهلا بالعالم الكبير والجميل في كل مكان",
    Writing("he", "Hebr"): "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    Writing("hi", "Deva"): "नमस्ते दुनिया, यह क\u093c\u0932\u092e अच्छी है।",
    Writing("ko", "Hang"): "안녕하세요 여러분, BBC 뉴스입니다.",
    Writing("zh", "Hans"): "你好，世界。BBC报道了12条新闻。",
}


def variant(name: str, writing: Writing, *, seed: str = "0", per_edit: int = 15) -> Variant | None:
    return PERTURBATIONS[name].variant(TEXTS[writing], writing, seed=seed, per_edit=per_edit)


def test_the_page_states_the_classes_and_their_scripts() -> None:
    page = Path(__file__).parents[2] / "docs" / "robustness.md"
    written = re.findall(r"^\| `(\w+)` \| (.+) \| (\w+) \| (.+) \|$", page.read_text(), re.M)
    assert [row for row in written if row[0] in PERTURBATIONS] == [
        (
            name,
            one.what,
            "everywhere" if one.everywhere else "drawn",
            ", ".join(sorted(one.scripts)) if one.scripts else "all",
        )
        for name, one in PERTURBATIONS.items()
    ]


@pytest.mark.parametrize("writing", TEXTS, ids=lambda writing: writing.language)
def test_each_class_does_what_it_says(writing: Writing) -> None:
    """Each variant is undone, or made again, in another way."""
    text = TEXTS[writing]
    found = {
        name: made.text
        for name, one in PERTURBATIONS.items()
        if one.applies(writing) and (made := variant(name, writing))
    }
    assert all(made != text for made in found.values())
    for form in ("NFC", "NFD", "NFKC"):
        normal = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        assert found.get(form.lower(), text) == normal
    assert found["zero_width"].replace("\u200b", "") == text
    assert found.get("white_space", text).split() == text.split()
    assert sorted(found["swapped_letters"]) == sorted(text)
    assert _is_part(found["dropped_letter"], text)
    assert _is_part(text, found["doubled_letter"])
    for name in ("full_width", "styled"):
        if name in found:
            assert unicodedata.normalize("NFKC", found[name]) == unicodedata.normalize("NFKC", text)
    if "letter_case" in found:
        assert found["letter_case"].casefold() == text.casefold() or writing.language == "tr"
        wanted = text.replace("i", "İ") if writing.language == "tr" else text
        assert found["upper_case"] == wanted.upper()
    if "diacritics_removed" in found:
        bare = found["diacritics_removed"]
        assert not any(unicodedata.combining(c) for c in unicodedata.normalize("NFD", bare))
    for name in ("homoglyph", "keyboard_neighbour"):
        if name in found:
            assert len(found[name]) == len(text)


def _is_part(short: str, long: str) -> bool:
    rest = iter(long)
    return len(short) < len(long) and all(character in rest for character in short)


def test_homoglyphs_and_keys_are_what_a_person_would_take_them_for() -> None:
    russian, english = Writing("ru", "Cyrl"), Writing("en", "Latn")
    made = variant("homoglyph", russian)
    assert made is not None
    new = {b for a, b in zip(TEXTS[russian], made.text, strict=True) if a != b}
    assert new
    assert all(unicodedata.name(character).startswith("LATIN") for character in new)
    key = variant("keyboard_neighbour", english)
    assert key is not None
    for a, b in zip(TEXTS[english], key.text, strict=True):
        assert a == b or b.lower() in neighbours("qwerty")[a.lower()]
        assert a.isupper() == b.isupper()


def test_layouts_have_each_letter_once_and_neighbours_are_mutual() -> None:
    for name, rows in LAYOUTS.items():
        letters = "".join(rows)
        assert len(set(letters)) == len(letters), name
        for letter, near in neighbours(name).items():
            assert all(letter in neighbours(name)[other] for other in near)


def test_places_are_those_of_the_original() -> None:
    for writing, text in TEXTS.items():
        for name, one in PERTURBATIONS.items():
            made = variant(name, writing) if one.applies(writing) else None
            if made is None:
                continue
            outside, done = [], 0
            for start, end in made.places:
                outside.append(text[done:start])
                done = end
            pattern = ".*?".join(map(re.escape, [*outside, text[done:]]))
            assert re.fullmatch(pattern, made.text, re.S)
            grown = len(made.text.encode()) - len(text.encode())
            edited = sum(len(text[start:end].encode()) for start, end in made.places)
            assert sum(made.lengths) - edited == grown


def test_a_seed_decides_the_places_and_a_rate_how_many() -> None:
    english = Writing("en", "Latn")
    same = [variant("letter_case", english, seed="7") for _ in range(2)]
    assert same[0] == same[1]
    others = {variant("letter_case", english, seed=str(n)) for n in range(8)}
    assert len(others) > 4
    many = variant("letter_case", english, per_edit=10)
    one = variant("letter_case", english, per_edit=10_000)
    assert many
    assert one
    assert (len(many.places), len(one.places)) == (len(TEXTS[english]) // 10, 1)


def placed(*tokens: tuple[int, int, int]) -> Placed:
    ids, starts, ends = zip(*tokens, strict=True)
    return Placed(ids=ids, starts=np.array(starts), ends=np.array(ends))


def test_tokens_beyond_an_edit_are_found_by_place_and_id() -> None:
    """`ab ab ab`: the middle b becomes the two-byte é; tokens a=1, b=2, ab=3, space=4, é=5."""
    before = placed((3, 0, 2), (4, 2, 3), (3, 3, 5), (4, 5, 6), (3, 6, 8))
    made = Variant(text="ab aé ab", places=((4, 5),), lengths=(2,))
    kept = placed((3, 0, 2), (4, 2, 3), (1, 3, 4), (5, 4, 6), (4, 6, 7), (3, 7, 9))
    assert beyond("ab ab ab", before, made, kept) == (4, 0)
    recut = placed((1, 0, 1), (2, 1, 2), (4, 2, 3), (1, 3, 4), (5, 4, 6), (4, 6, 7), (3, 7, 9))
    assert beyond("ab ab ab", before, made, recut) == (4, 1)
    assert beyond("ab ab ab", Placed(ids=(3,)), made, recut) == (0, 0)


def distance(a: Sequence[int], b: Sequence[int]) -> int:
    """Levenshtein by the textbook's table."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


def nfc_bytes(folder: Path) -> None:
    """Write a byte-level tokenizer behind the normalizer NFC."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.save(str(folder / "nfc.json"))


LANGUAGES = {
    "eng_Latn": Writing("en", "Latn"),
    "vie_Latn": Writing("vi", "Latn"),
    "kor_Hang": Writing("ko", "Hang"),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("robustness")
    nfc_bytes(folder)
    for language, writing in LANGUAGES.items():
        texts = [TEXTS[writing], TEXTS[writing][:40], TEXTS[writing][3:]]
        lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
        (folder / f"{language}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    corpus = {"source": "files", "path": "{language}.jsonl", "languages": list(LANGUAGES)}
    config = {
        "name": "robust",
        "seed": 3,
        "corpora": {"c": corpus},
        "tokenizers": {
            "bytes": {"type": "utf8_bytes"},
            "nfc": {"type": "huggingface", "file": "nfc.json"},
        },
        "suites": {"robustness": {"characters_per_edit": 20}},
        "reports": [],
    }
    (folder / "run.yaml").write_text(json.dumps(config))
    return tokbench.run(folder / "run.yaml", output=folder / "runs")


@pytest.fixture(scope="module")
def view(results: Results) -> View:
    return View(results)


def test_on_bytes_every_value_is_that_of_the_texts_themselves(view: View) -> None:
    """One token a byte: distances and growth are those of UTF-8, nothing beyond an edit moves."""
    checked = 0
    for language, writing in LANGUAGES.items():
        whole = TEXTS[writing]
        texts = [whole, whole[:40], whole[3:]]
        for name, one in PERTURBATIONS.items():
            row = view.row("variant_consistency", "bytes", "c", language, **{"class": name})
            assert (row is not None) == one.applies(writing)
            if row is None or row["value"] is None:
                continue
            pairs = []
            for i, text in enumerate(texts):
                seed = f"3/c/{language}/{i}/{name}"
                made = one.variant(text, writing, seed=seed, per_edit=20)
                if made is not None:
                    pairs.append((text.encode(), made.text.encode()))
            longer = sum(max(len(a), len(b)) for a, b in pairs)
            far = sum(distance(a, b) for a, b in pairs)
            assert row["value"] == pytest.approx(1 - far / longer, abs=1e-12)
            assert row["n"] == len(pairs)
            grown = sum(len(b) for _, b in pairs) / sum(len(a) for a, _ in pairs)
            of_class: dict[str, Any] = {"class": name}
            growth = view.value("variant_token_growth", "bytes", "c", language, **of_class)
            assert growth == pytest.approx(grown, abs=1e-12)
            touched = view.row("tokens_touched_beyond_edit", "bytes", "c", language, **of_class)
            assert touched is not None
            assert touched["value"] in (0.0, None)
            checked += 1
    assert checked > 30


def test_a_tokenizer_with_nfc_gives_the_same_ids_for_nfc_and_nfd(view: View) -> None:
    for language in ("vie_Latn", "kor_Hang"):
        values = {
            name: view.value("variant_consistency", name, "c", language, **{"class": "nfd"})
            for name in ("bytes", "nfc")
        }
        assert values["nfc"] == 1.0
        assert values["bytes"] is not None
        assert values["bytes"] < 0.8
    nothing = view.row("variant_consistency", "nfc", "c", "eng_Latn", **{"class": "nfc"})
    assert nothing is not None
    assert (nothing["value"], nothing["reason"], nothing["n"]) == (None, "nothing_found", 0)


def test_values_have_intervals_and_both_tokenizers_the_same_edits(view: View) -> None:
    rows = {
        name: view.row("variant_token_growth", name, "c", "eng_Latn", **{"class": "zero_width"})
        for name in ("bytes", "nfc")
    }
    first, second = rows["bytes"], rows["nfc"]
    assert first
    assert second
    assert first["ci_low"] <= first["value"] <= first["ci_high"]
    assert first["ci_low"] < first["ci_high"]
    assert first["params"]["edits"] == second["params"]["edits"] > 3


def test_the_section_says_what_consistency_is_not(view: View) -> None:
    page = detail.page(view)
    assert "## How ids follow variants of c" in page
    assert "not whether a model minds" in page
    assert "Consistency by language: zero_width" in page


def test_an_unknown_class_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    config = {
        "name": "wrong",
        "corpora": {"c": {"source": "files", "path": str(tmp_path / "a.txt"), "language": "en"}},
        "tokenizers": {"bytes": {"type": "utf8_bytes"}},
        "suites": {"robustness": {"classes": ["typo"]}},
        "reports": [],
    }
    with pytest.raises(UsageError, match="unknown class 'typo'; use one of: swapped_letters"):
        tokbench.run(config, tmp_path)


@pytest.mark.real
def test_qwen3_takes_normal_forms_for_one_text_and_bytes_keep_what_is_not_edited(
    data_folder: Path, tmp_path: Path
) -> None:
    languages = ["vie_Latn", "kor_Hang", "hin_Deva", "yor_Latn"]
    flores = {
        "source": "files",
        "path": str(data_folder / "corpora" / "flores200" / "{language}.parquet"),
        "languages": languages,
        "id": "id",
        "limit": {"rows": 60},
    }
    qwen = data_folder / "tokenizers" / "qwen" / "qwen3_tokenizer.json.gz"
    config = {
        "name": "normal",
        "corpora": {"flores": flores},
        "tokenizers": {
            "qwen3": {"type": "huggingface", "file": str(qwen)},
            "bytes": {"type": "utf8_bytes"},
        },
        "suites": {"robustness": {}},
        "reports": [],
    }
    found = View(tokbench.run(config, tmp_path))
    for language in languages:
        for form in ("nfc", "nfd"):
            value = found.value(
                "variant_consistency", "qwen3", "flores", language, **{"class": form}
            )
            assert value in (1.0, None)
    touched = [r["value"] for r in found.rows if r["metric"] == "tokens_touched_beyond_edit"]
    of_bytes = [
        row["value"]
        for row in found.rows
        if row["metric"] == "tokens_touched_beyond_edit" and row["tokenizer"] == "bytes"
    ]
    assert {value for value in of_bytes if value is not None} == {0.0}
    assert any(touched)
