from __future__ import annotations

import pytest

from tokbench.bench.config.languages import resolve, resolve_all
from tokbench.bench.errors import UsageError


@pytest.mark.parametrize(
    ("key", "tag", "script"),
    [
        ("eng_Latn", "en", "Latn"),
        ("fra_Latn", "fr", "Latn"),
        ("zho_Hans", "zh-Hans", "Hans"),
        ("zho_Hant", "zh-Hant", "Hant"),
        ("en", "en", "Latn"),
        ("pt", "pt", "Latn"),
        ("nb", "nb", "Latn"),
        ("no", "no", "Latn"),
        ("zh", "zh", "Hans"),
        ("khm_Khmr", "km", "Khmr"),
        ("ewe", "ee", "Latn"),
    ],
)
def test_a_key_is_read_as_a_tag_and_a_script(key: str, tag: str, script: str) -> None:
    language = resolve(key)
    assert (language.key, language.tag, language.script) == (key, tag, script)


def test_flores_keys_are_49_languages(data_folder) -> None:
    keys = [path.stem for path in (data_folder / "corpora/flores200").glob("*.parquet")]
    assert len(resolve_all(dict.fromkeys(keys))) == 49


@pytest.mark.parametrize("key", ["on", "y", "True", "english", "eng_Xxxx", ""])
def test_a_key_that_is_no_language_asks_for_a_tag(key: str) -> None:
    with pytest.raises(UsageError, match=r"is not a language code.*tag"):
        resolve(key)


def test_a_tag_gives_any_key_a_meaning() -> None:
    assert resolve("old spelling", tag="de-1901").tag == "de-1901"


def test_a_wrong_tag_is_named() -> None:
    with pytest.raises(UsageError, match="tag 'xx' is not"):
        resolve("mine", tag="xx")


def test_two_keys_of_one_language_are_an_error() -> None:
    with pytest.raises(UsageError, match=r"'zho_Hans' and 'zh-Hans' are the same \(zh-Hans\)"):
        resolve_all({"zho_Hans": None, "zh-Hans": None})


def test_code_is_named_by_pygments_and_has_neither_tag_nor_script() -> None:
    for key in ("python", "cpp", "javascript", "objective-c", "c#"):
        language = resolve(key, kind="code")
        assert (language.tag, language.script, language.kind) == (None, None, "code")


def test_a_misspelt_programming_language_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'python'"):
        resolve("pyhton", kind="code")


def test_two_aliases_of_one_lexer_are_an_error() -> None:
    with pytest.raises(UsageError, match="'js' and 'javascript' are the same"):
        resolve_all({"js": None, "javascript": None}, kind="code")


def test_a_programming_language_among_natural_ones_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="kind: code"):
        resolve("python")
