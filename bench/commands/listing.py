"""What a config can name: plug-ins with their options, metrics, ready configs, the schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tokbench.bench import plugins
from tokbench.bench.config import bundled
from tokbench.bench.console import message
from tokbench.bench.errors import PluginError
from tokbench.bench.markup import table
from tokbench.bench.plugins import Plugin
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.workers.executors import ExecutorPlugin

Entry = dict[str, Any]


def entries(what: str) -> list[Entry]:
    """Return all entries of one kind, as plain values."""
    return _LISTS[what]()


def render(found: Sequence[Entry]) -> str:
    """Return entries as a plain-text table."""
    if not found:
        return "none"
    header = list(found[0])
    return table(header, [[str(entry[name]) for name in header] for entry in found])


def _plugins(kind: type[Plugin]) -> list[Entry]:
    found = []
    for name in plugins.names(kind):
        try:
            model = plugins.find(kind, name)
        except PluginError as exc:
            found.append({"name": name, "what": f"cannot be used: {exc}", "options": ""})
            continue
        summary = (model.__doc__ or "").strip().split("\n")[0]
        found.append({"name": name, "what": summary, "options": ", ".join(model.model_fields)})
    return found


def _corpora() -> list[Entry]:
    from tokbench.bench.config.corpora import BuiltinCorpus, Corpus, FilesCorpus, HuggingFaceCorpus

    sources: dict[str, type[Corpus]] = {
        "huggingface": HuggingFaceCorpus,
        "files": FilesCorpus,
        "builtin": BuiltinCorpus,
    }
    listed = [
        {
            "name": name,
            "what": (model.__doc__ or "").split("\n")[0],
            "options": ", ".join(model.model_fields),
        }
        for name, model in sources.items()
    ]
    for dataset in ("sentences", "programs"):
        keys = bundled.text_keys(dataset)
        what = f"builtin dataset in {len(keys)} languages"
        listed.append({"name": dataset, "what": what, "options": ", ".join(keys)})
    return listed


def _metrics() -> list[Entry]:
    found = []
    for name, suite in plugins.sound(plugins.SuitePlugin, message).items():
        for spec in suite.metrics:
            found.append(
                {
                    "name": spec.name,
                    "suite": name,
                    "unit": spec.unit,
                    "direction": spec.direction,
                    "lane": spec.lane,
                    "definition": spec.definition,
                }
            )
    return found


def _configs() -> list[Entry]:
    from ruamel.yaml import YAML

    found = []
    for name in bundled.config_names():
        document = YAML(typ="safe").load(bundled.config_path(name)) or {}
        found.append({"name": name, "what": str(document.get("description", ""))})
    return found


_LISTS: Mapping[str, Callable[[], list[Entry]]] = {
    "tokenizers": lambda: _plugins(plugins.TokenizerPlugin),
    "trainers": lambda: _plugins(plugins.TrainerPlugin),
    "suites": lambda: _plugins(plugins.SuitePlugin),
    "reports": lambda: _plugins(ReportPlugin),
    "segmenters": lambda: _plugins(plugins.SegmenterPlugin),
    "executors": lambda: _plugins(ExecutorPlugin),
    "corpora": _corpora,
    "metrics": _metrics,
    "configs": _configs,
}


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of a config, with the options of every installed plug-in."""
    from tokbench.bench.config.schema import RunConfig

    schema = RunConfig.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "tokbench config"
    name = {
        "type": "string",
        "description": "An encoding, a sample, a file or a Hub repository (owner/name).",
    }
    by_key = schema["properties"]["tokenizers"]
    by_key["additionalProperties"] = {
        "anyOf": [name, *_tokenizer_schemas(schema), _train_schema(schema)]
    }
    schema["properties"]["tokenizers"] = {
        "description": by_key.pop("description"),
        "anyOf": [by_key, {"type": "array", "items": name, "minItems": 1}],
    }
    for key, kind in (("suites", plugins.SuitePlugin), ("reports", plugins.ReportOptions)):
        what = schema["properties"][key]["description"]
        schema["properties"][key] = {"description": what, **_by_name(kind, schema)}
    return schema


def _by_name(kind: type[Plugin], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of plug-ins as a list of names, or as a map from name to options."""
    found = _options(kind, schema)
    bare = [name for name, options in found.items() if not options.get("required")]
    by_name: dict[str, Any] = {}
    for name, options in found.items():
        what = options.pop("description")
        shapes = [options, {"type": "null"}] if name in bare else [options]
        by_name[name] = {"description": what, "anyOf": shapes}
    return {
        "anyOf": [
            {"type": "array", "items": {"enum": bare}},
            {"type": "object", "additionalProperties": False, "properties": by_name},
        ]
    }


def _options(kind: type[Plugin], schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the schema of each plug-in's options; shared definitions move to the top."""
    found = {}
    for name, plugin in plugins.sound(kind, message).items():
        options = plugin.model_json_schema()
        schema.setdefault("$defs", {}).update(options.pop("$defs", {}))
        found[name] = options
    return found


def _tokenizer_schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for name, options in _options(plugins.TokenizerPlugin, schema).items():
        options["properties"] = {
            "type": _named(name, "Kind of tokenizer."),
            **options.get("properties", {}),
        }
        options["required"] = ["type", *options.get("required", [])]
        found.append(options)
    return found


def _named(name: str, description: str) -> dict[str, Any]:
    return {"const": name, "description": description}


def _train_schema(schema: dict[str, Any]) -> dict[str, Any]:
    from tokbench.bench.config.schema import TrainEntry

    common = TrainEntry.model_json_schema()["properties"]
    del common["options"]
    blocks = []
    for name, options in _options(plugins.TrainerPlugin, schema).items():
        options["properties"] = {
            **common,
            "trainer": _named(name, common["trainer"]["description"]),
            **options.get("properties", {}),
        }
        if (size := options["properties"].get("vocab_size")) is not None:
            sweep = {"type": "array", "items": size, "minItems": 1, "uniqueItems": True}
            what = size.pop("description", "")
            options["properties"]["vocab_size"] = {"description": what, "anyOf": [size, sweep]}
        options["required"] = ["trainer", "corpus", *options.get("required", [])]
        blocks.append(options)
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["train"],
        "properties": {
            "train": {
                "description": "Train the tokenizer on a corpus of this config before it is measured.",
                "anyOf": blocks,
            }
        },
    }
