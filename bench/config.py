"""The YAML config: read, located, validated.

Reading keeps the line and column of every value, so that each error starts with
``file:line:column``, names the key, and says what to write instead. YAML is version 1.2 (``no``
is text, not false) and is data only: nothing in it is ever run.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError

from bench import plugins
from bench.corpora import CorpusEntry
from bench.errors import ConfigError, PluginError

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+#-]*$", max_length=80)]
"""A name in a config: it becomes a file name and a table heading."""

Loc = tuple[int | str, ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainEntry(_Strict):
    """Train a tokenizer on a corpus of this config before it is measured."""

    trainer: str
    corpus: str
    languages: tuple[str, ...] | None = None
    options: Mapping[str, Any] = {}


class RunConfig(_Strict):
    """What one run measures.

    `tokenizers` and `suites` hold the options of plug-ins; `load_config` has validated them.
    """

    name: Key
    description: str = ""
    seed: int = 0
    corpora: Mapping[Key, CorpusEntry] = Field(min_length=1)
    tokenizers: Mapping[Key, Mapping[str, Any]] = Field(min_length=1)
    suites: Mapping[str, Mapping[str, Any]] = {}
    reports: tuple[str, ...] = ("markdown",)
    keep_ids: bool = False
    lost_limit: float = Field(default=0.1, ge=0, le=1)
    """Share of lost bytes above which a tokenizer is shown but never ranked."""
    resamples: int = Field(default=1000, ge=200, le=20_000)
    """Bootstrap resamples behind every interval."""
    special_tokens: Literal["text"] = "text"
    """Special tokens spelled in a corpus are ordinary text, for every tokenizer alike."""

    @field_validator("suites", mode="before")
    @classmethod
    def _list_of_names(cls, value: Any) -> Any:
        """Allow `suites: [efficiency]` beside `suites: {efficiency: {}}`."""
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
    path: str | Path, *, overrides: Sequence[str] = (), shown: str | None = None
) -> Config:
    """Read and validate a config file.

    `overrides` are ``a.b=value`` settings, the value written as in YAML; `shown` is the name that
    results and messages use. Raises `ConfigError` with every mistake found, one a line.
    """
    document = _read(path)
    for override in overrides:
        _override(document, override)
    where = _Where(path=str(path), document=document)
    try:
        run = RunConfig.model_validate(_plain(document))
    except ValidationError as exc:
        raise ConfigError(where.explain(exc, ())) from exc
    problems: list[str] = []
    entries = _tokenizers(run, where, problems)
    suites = _suites(run, where, problems)
    _check_names(run, entries, where, problems)
    if problems:
        raise ConfigError("\n".join(problems))
    return Config(
        run=run,
        tokenizers=entries,
        suites=suites,
        path=shown or str(path),
        folder=Path(path).resolve().parent,
    )


M = TypeVar("M", bound=BaseModel)


def load_options(path: str | Path, model: type[M]) -> M:
    """Read a YAML file that holds the options of one thing, such as a cost model.

    Raises `ConfigError` with file, line and column of every mistake.
    """
    document = _read(path)
    try:
        return model.model_validate(_plain(document))
    except ValidationError as exc:
        where = _Where(path=str(path), document=document)
        raise ConfigError(where.explain(exc, (), model)) from exc


def _read(path: str | Path) -> CommentedMap:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path}: is not UTF-8 (byte {exc.start}); save it as UTF-8") from exc
    try:
        document = YAML(typ="rt").load(text)
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        at = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
        raise ConfigError(f"{at}: not valid YAML: {exc.problem or exc.context}") from exc
    except Exception as exc:  # ruamel raises plain ValueError and others on odd scalars
        raise ConfigError(f"{path}: not valid YAML: {exc}") from exc
    if not isinstance(document, CommentedMap):
        raise ConfigError(
            f"{path}:1:1: the config must be a mapping with name, corpora, tokenizers"
        )
    return document


def _override(document: CommentedMap, override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {override}: write it as key.key=value")
    try:
        value = YAML(typ="rt").load(text) if text else ""
    except MarkedYAMLError as exc:
        raise ConfigError(f"--set {override}: the value is not valid YAML") from exc
    *parents, last = dotted.split(".")
    node: Any = document
    for parent in parents:
        if isinstance(node, CommentedMap) and node.get(parent) is None:
            node[parent] = CommentedMap()
        node = _child(node, parent, override)
    if isinstance(node, CommentedSeq) and last.isdigit() and int(last) < len(node):
        node[int(last)] = value
    elif isinstance(node, CommentedMap):
        node[last] = value
    else:
        raise ConfigError(f"--set {override}: there is no place {dotted} in the config")


def _child(node: Any, key: str, override: str) -> Any:
    if isinstance(node, CommentedMap):
        return node[key]
    if isinstance(node, CommentedSeq) and key.isdigit() and int(key) < len(node):
        return node[int(key)]
    raise ConfigError(f"--set {override}: there is nothing below {key!r} in the config")


def _plain(node: Any) -> Any:
    """Turn ruamel's node types into the plain ones that pydantic knows."""
    if isinstance(node, Mapping):
        return {_plain(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(value) for value in node]
    for plain in (bool, int, float, str):
        if isinstance(node, plain):
            return plain(node)
    return node


@dataclass(frozen=True, kw_only=True)
class _Where:
    """Finds the line and column of a place in the config, and words errors there."""

    path: str
    document: CommentedMap

    def at(self, loc: Loc) -> str:
        line, column = self._position(loc)
        return f"{self.path}:{line + 1}:{column + 1}: {'.'.join(map(str, loc)) or 'config'}"

    def _position(self, loc: Loc) -> tuple[int, int]:
        node: Any = self.document
        position = (0, 0)
        for key in loc:
            try:
                if isinstance(node, CommentedMap) and key in node:
                    position = node.lc.key(key)
                elif isinstance(node, CommentedSeq) and isinstance(key, int):
                    position = node.lc.item(key)
                else:
                    continue  # a tag pydantic puts into the path, such as a union member
            except (KeyError, AttributeError, TypeError):
                return position  # set by --set: it has no place in the file
            node = node[key]
        return position

    def explain(self, error: ValidationError, prefix: Loc, model: Any = RunConfig) -> str:
        return "\n".join(
            f"{self.at((*prefix, *self._real(prefix, item['loc'])))}: {_advice(item, model)}"
            for item in error.errors()
        )

    def _real(self, prefix: Loc, loc: Loc) -> Loc:
        """Drop what pydantic adds to a path that is not in the file (union tags, '[key]')."""
        node: Any = self.document
        for key in prefix:
            node = node[key] if isinstance(node, Mapping) else None
        real: list[int | str] = []
        for position, key in enumerate(loc):
            inside = (isinstance(node, Mapping) and key in node) or (
                isinstance(node, list) and isinstance(key, int) and key < len(node)
            )
            if inside:
                real.append(key)
                node = node[key]
            elif position == len(loc) - 1 and key != "[key]":
                real.append(key)  # a missing key is named too
        return tuple(real)


def _advice(item: Any, model: Any) -> str:
    kind, given = item["type"], item.get("input")
    if kind == "extra_forbidden":
        known = _fields_near(item["loc"], model)
        return f"unknown key{suggest(str(item['loc'][-1]), known)}"
    if kind == "missing":
        return "is missing"
    if kind in ("corpus", "text_expected", "twice", "sample", "trust_remote_code", "value_error"):
        return str(item["msg"]).removeprefix("Value error, ")
    if kind == "string_type":
        return f"must be text, got {_shown(given)}; write it in quotes if it is meant as text"
    return f"{item['msg']}, got {_shown(given)}" if given is not None else str(item["msg"])


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields_near(loc: Loc, model: Any) -> list[str]:
    """Return the keys that are allowed where an unknown one was found."""
    for key in loc[:-1]:
        inside = _models_in(model.model_fields[key].annotation) if key in model.model_fields else []
        tagged = [m for m in _models_in(CorpusEntry) if key == _tag(m)]
        model = next(iter(tagged or inside), model)
    return list(model.model_fields)


def _models_in(annotation: Any) -> list[Any]:
    """Return the pydantic models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [m for part in get_args(annotation) for m in _models_in(part)]


def _tag(model: Any) -> str:
    return str(get_args(model.model_fields["source"].annotation)[0])


def suggest(word: str, known: Iterable[str]) -> str:
    """Return the end of an error sentence that helps with a word that is not known.

    >>> suggest("langages", ["languages", "limit"])
    "; did you mean 'languages'?"
    >>> suggest("x", ["languages", "limit"])
    '; there are: languages, limit'
    """
    known = sorted(known)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(known)}" if known else ""


def _tokenizers(
    run: RunConfig, where: _Where, problems: list[str]
) -> dict[str, plugins.TokenizerPlugin | TrainEntry]:
    entries: dict[str, plugins.TokenizerPlugin | TrainEntry] = {}
    for key, raw in run.tokenizers.items():
        try:
            entries[key] = _tokenizer(dict(raw), ("tokenizers", key), where)
        except ConfigError as exc:
            problems.append(str(exc))
    return entries


def _tokenizer(
    raw: dict[str, Any], loc: Loc, where: _Where
) -> plugins.TokenizerPlugin | TrainEntry:
    if "train" in raw:
        return _train_entry(raw, loc, where)
    kind = raw.pop("type", None)
    known = plugins.names(plugins.TokenizerPlugin)
    if not isinstance(kind, str):
        raise ConfigError(f"{where.at(loc)}: needs `type: {'|'.join(known)}` or a `train:` block")
    return _plugin(plugins.TokenizerPlugin, kind, raw, loc, where, at=(*loc, "type"))


def _train_entry(raw: dict[str, Any], loc: Loc, where: _Where) -> TrainEntry:
    if set(raw) != {"train"} or not isinstance(raw["train"], Mapping):
        raise ConfigError(f"{where.at(loc)}: an entry with `train:` holds nothing else")
    block = dict(raw["train"])
    common = {key: block.pop(key) for key in ("trainer", "corpus", "languages") if key in block}
    try:
        entry = TrainEntry.model_validate({**common, "options": block})
    except ValidationError as exc:
        raise ConfigError(where.explain(exc, (*loc, "train"), TrainEntry)) from exc
    at = (*loc, "train")
    _plugin(plugins.TrainerPlugin, entry.trainer, block, at, where, at=(*at, "trainer"))
    return entry


def _suites(run: RunConfig, where: _Where, problems: list[str]) -> dict[str, plugins.SuitePlugin]:
    chosen = run.suites or {name: {} for name in DEFAULT_SUITES}
    suites: dict[str, plugins.SuitePlugin] = {}
    for name, options in chosen.items():
        loc: Loc = ("suites", name)
        try:
            suites[name] = _plugin(
                plugins.SuitePlugin, name, dict(options or {}), loc, where, at=loc
            )
        except ConfigError as exc:
            problems.append(str(exc))
    return suites


def _plugin(
    kind: type[plugins.P], name: str, options: Mapping[str, Any], loc: Loc, where: _Where, at: Loc
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
        raise ConfigError(where.explain(exc, loc, model)) from exc


def _check_names(
    run: RunConfig,
    entries: Mapping[str, plugins.TokenizerPlugin | TrainEntry],
    where: _Where,
    problems: list[str],
) -> None:
    for key, entry in entries.items():
        if isinstance(entry, TrainEntry) and entry.corpus not in run.corpora:
            at = where.at(("tokenizers", key, "train", "corpus"))
            problems.append(
                f"{at}: there is no corpus {entry.corpus!r}{suggest(entry.corpus, run.corpora)}"
            )
    known = plugins.names(plugins.ReportPlugin)
    for position, name in enumerate(run.reports):
        if name not in known:
            at = where.at(("reports", position))
            problems.append(f"{at}: there is no {name!r}{suggest(name, known)}")
