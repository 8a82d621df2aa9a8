"""Languages: the normalised tag and script of a config's key.

The key is what joins results; tag and script are extra columns that make corpora with
different habits (``fra_Latn``, ``fr``) comparable. For code the key names a Pygments lexer
and both are null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.model import Kind


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language of a corpus: the config's key and its meaning."""

    key: str
    tag: str | None
    """Normalised BCP-47 tag; None for code."""
    script: str | None
    """Four-letter ISO 15924 code, filled in from CLDR's likely subtags; None for code."""
    kind: Kind


def resolve(key: str, *, kind: Kind = "natural", tag: str | None = None) -> Language:
    """Return the language of a key; an explicit tag overrides the key.

    Raises `UsageError` if the key (or the tag) is not a language, or not a Pygments alias for code.

    >>> resolve("fra_Latn")
    Language(key='fra_Latn', tag='fr', script='Latn', kind='natural')
    >>> resolve("zho_Hant").tag, resolve("no").script, resolve("mine", tag="sr-Cyrl").script
    ('zh-Hant', 'Latn', 'Cyrl')
    >>> resolve("python", kind="code")
    Language(key='python', tag=None, script=None, kind='code')
    """
    if kind == "code":
        return _resolve_code(key, tag)
    normalised = normalise(tag if tag is not None else key)
    if normalised is None:
        raise UsageError(_no_language(key, tag))
    return Language(key=key, tag=normalised, script=_script(normalised), kind=kind)


def resolve_all(keys: Mapping[str, str | None], *, kind: Kind = "natural") -> dict[str, Language]:
    """Resolve a corpus's keys, each with its explicit tag or None.

    Raises `UsageError` for an unknown key, or two keys of the same language: a premium over both
    would count that language twice.

    >>> sorted(resolve_all({"en": None, "fra_Latn": None}))
    ['en', 'fra_Latn']
    """
    for _, problem in problems(keys, kind=kind):
        raise UsageError(problem)
    return {key: resolve(key, kind=kind, tag=tag) for key, tag in keys.items()}


def problems(keys: Mapping[str, str | None], *, kind: Kind) -> Iterator[tuple[str, str]]:
    """Yield each unknown key, and each with the language of an earlier one, with the message."""
    before: dict[Any, dict[str, Identity]] = {}  # those that differ in their region at most
    for key, tag in keys.items():
        try:
            resolve(key, kind=kind, tag=tag)
        except UsageError as exc:
            yield key, str(exc)
            continue
        mine = identity(key if tag is None else tag, kind=kind)
        near = before.setdefault((mine.language, mine.script, mine.more), {})
        if other := next((one for one, found in near.items() if found.is_same(mine)), None):
            yield (
                key,
                f"languages {other!r} and {key!r} are the same language ({mine}); keep one, or "
                "distinguish them by a `tag`",
            )
        near[key] = mine


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The parts that identify a language, to compare two keys."""

    language: str
    """The individual language; the name of the lexer for code."""
    script: str | None = None
    region: str | None = None
    more: tuple[str, ...] = ()
    """Variants and private subtags."""

    def is_same(self, other: Identity) -> bool:
        """Whether both are the same language: a missing region matches any."""
        mine, theirs = ((one.language, one.script, one.more) for one in (self, other))
        return mine == theirs and (
            self.region is None or other.region is None or self.region == other.region
        )

    def __str__(self) -> str:
        return "-".join(filter(None, (self.language, self.script, self.region, *self.more)))


@cache
def _individual() -> Mapping[str, str]:
    """Return the individual language that a macrolanguage usually means.

    It is CLDR's (``cmn`` for ``zh``, ``swh`` for ``sw``), where CLDR names one; of Norwegian it is
    Bokmål.
    """
    from langcodes.data_dicts import NORMALIZED_MACROLANGUAGES

    pairs = NORMALIZED_MACROLANGUAGES.items()
    times = Counter(macro for _, macro in pairs)
    return {macro: one for one, macro in pairs if times[macro] == 1} | {"no": "nb"}


@cache
def identity(text: str, *, kind: Kind = "natural") -> Identity:
    """Return the identifying parts of a valid key or tag.

    A macrolanguage is the individual language that it usually means, a script left out is the
    likely one. Where CLDR makes a language a region of another (`prs` is `fa-AF` there), the
    language as written counts.

    >>> str(identity("zh-CN")), str(identity("cmn_Hans")), str(identity("prs_Arab"))
    ('cmn-Hans-CN', 'cmn-Hans', 'prs-Arab')
    """
    import langcodes

    if kind == "code":
        return Identity(language=str(_lexer_name(text)))
    tag = str(normalise(text))
    found, written = langcodes.Language.get(tag), langcodes.Language.get(text, normalize=False)
    moved = found.territory is not None and written.territory is None
    language = str(written.language if moved else found.language)
    return Identity(
        language=_individual().get(language, language),
        script=_script(tag),
        region=None if moved else found.territory,
        more=(*(found.variants or ()), *(found.extensions or ()), *filter(None, (found.private,))),
    )


@cache
def normalise(text: str) -> str | None:
    """Return the normalised BCP-47 tag of a code; None for an unknown language.

    >>> normalise("eng_Latn"), normalise("zho_Hans"), normalise("english")
    ('en', 'zh-Hans', None)
    """
    import langcodes
    from langcodes.tag_parser import LanguageTagError

    try:
        tag = langcodes.standardize_tag(text)
    except LanguageTagError:
        return None
    return tag if langcodes.tag_is_valid(tag) else None


@cache
def _script(tag: str) -> str | None:
    import langcodes

    return langcodes.Language.get(tag).maximize().script


def _no_language(key: str, tag: str | None) -> str:
    wrong = key if tag is None else tag
    if (code := code_of(wrong)) is not None:
        return f"{wrong!r} is not a language code; did you mean {code!r}?"
    if tag is not None:
        return f"language {key!r}: tag {tag!r} is not a BCP-47 language tag, such as sr-Cyrl"
    hint = "; for a programming language write `kind: code`" if _lexer_name(key) else ""
    return (
        f"{key!r} is not a language code; write a BCP-47 or FLORES code (fr, fra_Latn), or "
        f"give the key a tag: `{key}: {{tag: ...}}`{hint}"
    )


@cache
def code_of(name: str) -> str | None:
    """Return the code of a language that is given by its name; None if unknown.

    >>> code_of("swahili"), code_of("English"), code_of("gibberish")
    ('sw', 'en', None)
    """
    import langcodes

    try:
        return str(langcodes.find(name.replace("_", " ")))
    except LookupError:
        return None


def _resolve_code(key: str, tag: str | None) -> Language:
    if tag is not None:
        raise UsageError(f"language {key!r}: `tag` requires a natural language; remove it for code")
    if _lexer_name(key) is None:
        raise UsageError(
            f"{key!r} is not a programming language that Pygments "
            f"knows{did_you_mean(key, _lexers())}; "
            "with kind: code a language is a Pygments alias (python, cpp, javascript)"
        )
    return Language(key=key, tag=None, script=None, kind="code")


def _lexer_name(key: str) -> str | None:
    return _lexers().get(key.lower())


@cache
def _lexers() -> Mapping[str, str]:
    """Alias to lexer name, for every lexer that Pygments itself has."""
    from pygments.lexers import get_all_lexers

    return {alias: name for name, aliases, *_ in get_all_lexers(plugins=False) for alias in aliases}


def near_key(word: str, keys: Iterable[str], *, kind: Kind = "natural") -> str:
    """Return the end of a message: a suggested key, by its language or its spelling.

    >>> near_key("english", ["eng_Latn", "fra_Latn"]), near_key("xx", ["fr", "de"])
    ("; did you mean 'eng_Latn'?", '; there are: fr, de')
    """
    known = list(keys)
    tag = (normalise(word) or code_of(word)) if kind == "natural" else None
    if tag is not None:
        for key in known:
            if normalise(key) is not None and identity(key).is_same(identity(tag)):
                return f"; did you mean {key!r}?"
    return did_you_mean(word, known) or f"; there are: {', '.join(known)}"
