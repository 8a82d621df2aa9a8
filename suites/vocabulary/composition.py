"""What the entries of a vocabulary are made of, from their bytes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache

from tokbench.bench.model import Vocabulary

SCRIPTS = (
    "Latin", "Greek", "Cyrillic", "Armenian", "Hebrew", "Arabic", "Syriac", "Thaana",
    "Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada",
    "Malayalam", "Sinhala", "Thai", "Lao", "Tibetan", "Myanmar", "Georgian", "Hangul", "Ethiopic",
    "Cherokee", "Canadian_Aboriginal", "Khmer", "Mongolian", "Tifinagh", "Hiragana", "Katakana",
    "Bopomofo", "Han", "Yi", "Nko", "Javanese", "Balinese", "Ol_Chiki", "Meetei_Mayek",
)  # fmt: skip
"""Scripts told apart, by their Unicode names; letters of any other are ``Other``."""

CATEGORIES = (
    "word_start", "word_part", "digits", "white_space", "punctuation", "mixed",
    "partial_utf8", "byte_fallback", "special", "empty",
)  # fmt: skip
"""``word_start`` is letters (and marks) behind a space; ``word_part`` letters without one."""


def texts_of(vocabulary: Vocabulary) -> dict[int, str]:
    """Return the text of each entry that has valid UTF-8 of its own, byte-fallback left out."""
    found = {}
    for i, content in enumerate(vocabulary.token_bytes):
        if content and i not in vocabulary.byte_fallback_ids and i not in vocabulary.special_ids:
            try:
                found[i] = content.decode()
            except UnicodeDecodeError:
                continue
    return found


def categories(vocabulary: Vocabulary, texts: Mapping[int, str]) -> Counter[str]:
    """Count entries by category; each is in exactly one.

    >>> v = Vocabulary(token_bytes=[b" the", b"12", b"\\xc3", b"\\n", b"a1", None], special_ids=frozenset({5}))
    >>> sorted(categories(v, texts_of(v)).items())
    [('digits', 1), ('mixed', 1), ('partial_utf8', 1), ('special', 1), ('white_space', 1), ('word_start', 1)]
    """
    counts: Counter[str] = Counter()
    for i, content in enumerate(vocabulary.token_bytes):
        if i in vocabulary.special_ids:
            counts["special"] += 1
        elif i in vocabulary.byte_fallback_ids:
            counts["byte_fallback"] += 1
        elif i in texts:
            counts[_category(texts[i])] += 1
        elif content:
            counts["partial_utf8"] += 1
        elif i not in vocabulary.hole_ids:
            counts["empty"] += 1
    return counts


def _category(text: str) -> str:
    if text.isspace():
        return "white_space"
    if len(text) == 1:
        return _ALONE.get(_kind(text), "mixed")
    kinds = {_kind(c) for c in text.removeprefix(" ")}
    if kinds == {"L"} or kinds == {"L", "M"} or kinds == {"M"}:
        return "word_start" if text.startswith(" ") else "word_part"
    if kinds == {"N"}:
        return "digits"
    return "punctuation" if kinds <= {"P", "S"} else "mixed"


_ALONE = {"L": "word_part", "M": "word_part", "N": "digits", "P": "punctuation", "S": "punctuation"}


@cache
def _kind(character: str) -> str:
    return unicodedata.category(character)[0]


def scripts(texts: Mapping[int, str]) -> Counter[str]:
    """Count entries by the script of their letters; ``Mixed`` has several, ``None`` no letters.

    >>> sorted(scripts({0: " the", 1: "дом", 2: "12", 3: "aд"}).items())
    [('Cyrillic', 1), ('Latin', 1), ('Mixed', 1), ('None', 1)]
    """
    table = _script_table("".join(set().union(*texts.values())) if texts else "")
    counts: Counter[str] = Counter()
    for text in texts.values():
        found = {table[c] for c in text if c in table}
        counts["None" if not found else found.pop() if len(found) == 1 else "Mixed"] += 1
    return counts


def _script_table(characters: str) -> dict[str, str]:
    """Return the script of each letter; other characters, and marks of all scripts, have none."""
    import regex

    table = dict.fromkeys(regex.findall(r"\p{L}", characters), "Other")
    for name in SCRIPTS:
        table |= dict.fromkeys(
            regex.findall(rf"[\p{{Script={name}}}&&\p{{L}}]", characters, regex.V1), name
        )
    return table


def groups(keys: Mapping[int, Hashable]) -> list[tuple[int, ...]]:
    """Return the ids that share a key with another id, one tuple for each key, by lowest id.

    >>> groups({0: "a", 1: "b", 2: "a"})
    [(0, 2)]
    """
    first: dict[Hashable, int] = {}
    shared: dict[Hashable, list[int]] = {}
    for i, key in keys.items():
        other = first.setdefault(key, i)
        if other != i:
            shared.setdefault(key, [other]).append(i)
    return sorted(map(tuple, shared.values()))


def same_form(texts: Mapping[int, str], form: str) -> list[tuple[int, ...]]:
    """Return groups of entries whose texts differ and have one normal form.

    >>> same_form({0: "é", 1: "e\\u0301", 2: "e"}, "NFC")
    [(0, 1)]
    """
    forms = {i: normal for i, t in texts.items() if (normal := _normalized(t, form)) != t}
    # a text with the same form as another is one of these, or their form itself
    targets = set(forms.values())
    keys = {i: forms.get(i, t) for i, t in texts.items() if i in forms or t in targets}
    return [ids for ids in groups(keys) if len({texts[i] for i in ids}) > 1]


def _normalized(text: str, form: str) -> str:
    return text if text.isascii() else unicodedata.normalize(form, text)  # type: ignore[arg-type]


def surplus(found: Iterable[Sequence[int]]) -> int:
    """Return how many entries of groups would go if one of each stayed."""
    return sum(len(ids) - 1 for ids in found)
