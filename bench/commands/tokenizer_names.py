"""Tokenizers by a plain name: what a person types where a config would have an entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError

from tokbench.bench import plugins
from tokbench.bench.errors import PluginError, UsageError
from tokbench.bench.markup import suggest
from tokbench.bench.plugins import TokenizerPlugin


def entry_of(name: str) -> dict[str, Any]:
    """Return the config entry that a plain name means.

    Known are the names that a plug-in lists among its options (encodings, samples), and types
    that need no option. Raises `UsageError` for any other.

    >>> entry_of("o200k_base")
    {'type': 'tiktoken', 'encoding': 'o200k_base'}
    >>> entry_of("utf8_bytes")
    {'type': 'utf8_bytes'}
    """
    known = _known()
    if name not in known:
        raise UsageError(f"unknown tokenizer {name!r}{suggest(name, known)}")
    return dict(known[name])


def _known() -> dict[str, Mapping[str, Any]]:
    """Return the entries of all known names; the first plug-in that knows a name has it."""
    found: dict[str, Mapping[str, Any]] = {}
    for kind in plugins.names(TokenizerPlugin):
        try:
            model = plugins.find(TokenizerPlugin, kind)
        except PluginError:  # it harms only those who ask for it
            continue
        for name, options in _names_of(kind, model):
            found.setdefault(name, {"type": kind, **options})
    return found


def _names_of(kind: str, model: type[TokenizerPlugin]) -> Iterator[tuple[str, dict[str, str]]]:
    if _needs_nothing(model):
        yield kind, {}
    for option in ("encoding", "sample"):
        field = model.model_fields.get(option)
        for name in () if field is None else _literals(field.annotation):
            yield name, {option: name}


def _needs_nothing(model: type[TokenizerPlugin]) -> bool:
    try:
        model()
    except ValidationError:
        return False
    return True


def _literals(annotation: Any) -> list[str]:
    """Return the texts that an annotation such as ``Literal["a", "b"] | None`` allows.

    >>> _literals(Literal["a", "b"] | None)
    ['a', 'b']
    """
    if get_origin(annotation) is Literal:
        return [value for value in get_args(annotation) if isinstance(value, str)]
    return [name for part in get_args(annotation) for name in _literals(part)]
