"""Entries that encoding does not produce, searched in context.

An entry counts as reached when the corpus of the run produced it, or when a text made of its own
bytes does: alone, behind a space, inside a word, between punctuation, beside letters of its own.
A piece of a character is completed by characters that have these bytes. Texts come from the raw
bytes of the vocabulary, never from a decoder. An entry that is not found is a candidate only: no
search of this kind can prove that no text has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache

from tokbench.bench.model import Vocabulary
from tokbench.bench.run.probe import Subject

CONTEXTS: tuple[Callable[[str], str], ...] = (
    lambda t: t,
    lambda t: f" {t}",
    lambda t: f"a{t}",
    lambda t: f"{t}a",
    lambda t: f"{t} ",
    lambda t: f"a {t}",
    lambda t: t.removeprefix(" "),
    lambda t: f"a{t}a",
    lambda t: f".{t}",
    lambda t: f"{t}.",
    lambda t: f"({t})",
    lambda t: f"\n{t}",
    lambda t: f"{t}\n",
    lambda t: f"1{t}",
    lambda t: f"{t}1",
    lambda t: f"qz{t}",
    lambda t: f"x{t}x",
    lambda t: f"字{t}",
    lambda t: f"{t}字",
    lambda t: f"{t.strip()[:1]}{t}",
    lambda t: f"{t}{t.strip()[-1:]}",
    lambda t: f"{t}{t}",
    lambda t: f"é{t}",
    lambda t: f"я{t}",
    lambda t: f"क{t}",
    lambda t: f"ا{t}",
    lambda t: f"ก{t}",
    lambda t: f"가{t}",
    lambda t: f"x. {t} y",
    lambda t: f"'{t}'",
    lambda t: f"_{t}_",
    lambda t: f"/{t}/",
)
"""Texts around an entry that is valid UTF-8, tried in this order."""

BEFORE, AFTER = 4, 32
"""Characters tried for the missing start and the missing end of a piece of a character."""


def not_reached(
    subject: Subject, entries: Mapping[int, bytes], seen: AbstractSet[int]
) -> tuple[list[int], int]:
    """Return the ids of `candidates` that no text produced, and how many were looked for.

    Those `seen` need no search.
    """
    vocabulary = subject.tokenizer.vocabulary
    wanted = {i: content for i, content in entries.items() if i not in seen}
    partial = vocabulary.is_partial_character
    missing = [i for i in wanted if partial[i]]
    whole = {i: content.decode() for i, content in wanted.items() if not partial[i]}
    for context in CONTEXTS:
        whole = _still_missing(subject, whole, {i: context(text) for i, text in whole.items()})
    pieces = _pieces(subject, vocabulary, missing)
    return sorted([*whole, *pieces]), len(wanted)


def in_no_text(vocabulary: Vocabulary, i: int) -> bool:
    """Whether an entry's bytes occur in no UTF-8 at all, such as the single byte 0xFF."""
    return not _is_text(vocabulary, i) and not completions(_content(vocabulary, i))


def candidates(vocabulary: Vocabulary) -> dict[int, bytes]:
    """Return the entries that some text ought to produce: those with content, by id.

    Byte-fallback entries are left out.
    """
    left_out = vocabulary.special_ids | vocabulary.unknown_ids | vocabulary.byte_fallback_ids
    every = enumerate(vocabulary.token_bytes)
    return {i: content for i, content in every if content and i not in left_out}


def _content(vocabulary: Vocabulary, i: int) -> bytes:
    return vocabulary.token_bytes[i] or b""


def _is_text(vocabulary: Vocabulary, i: int) -> bool:
    return not vocabulary.is_partial_character[i]


def _still_missing(
    subject: Subject, entries: Mapping[int, str], texts: Mapping[int, str]
) -> dict[int, str]:
    """Return the entries that their texts did not produce."""
    answers = subject.ids(list(texts.values()))
    return {
        i: entries[i]
        for i, ids in zip(texts, answers, strict=True)
        if isinstance(ids, str) or i not in ids
    }


def _pieces(subject: Subject, vocabulary: Vocabulary, ids: Sequence[int]) -> list[int]:
    known = {content for content in vocabulary.token_bytes if content}
    tries = {i: completions(_content(vocabulary, i), known) for i in ids}
    left = dict.fromkeys(ids, "")
    for round_ in range(BEFORE * AFTER * 2):
        texts = {i: tries[i][round_] for i in left if round_ < len(tries[i])}
        if not texts:
            break
        found = set(texts) - set(_still_missing(subject, left, texts))
        left = {i: "" for i in left if i not in found}
    return list(left)


def completions(content: bytes, known: AbstractSet[bytes] = frozenset()) -> list[str]:
    r"""Return texts that contain bytes which begin or end inside a character.

    Characters that are no entry themselves come first: the others would be taken whole.

    >>> completions(b"\xc3")[0], completions(b"\xa9x")[0]
    ('À', '©x')
    >>> completions(b"\xff")
    []
    """
    start, middle, end = _split(content)
    try:
        text = middle.decode()
    except UnicodeDecodeError:
        return []
    heads = _ending_in(start, known)[: BEFORE if end else AFTER] if start else [""]
    tails = _starting_with(end, known)[:AFTER] if end else [""]
    joined = [f"{head}{text}{tail}" for tail in tails for head in heads]
    return [*joined, *(f" {one}" for one in joined), *(f"a{one}a" for one in joined[:AFTER])]


def _split(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Cut off the continuation bytes at the start and the unfinished character at the end."""
    begin = 0
    while begin < min(3, len(content)) and content[begin] & 0xC0 == 0x80:
        begin += 1
    for size in (1, 2, 3):
        lead = content[len(content) - size] if size <= len(content) - begin else 0
        if lead >= 0xC0:
            needs = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            if size < needs:
                return content[:begin], content[begin:-size], content[-size:]
    return content[:begin], content[begin:], b""


@cache
def _index() -> tuple[dict[bytes, list[str]], dict[bytes, list[str]]]:
    """Return characters by the ends and by the starts of their UTF-8."""
    import unicodedata

    by_end: dict[bytes, list[str]] = {}
    by_start: dict[bytes, list[str]] = {}
    assigned = (
        code
        for code in (*range(0x80, 0xD800), *range(0xF900, 0x20000), *range(0x20000, 0x2FA1E, 7))
        if unicodedata.category(chr(code)) != "Cn"
    )
    # private use and empty planes last: valid UTF-8 all the same, with lead bytes nothing else has
    for code in (*assigned, *range(0xE000, 0xF900, 16), *range(0x30000, 0x110000, 0x1111)):
        character = chr(code)
        data = character.encode()
        for size in range(1, len(data)):
            by_end.setdefault(data[-size:], []).append(character)
            by_start.setdefault(data[:size], []).append(character)
    return by_end, by_start


def _ending_in(data: bytes, known: AbstractSet[bytes]) -> list[str]:
    return _rare_first(_index()[0].get(data, []), known)


def _starting_with(data: bytes, known: AbstractSet[bytes]) -> list[str]:
    return _rare_first(_index()[1].get(data, []), known)


def _rare_first(characters: Sequence[str], known: AbstractSet[bytes]) -> list[str]:
    rare = [c for c in characters if c.encode() not in known]
    # spread over the range: neighbours share the bytes that a longer entry would swallow
    step = max(1, len(rare) // AFTER)
    spread = rare[::step]
    return [*spread, *(c for c in characters[:AFTER] if c.encode() in known)]
