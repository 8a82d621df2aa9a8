"""Turns pydantic's errors into mistakes in the config's terms: what is wrong, what to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from tokbench.bench.config.corpora import CorpusEntry, corpus_models, source_of
from tokbench.bench.config.mistakes import Mistake
from tokbench.bench.config.suggestions import KINDS, key_meant, meant_by, suggest
from tokbench.bench.config.yaml_file import ConfigFile, Loc

_WANTED: Mapping[str, str] = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "byte_size": "an amount of bytes, such as 4 GB or 512 MiB",
    "byte_size_unit": "an amount of bytes, such as 4 GB or 512 MiB",
    "dict_type": "a mapping",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "empty",
    "string_type": "text",
    "tuple_type": "a list",
}
"""What a key takes, by pydantic's name of the error."""

_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}
_OWN = ("languages", "list", "twice", "sample", "trust_remote_code", "value_error", "model_name")


def explain(
    where: ConfigFile, error: ValidationError, prefix: Loc, model: type[BaseModel]
) -> list[Mistake]:
    """Return the mistakes that pydantic found below a place of a config."""
    shapes: dict[Loc, list[Any]] = {}
    mistakes: list[Mistake] = []
    for item in error.errors():
        loc = where.real(prefix, item["loc"], missing=item["type"] == "missing")
        if item["type"] in _WANTED or item["type"] == "literal_error":
            shapes.setdefault(loc, []).append(item)
        elif item["type"] == "corpus":
            for key, text in item["ctx"]["found"]:
                mistakes.append(_placed(where, (*loc, *key), text))
        else:
            mistakes.append(_one(where, item, loc, model))
    mistakes += [_shape(where, loc, items, model) for loc, items in shapes.items()]
    return [one for one in mistakes if not _is_explained(one, mistakes)]


def _is_explained(missing: Mistake, mistakes: list[Mistake]) -> bool:
    """Whether a key is missing because it is there by another name, which is said of that one."""
    if missing.text != "is missing":
        return False
    above, _, key = missing.key.rpartition(".")
    meant = f"did you mean {key!r}?"
    return any(one.key.rpartition(".")[0] == above and meant in one.text for one in mistakes)


def _placed(where: ConfigFile, loc: Loc, text: str) -> Mistake:
    """Return a mistake at a key; if the key is missing, at the mapping around it."""
    value = where.value(loc)
    on = "key" if isinstance(value, Mapping) or value is None else "value"
    return where.mistake(loc, text, on=on)


def _one(where: ConfigFile, item: Any, loc: Loc, model: type[BaseModel]) -> Mistake:
    kind = item["type"]
    if kind == "extra_forbidden":
        return where.mistake(loc, _unknown_key(item, model), on="key")
    if kind == "union_tag_invalid":
        tag = str(item["ctx"]["tag"])
        known = map(source_of, corpus_models())
        return where.mistake((*loc, "source"), f"unknown {tag!r}{suggest(tag, known)}")
    if kind in ("missing", "union_tag_not_found"):
        return where.mistake(loc, _missing(kind, item.get("input")), on="key")
    return where.mistake(loc, _sentence(item, where.spelled(loc)), on=_side(item))


def _missing(kind: str, given: Any) -> str:
    if kind == "missing":
        return "is missing"
    sources = list(map(source_of, corpus_models()))
    written = given.get("type") if isinstance(given, Mapping) else None
    meant = meant_by(written, sources, KINDS) if isinstance(written, str) else []
    hint = f"; write `source: {meant[0]}` in place of `type`" if meant else ""
    return f"needs `source: {'|'.join(sources)}`{hint}"


def _side(item: Any) -> str:
    return "key" if item["loc"][-1:] == ("[key]",) else "value"


def _sentence(item: Any, spelled: str | None) -> str:
    """Return the message on one value."""
    kind, given, context = item["type"], item.get("input"), item.get("ctx", {})
    if kind in _OWN:
        return str(item["msg"]).removeprefix("Value error, ")
    if kind == "text_expected":
        return _not_text(item["loc"], given, spelled)
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        bound = context[name]
        least = f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"
        return f"must be {words} {least}, not {shown(given)}"
    if kind == "finite_number":
        return f"must be a finite number, not {shown(given)}"
    if kind == "string_pattern_mismatch":
        return (
            f"{shown(given)} is not a valid name; use letters, digits and ._+#-, and begin with a "
            "letter or digit"
        )
    if kind in ("string_too_long", "too_long"):
        return f"must have at most {context['max_length']} {_unit(given)}"
    if kind in ("string_too_short", "too_short"):
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} {_unit(given)}"
    return f"{item['msg']}, got {shown(given)}" if given is not None else str(item["msg"])


def _not_text(loc: Loc, given: Any, spelled: str | None) -> str:
    if isinstance(given, list) and loc[-1] == "language":
        return f"must be one language; write `languages: {in_yaml(given)}`"
    if isinstance(given, list | Mapping):
        return f"must be text, not {shown(given)}"
    what = "nothing" if given is None else type(given).__name__
    value = given if spelled is None else spelled
    return f'this must be text, not {what}; write it in quotes: "{value}"'


def _unit(given: Any) -> str:
    return "characters" if isinstance(given, str) else "entries"


def _unknown_key(item: Any, model: type[BaseModel]) -> str:
    near, key = _model_near(item["loc"], model), str(item["loc"][-1])
    former: Mapping[str, str] = getattr(near, "former", {})
    return (
        former.get(key)
        or _of_another_source(key, near)
        or f"unknown key{key_meant(key, item.get('input'), near)}"
    )


def _of_another_source(key: str, near: type[BaseModel]) -> str | None:
    """Return the message on a key that corpora of other sources have; None if none has it."""
    models = corpus_models()
    others = [f"`source: {source_of(one)}`" for one in models if key in one.model_fields]
    if not others or near not in models:
        return None
    return f"unknown key; it belongs to {' and '.join(others)}"


def _shape(where: ConfigFile, loc: Loc, items: list[Any], model: type[BaseModel]) -> Mistake:
    """Return the mistake of a value whose type its key does not accept."""
    given = items[0].get("input")
    choices = [word for item in items if item["type"] == "literal_error" for word in _choices(item)]
    wanted = list(dict.fromkeys(_WANTED[i["type"]] for i in items if i["type"] in _WANTED))
    if isinstance(given, str) and choices:
        meant = meant_by(given, choices, {})
        hint = f"; did you mean {' or '.join(map(repr, meant))}?" if meant else ""
        listed = "" if meant and len(choices) > 8 else f"; use {_either(choices)}"
        return where.mistake(loc, f"unknown value {given!r}{hint or listed}")
    wanted += [_either(choices)] if choices else []
    hint = _write(given, wanted, items[0]["loc"], model)
    return where.mistake(loc, f"must be {' or '.join(wanted)}, not {shown(given)}{hint}")


def _choices(item: Any) -> list[str]:
    return re.findall(r"'([^']*)'", str(item["ctx"]["expected"]))


def _either(words: list[str]) -> str:
    """Write words as alternatives.

    >>> _either(["a"]), _either(["a", "b", "c"])
    ('a', 'a, b or c')
    """
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _write(given: Any, wanted: list[str], loc: Loc, model: type[BaseModel]) -> str:
    """Return the value in the shape that its key takes, if that is known."""
    if wanted[0] == "a list" and not isinstance(given, list):
        scalar = given is not None and not isinstance(given, dict)
        return f"; write a list: [{in_yaml(given)}]" if scalar else "; write a list"
    if wanted[0] == "a mapping" and loc == ("tokenizers",):
        return f"; write a list: [{in_yaml(given)}]" if isinstance(given, str) else ""
    if wanted[0] == "a mapping" and loc == ("focus",) and isinstance(given, list):
        return f"; write {in_yaml(dict.fromkeys(map(str, given), 1))}"
    if wanted[0] == "a mapping" and loc[:1] == ("tokenizers",):
        return "; write {type: ..., and its options}, or a name"
    if wanted[0] == "a mapping" and loc[:1] == ("corpora",) and len(loc) == 2:
        return _write_corpus(given)
    if wanted[0] == "a mapping":
        inside = _model_near((*loc, ""), model)
        given = int(given) if isinstance(given, str) and given.isdecimal() else given
        name = _taker(given, inside) if inside is not model else None
        return f"; write {{{name}: {in_yaml(given)}}}" if name else ""
    if wanted == ["text"] and isinstance(given, bool | int | float):
        return f'; write it in quotes: "{in_yaml(given)}"'
    return ""


def _write_corpus(given: Any) -> str:
    """Return the full form of an entry that was given by its path alone."""
    path = given if isinstance(given, str) else "..."
    return f"; write {{source: files, path: {in_yaml(path)}, language: ...}}"


def _taker(given: Any, model: type[BaseModel]) -> str | None:
    """Return the first key of a model that accepts the value."""
    if given is None or isinstance(given, Mapping):
        return None
    for name, field in model.model_fields.items():
        kind: Any = (
            Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        )
        try:
            TypeAdapter(kind).validate_python(given, strict=not isinstance(given, list))
        except ValidationError:
            continue
        return name
    return None


def in_yaml(value: Any) -> str:
    """Return a value as it is written inside brackets.

    >>> in_yaml("en"), in_yaml(True), in_yaml("a, b"), in_yaml({"first": "a"})
    ('en', 'true', '"a, b"', '{first: a}')
    """
    if isinstance(value, str):
        return value if re.fullmatch(r"[^\s,\[\]{}:#&*!|>'\"%@`]+", value) else json.dumps(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{in_yaml(k)}: {in_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(in_yaml, value)) + "]"
    return json.dumps(value, default=str)


def shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    if value is None:
        return "nothing"
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _model_near(loc: Loc, model: type[BaseModel]) -> type[BaseModel]:
    """Return the model that a key belongs to, the last of a path as pydantic gives it."""
    for key in loc[:-1]:
        fields = model.model_fields
        inside = list(_models_in(fields[str(key)].annotation)) if key in fields else []
        tagged = [one for one in _models_in(CorpusEntry) if key == source_of(one)]
        model = next(iter(tagged or inside), model)
    return model


def _models_in(annotation: Any) -> Iterator[Any]:
    """Yield the pydantic models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
