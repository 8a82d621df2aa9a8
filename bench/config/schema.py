"""What a config may say, checked: each error starts with ``file:line:column``, names the key,
and says what to write instead. Reading the file is in `tokbench.bench.config.yaml_file`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from tokbench.bench import plugins
from tokbench.bench.config import sweeps
from tokbench.bench.config.corpora import CorpusEntry, corpus_models
from tokbench.bench.config.gate import Gate
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.resolve import spelled_out
from tokbench.bench.config.yaml_file import ConfigFile, Loc, read
from tokbench.bench.errors import ConfigError, PluginError
from tokbench.bench.markup import suggest

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+#-]*$", max_length=80)]
"""A name in a config: it becomes a file name and a table heading."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainEntry(_Strict):
    """Train a tokenizer on a corpus of this config before it is measured."""

    trainer: str = Field(description="Name of the trainer.")
    corpus: str = Field(description="Name of a corpus of this config.")
    languages: tuple[str, ...] | None = Field(
        None, description="Languages of the corpus to train on; by default all."
    )
    options: Mapping[str, Any] = Field({}, description="Options of the trainer.")


class RunConfig(_Strict):
    """What one run measures.

    `tokenizers`, `suites` and `reports` hold the options of plug-ins; `load_config` has validated
    them.
    """

    former: ClassVar[Mapping[str, str]] = {
        "special_tokens": "is gone: special tokens spelled in a corpus are always ordinary text; "
        "a tokenizer may have an option of that name",
    }

    name: Key = Field(
        description="Name of the run; its folder is `runs/NAME-1` and so on. Letters, digits and "
        "`._+#-`, at most 80."
    )
    description: str = Field("", description="One sentence, shown in the report.")
    seed: int = Field(
        0, description="Seed of the bootstrap and of the order in which tokenizers are timed."
    )
    corpora: Mapping[Key, CorpusEntry] = Field(min_length=1, description="Corpora by name.")
    tokenizers: Mapping[Key, Mapping[str, Any]] = Field(
        min_length=1, description="Tokenizers by name."
    )
    suites: Mapping[str, Mapping[str, Any]] = Field(
        {},
        description="Suites to compute: a list of names, or a map from name to options. By default "
        "efficiency, multilingual, information and fidelity.",
    )
    reports: Mapping[str, Mapping[str, Any]] = Field(
        {"markdown": {}},
        description="Reports to write into the run folder: a list of names, or a map from name to "
        "options.",
    )
    keep_ids: bool = Field(
        False,
        description="Store the ids of every document in `documents/`, and the bytes of every id in "
        "`vocabulary/`, so that `compare` can say why sizes moved. Large.",
    )
    lost_limit: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of lost bytes above which a tokenizer is shown but not ranked.",
    )
    resamples: int = Field(
        1000,
        ge=200,
        le=20_000,
        description="Bootstrap resamples behind every interval, 200 to 20,000.",
    )
    limits: Limits = Field(
        Limits(), description="Time and memory that one worker process may take."
    )
    gate: Gate = Field(Gate(), description="What `compare` and `pytest --tokbench-gate` let move.")

    @field_validator("suites", "reports", mode="before")
    @classmethod
    def _list_of_names(cls, value: Any) -> Any:
        """Allow `suites: [efficiency]` beside `suites: {efficiency: {}}`, and so for reports."""
        if isinstance(value, list) and all(isinstance(name, str) for name in value):
            return {name: {} for name in value}
        if isinstance(value, Mapping):
            return {name: {} if options is None else options for name, options in value.items()}
        return value


@dataclass(frozen=True, kw_only=True)
class Config:
    """A validated config, the plug-ins it names, and where it came from."""

    run: RunConfig
    tokenizers: Mapping[str, plugins.TokenizerPlugin | TrainEntry]
    suites: Mapping[str, plugins.SuitePlugin]
    path: str
    """As the user wrote it."""
    folder: Path
    """Where relative paths in it start."""
    overrides: tuple[str, ...] = ()
    """The `--set` values that were applied to it."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """The key that each tokenizer stands below in the file: a sweep gives several for one."""
    homes: Mapping[str, Path] = field(default_factory=dict)
    """Where relative paths of a tokenizer start, of those that are not from the file."""

    def canonical(self) -> dict[str, Any]:
        """The config as plain JSON values; equal configs give equal ones whatever their layout."""
        canonical: dict[str, Any] = self.run.model_dump(mode="json")
        return canonical

    def sha256(self) -> str:
        """Hash of the canonical config."""
        text = json.dumps(self.canonical(), sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()


DEFAULT_SUITES = ("efficiency", "multilingual", "information", "fidelity")


def load_config(
    source: str | Path | Mapping[str, Any],
    *,
    overrides: Sequence[str] = (),
    shown: str | None = None,
    folder: Path | None = None,
) -> Config:
    """Read and validate a config: a file, or the same as a mapping of plain values.

    `overrides` are ``a.b=value`` settings, the value written as in YAML; `shown` is the name that
    results and messages use. Relative paths start from `folder`: by default that of the file, and
    the working folder for a mapping. Raises `ConfigError` with every mistake found, one a line.
    """
    where = read(source, overrides)
    plain = where.values()
    problems: list[str] = []
    folder = (folder or (Path() if where.is_mapping else Path(where.path).parent)).resolve()
    named, unknown = spelled_out(plain.get("tokenizers"), folder)
    problems += [f"{where.at(('tokenizers', place))}: {said}" for place, said in unknown]
    expanded, origins = sweeps.expand(named, where, problems)
    if "tokenizers" in plain:  # where each name is unknown, that is what is wrong, not an empty map
        plain = {**plain, "tokenizers": expanded or ({"unknown": {}} if unknown else expanded)}
    run = _run_config(plain, where, problems)
    entries = _tokenizers(_mappings(expanded), origins, where, problems)
    suites = _suites(_mappings(RunConfig._list_of_names(plain.get("suites"))), where, problems)
    reports = _mappings(RunConfig._list_of_names(plain.get("reports")))
    _check_reports(reports, where, problems)
    if run is not None:
        _check_corpora(run, entries, origins, where, problems)
    if run is None or problems:
        raise ConfigError("\n".join(dict.fromkeys(problems)))  # a sweep says the same n times
    return Config(
        run=run,
        tokenizers=entries,
        suites=suites,
        path=_readable(shown or where.path),
        folder=folder,
        overrides=tuple(overrides),
        origins=origins,
    )


M = TypeVar("M", bound=BaseModel)


def load_options(path: str | Path, model: type[M]) -> M:
    """Read a YAML file that holds the options of one thing, such as a cost model.

    Raises `ConfigError` with file, line and column of every mistake.
    """
    where = read(path, ())
    try:
        return model.model_validate(where.values())
    except ValidationError as exc:
        raise ConfigError(_explain(where, exc, (), model)) from exc


def _readable(path: str) -> str:
    """Return a path that can be stored as UTF-8, whatever bytes a file name is made of."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _explain(where: ConfigFile, error: ValidationError, prefix: Loc, model: Any) -> str:
    lines = []
    for item in error.errors():
        loc = where.real(prefix, item["loc"], missing=item["type"] == "missing")
        if item["type"] == "union_tag_invalid":
            loc = (*loc, "source")
        lines.append(f"{where.at(loc)}: {_advice(item, model, where.spelled(loc))}")
    return "\n".join(lines)


def _advice(item: Any, model: Any, spelled: str | None) -> str:
    kind, given = item["type"], item.get("input")
    if kind == "text_expected":
        what = "nothing" if given is None else type(given).__name__
        value = given if spelled is None else spelled
        return f'this must be text, not {what}; write it in quotes: "{value}"'
    if kind == "union_tag_not_found":
        return f"needs `source: {'|'.join(map(_tag, corpus_models()))}`"
    if kind == "union_tag_invalid":
        tag = str(item["ctx"]["tag"])
        return f"there is no {tag!r}{suggest(tag, map(_tag, corpus_models()))}"
    if kind == "extra_forbidden":
        near, key = _model_near(item["loc"], model), str(item["loc"][-1])
        former = getattr(near, "former", {})
        return former.get(key) or f"unknown key{suggest(key, near.model_fields)}"
    if kind == "missing":
        return "is missing"
    if kind in ("corpus", "twice", "sample", "trust_remote_code", "value_error"):
        return str(item["msg"]).removeprefix("Value error, ")
    if kind == "string_type":
        return f"must be text, got {_shown(given)}; write it in quotes if it is meant as text"
    return f"{item['msg']}, got {_shown(given)}" if given is not None else str(item["msg"])


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _model_near(loc: Loc, model: Any) -> Any:
    """Return the model that an unknown key was meant for."""
    for key in loc[:-1]:
        inside = _models_in(model.model_fields[key].annotation) if key in model.model_fields else []
        tagged = [m for m in _models_in(CorpusEntry) if key == _tag(m)]
        model = next(iter(tagged or inside), model)
    return model


def _models_in(annotation: Any) -> list[Any]:
    """Return the pydantic models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in get_args(annotation) for m in _models_in(part)]


def _tag(model: Any) -> str:
    return str(get_args(model.model_fields["source"].annotation)[0])


def _run_config(plain: Any, where: ConfigFile, problems: list[str]) -> RunConfig | None:
    try:
        return RunConfig.model_validate(plain)
    except ValidationError as exc:
        problems.append(_explain(where, exc, (), RunConfig))
        return None


def _mappings(value: Any) -> dict[str, dict[str, Any]]:
    """Return the entries that are mappings; what else is there is no entry, and told as such."""
    if not isinstance(value, Mapping):
        return {}
    return {key: dict(entry) for key, entry in value.items() if isinstance(entry, Mapping)}


def _tokenizers(
    raw_entries: Mapping[str, dict[str, Any]],
    origins: Mapping[str, str],
    where: ConfigFile,
    problems: list[str],
) -> dict[str, plugins.TokenizerPlugin | TrainEntry]:
    entries: dict[str, plugins.TokenizerPlugin | TrainEntry] = {}
    for key, raw in raw_entries.items():
        try:
            entries[key] = _tokenizer(dict(raw), ("tokenizers", origins[key]), where)
        except ConfigError as exc:
            problems.append(str(exc))
    return entries


def _tokenizer(
    raw: dict[str, Any], loc: Loc, where: ConfigFile
) -> plugins.TokenizerPlugin | TrainEntry:
    if "train" in raw:
        return _train_entry(raw, loc, where)
    kind = raw.pop("type", None)
    known = plugins.names(plugins.TokenizerPlugin)
    if not isinstance(kind, str):
        raise ConfigError(f"{where.at(loc)}: needs `type: {'|'.join(known)}` or a `train:` block")
    return _plugin(plugins.TokenizerPlugin, kind, raw, loc, where, at=(*loc, "type"))


def load_entry(entry: Mapping[str, Any]) -> plugins.TokenizerPlugin:
    """Validate the entry of one tokenizer on its own, as a config would.

    Raises `ConfigError`; also for a `train:` block, which takes a config with its corpus.
    """
    where = read({"tokenizer": entry})
    found = _tokenizer(dict(where.values()["tokenizer"]), ("tokenizer",), where)
    if isinstance(found, TrainEntry):
        raise ConfigError(
            f"{where.at(('tokenizer', 'train'))}: needs a config that has its corpus; "
            "train it with `tokbench.run` or `tokbench train`"
        )
    return found


def _train_entry(raw: dict[str, Any], loc: Loc, where: ConfigFile) -> TrainEntry:
    if set(raw) != {"train"} or not isinstance(raw["train"], Mapping):
        raise ConfigError(f"{where.at(loc)}: an entry with `train:` holds nothing else")
    block = dict(raw["train"])
    common = {key: block.pop(key) for key in ("trainer", "corpus", "languages") if key in block}
    try:
        entry = TrainEntry.model_validate({**common, "options": block})
    except ValidationError as exc:
        raise ConfigError(_explain(where, exc, (*loc, "train"), TrainEntry)) from exc
    at = (*loc, "train")
    _plugin(plugins.TrainerPlugin, entry.trainer, block, at, where, at=(*at, "trainer"))
    return entry


def _suites(
    chosen: Mapping[str, dict[str, Any]], where: ConfigFile, problems: list[str]
) -> dict[str, plugins.SuitePlugin]:
    suites: dict[str, plugins.SuitePlugin] = {}
    for name, options in (chosen or {name: {} for name in DEFAULT_SUITES}).items():
        loc = _place(where, "suites", name)
        try:
            suites[name] = _plugin(plugins.SuitePlugin, name, options, loc, where, at=loc)
        except ConfigError as exc:
            problems.append(str(exc))
    return suites


def _plugin(
    kind: type[plugins.P],
    name: str,
    options: Mapping[str, Any],
    loc: Loc,
    where: ConfigFile,
    at: Loc,
) -> plugins.P:
    known = plugins.names(kind)
    if name not in known:
        raise ConfigError(f"{where.at(at)}: there is no {name!r}{suggest(name, known)}")
    try:
        model = plugins.find(kind, name)
    except PluginError as exc:
        raise ConfigError(f"{where.at(at)}: {exc}") from exc
    try:
        return model.model_validate(options)
    except ValidationError as exc:
        raise ConfigError(_explain(where, exc, loc, model)) from exc


def _check_corpora(
    run: RunConfig,
    entries: Mapping[str, plugins.TokenizerPlugin | TrainEntry],
    origins: Mapping[str, str],
    where: ConfigFile,
    problems: list[str],
) -> None:
    """Name each `train:` block whose text is not in the config."""
    for key, entry in entries.items():
        if not isinstance(entry, TrainEntry):
            continue
        loc: Loc = ("tokenizers", origins[key], "train")
        if entry.corpus not in run.corpora:
            hint = suggest(entry.corpus, run.corpora)
            at = where.at((*loc, "corpus"))
            problems.append(f"{at}: there is no corpus {entry.corpus!r}{hint}")
            continue
        known = run.corpora[entry.corpus].options()
        for position, language in enumerate(entry.languages or ()):
            if language not in known:
                at = where.at((*loc, "languages", position))
                hint = suggest(language, known)
                problems.append(f"{at}: corpus {entry.corpus} has no language {language!r}{hint}")


def _place(where: ConfigFile, section: str, name: str) -> Loc:
    """Return where a name stands in a section that is a list of names or a map by name."""
    listed = where.document.get(section)
    inside = isinstance(listed, list) and name in listed
    return (section, listed.index(name) if inside else name)


def _check_reports(
    chosen: Mapping[str, dict[str, Any]], where: ConfigFile, problems: list[str]
) -> None:
    """Name each report that cannot be written: unknown, or with options that are wrong or missing."""
    for name, options in chosen.items():
        loc = _place(where, "reports", name)
        try:
            _plugin(plugins.ReportOptions, name, options, loc, where, at=loc)
        except ConfigError as exc:
            problems.append(str(exc))
