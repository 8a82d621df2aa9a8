"""The keys of a config as tables for its documentation, from the models alone.

A page holds ``<!-- generated: keys suite efficiency -->`` where the table of that model belongs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ByteSize
from pydantic.fields import FieldInfo

from tokbench.bench import plugins
from tokbench.bench.config.corpora import Corpus, corpus_models, source_of
from tokbench.bench.config.corpus_options import Join, LanguageOptions, Limit, Reservoir
from tokbench.bench.config.gate import Gate, Rule, SpeedLimits
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.schema import RunConfig, TrainEntry
from tokbench.bench.markup import markdown_table
from tokbench.bench.results.report import ReportPlugin

Model = type[BaseModel]
Keys = Mapping[str, FieldInfo]

_FIXED: Mapping[str, Model] = {
    "top level": RunConfig,
    "limits": Limits,
    "gate": Gate,
    "gate rule": Rule,
    "gate speed": SpeedLimits,
    "corpus": Corpus,
    "language": LanguageOptions,
    "limit": Limit,
    "sample": Reservoir,
    "join": Join,
}
_PLUGINS: Mapping[str, type[plugins.Plugin]] = {
    "type": plugins.TokenizerPlugin,
    "trainer": plugins.TrainerPlugin,
    "suite": plugins.SuitePlugin,
    "report": ReportPlugin,
}


def tables() -> dict[str, str]:
    """Return every table by its subject, such as ``keys limits`` or ``keys suite efficiency``.

    Plug-ins without options have none.
    """
    return {f"keys {what}": _table(keys) for what, keys in _all_keys() if keys}


def _all_keys() -> Iterator[tuple[str, Keys]]:
    for what, model in _FIXED.items():
        yield what, model.model_fields
    yield "train", _without(TrainEntry, ["options"])
    for source in corpus_models():
        yield f"source {source_of(source)}", _without(source, ["source", *Corpus.model_fields])
    for kind, plugin in _PLUGINS.items():
        for name in plugins.names(plugin):
            yield f"{kind} {name}", plugins.find(plugin, name).model_fields


def _without(model: Model, names: Sequence[str]) -> Keys:
    return {name: field for name, field in model.model_fields.items() if name not in names}


def _table(keys: Keys) -> str:
    rows = [
        [f"`{name}`", _default(field), (field.description or "").replace("|", r"\|")]
        for name, field in keys.items()
    ]
    return markdown_table(["key", "default", "meaning"], rows, left=3)


def _default(field: FieldInfo) -> str:
    """Return a default as YAML writes it; a description if it is not a plain value.

    >>> _default(FieldInfo(default=("batch",))), _default(FieldInfo(default=ByteSize(8 * 10**9)))
    ('`["batch"]`', '`8 GB`')
    >>> _default(FieldInfo(default=None)), _default(FieldInfo(annotation=int))
    ('none', 'required')
    """
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "none"
    if isinstance(default, BaseModel):
        return "see below"
    return f"`{_plain(default)}`"


def _plain(default: object) -> str:
    if isinstance(default, str) and default:
        return default
    if isinstance(default, ByteSize):
        return default.human_readable(decimal=True, separator=" ").replace(".0 ", " ")
    if isinstance(default, float) and default.is_integer() and abs(default) >= 10:
        return str(int(default))
    return json.dumps(
        dict(default) if isinstance(default, Mapping) else default, ensure_ascii=False
    )
