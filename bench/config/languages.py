"""Languages: from the key a config uses to a normalised tag and a script.

The key is what joins results; tag and script are extra columns that make corpora with
different habits (``fra_Latn``, ``fr``) comparable. For code the key names a Pygments lexer
and both are null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tokbench.bench.errors import UsageError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.model import Kind


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language of a corpus: the config's key, and what it means."""

    key: str
    tag: str | None
    """Normalised BCP-47 tag; None for code."""
    script: str | None
    """Four-letter ISO 15924 code, filled in from CLDR's likely subtags; None for code."""
    kind: Kind


def resolve(key: str, *, kind: Kind = "natural", tag: str | None = None) -> Language:
    """Return what a language key means; an explicit tag overrules the key.

    Raises `UsageError` when the key (or the tag) is no language, or no Pygments alias for code.

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

    Raises `UsageError` when two keys mean the same language: a premium over both would count
    that language twice.

    >>> sorted(resolve_all({"en": None, "fra_Latn": None}))
    ['en', 'fra_Latn']
    """
    found = {key: resolve(key, kind=kind, tag=tag) for key, tag in keys.items()}
    meaning: dict[str, str] = {}
    for key, language in found.items():
        what = _lexer_name(key) if kind == "code" else language.tag
        if (other := meaning.setdefault(str(what), key)) != key:
            raise UsageError(
                f"languages {other!r} and {key!r} are the same ({what}); "
                "keep one, or give one of them its own `tag`"
            )
    return found


@cache
def normalise(text: str) -> str | None:
    """Return the normalised BCP-47 tag of a code, or None where it is no known language.

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
    if tag is not None:
        return f"language {key!r}: tag {tag!r} is not a BCP-47 language tag, such as sr-Cyrl"
    hint = "is it code? then say `kind: code`" if _lexer_name(key) else None
    return (
        f"{key!r} is not a language code; write a BCP-47 or FLORES code (fr, fra_Latn), or keep "
        f"the key and say which language it is: `{key}: {{tag: fr}}`"
        + (f"; {hint}" if hint else "")
    )


def _resolve_code(key: str, tag: str | None) -> Language:
    if tag is not None:
        raise UsageError(f"language {key!r}: `tag` is for natural languages; code has none")
    if _lexer_name(key) is None:
        raise UsageError(
            f"{key!r} is not a programming language that Pygments knows{did_you_mean(key, _lexers())}; "
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
