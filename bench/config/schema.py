"""The models of a config: each error starts with ``file:line:column``, names the key, and says what to write instead.

Reading the file is in `tokbench.bench.config.yaml_file`, the words of the errors in
`tokbench.bench.config.advice`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from tokbench.bench import plugins
from tokbench.bench.config import sweeps
from tokbench.bench.config.advice import explain, in_yaml
from tokbench.bench.config.corpora import CorpusEntry
from tokbench.bench.config.display import display_mistakes, file_name_mistakes
from tokbench.bench.config.gate import Gate
from tokbench.bench.config.languages import near_key
from tokbench.bench.config.limits import Limits
from tokbench.bench.config.mistakes import Mistake, error
from tokbench.bench.config.resolve import resolve, spelled_out
from tokbench.bench.config.suggestions import (
    KINDS,
    meant_by,
    suggest,
    suite_of_metric,
)
from tokbench.bench.config.yaml_file import ConfigFile, Loc, read
from tokbench.bench.errors import PluginError, TokenizerError, UsageError

Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+#-]*$", max_length=80)]
"""A name in a config: it becomes a file name and a table heading."""


BUNDLED_TEXTS = 4
"""Documents of each language of bundled text that a run stores by default."""


def _by_name(value: Any) -> Any:
    """Return names with their options, from a list of names or a map with empty values."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return {name: {} for name in value}
    if isinstance(value, Mapping):
        return {name: {} if options is None else options for name, options in value.items()}
    return value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TrainEntry(_Strict):
    """Train a tokenizer on a corpus of this config before it is measured."""

    trainer: str = Field(description="Name of the trainer.")
    corpus: str = Field(description="Name of a corpus of this config.")
    languages: tuple[str, ...] | None = Field(
        None, description="Languages of the corpus to train on; by default all."
    )
    balance: Literal["bytes", "languages", "premium"] | None = Field(
        None,
        description="See the text of smaller languages more often: until all have the same "
        "`bytes`, or as many documents (`languages`), or by the `premium` that each pays under a "
        "tokenizer trained without (parallel corpora only).",
    )
    options: Mapping[str, Any] = Field({}, description="Options of the trainer.")


class RunConfig(_Strict):
    """What one run measures.

    `tokenizers`, `suites` and `reports` hold the options of plug-ins; `load_config` has validated
    them.
    """

    former: ClassVar[Mapping[str, str]] = {
        "special_tokens": "was removed: special tokens spelled in a corpus are always ordinary text; see the tokenizer's option of that name",
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
        {"markdown": {}, "html": {}},
        description="Reports to write into the run folder: a list of names, or a map from name to "
        "options.",
    )
    keep_ids: bool = Field(
        False,
        description="Store the ids of every document in `documents/`, and the bytes of every id in "
        "`vocabulary/`, so that `compare` can explain changed sizes. Large.",
    )
    texts: Annotated[int, Field(ge=0)] | Mapping[Key, Annotated[int, Field(ge=0)]] | None = Field(
        None,
        description="Documents of each language whose text and tokens are stored in `segments/`, "
        "for "
        "the page to show: a number, or one for each corpus by name. By default 4 of bundled text "
        "and none of other text, because corpora have licences.",
    )
    focus: Mapping[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        {},
        description="Languages that matter, each with its share: `{hin_Deva: 0.6, eng_Latn: 0.4}`. "
        "Reports answer for this mix first. One corpus must have them all.",
    )
    lost_limit: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of lost bytes above which values that depend on the token count, such "
        "as "
        "the premium, are refused.",
    )
    rank_lost_limit: float = Field(
        0.001,
        ge=0,
        le=1,
        description="Share of lost bytes above which a tokenizer is not ranked. At most "
        "`lost_limit`.",
    )
    resamples: int = Field(
        1000,
        ge=200,
        le=20_000,
        description="Bootstrap resamples behind every interval, 200 to 20,000.",
    )
    limits: Limits = Field(Limits(), description="Time and memory limits of one worker process.")
    gate: Gate = Field(
        Gate(), description="Changes that `compare` and `pytest --tokbench-gate` allow."
    )

    @field_validator("rank_lost_limit")
    @classmethod
    def _at_most_lost_limit(cls, limit: float, info: ValidationInfo) -> float:
        most = info.data.get("lost_limit", 1.0)
        if limit > most:
            raise ValueError(f"must be at most lost_limit ({most:g})")
        return limit

    @property
    def rank_limit(self) -> float:
        """`rank_lost_limit`, lowered to a `lost_limit` that is below its default."""
        return min(self.rank_lost_limit, self.lost_limit)

    def texts_of(self, corpus: str) -> int:
        """Return how many documents of each language of a corpus are stored with their text."""
        if isinstance(self.texts, Mapping):
            return self.texts.get(corpus, self._texts_by_default(corpus))
        return self._texts_by_default(corpus) if self.texts is None else self.texts

    def _texts_by_default(self, corpus: str) -> int:
        return BUNDLED_TEXTS if self.corpora[corpus].source == "builtin" else 0

    @field_validator("suites", "reports", mode="before")
    @classmethod
    def _list_of_names(cls, value: Any) -> Any:
        """Allow `suites: [efficiency]` beside `suites: {efficiency: {}}`, and so for reports."""
        if isinstance(value, str):
            raise PydanticCustomError("list", "write a list: [{name}]", {"name": value})
        return _by_name(value)


@dataclass(frozen=True, kw_only=True)
class Config:
    """A validated config, the plug-ins that it names, and its origin."""

    run: RunConfig
    tokenizers: Mapping[str, plugins.TokenizerPlugin | TrainEntry]
    suites: Mapping[str, plugins.SuitePlugin]
    path: str
    """As the user wrote it."""
    folder: Path
    """Folder that relative paths in it start from."""
    overrides: tuple[str, ...] = ()
    """The `--set` values that were applied to it."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Key of each tokenizer in the file: the tokenizers of a sweep share one."""
    homes: Mapping[str, Path] = field(default_factory=dict)
    """Folders that relative paths of tokenizers start from that are not from the file."""
    file: ConfigFile | None = field(default=None, compare=False, repr=False)
    """The file as it was read, for places in messages; None without a file."""

    def canonical(self) -> dict[str, Any]:
        """The config as plain JSON values; equal configs give equal values in any layout."""
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
    the working folder for a mapping. Raises `ConfigError` with every mistake found, one a line, in
    the order of the file.
    """
    where = read(source, overrides)
    checker = _Checker(where)
    plain = where.values()
    folder = (folder or (Path() if where.is_mapping else Path(where.path).parent)).resolve()
    named = checker.named(plain.get("tokenizers"), folder)
    expanded, origins = sweeps.expand(named, where, checker.mistakes)
    if "tokenizers" in plain:  # where each name is unknown, that is what is wrong, not an empty map
        plain["tokenizers"] = expanded or ({"unknown": {}} if checker.mistakes else expanded)
    run = checker.run_config(plain)
    entries = checker.tokenizers(_mappings(expanded), origins)
    suites = checker.suites(_mappings(_by_name(plain.get("suites"))))
    checker.reports(_mappings(_by_name(plain.get("reports"))))
    if run is not None:
        checker.train_blocks(run, entries, origins)
        checker.mistakes += display_mistakes(where, run)
        checker.mistakes += file_name_mistakes(where, "corpora", {key: key for key in run.corpora})
    checker.mistakes += file_name_mistakes(where, "tokenizers", origins)
    if run is None or checker.mistakes:
        raise error(checker.mistakes)
    return Config(
        run=run,
        tokenizers=entries,
        suites=suites,
        path=_readable(shown or where.path),
        folder=folder,
        overrides=tuple(overrides),
        origins=origins,
        file=where,
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
        raise error(explain(where, exc, (), model)) from exc


def _readable(path: str) -> str:
    """Return a path that can be stored as UTF-8, for any bytes in a file name."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _mappings(value: Any) -> dict[str, dict[str, Any]]:
    """Return the entries that are mappings; the models report the others as mistakes."""
    if not isinstance(value, Mapping):
        return {}
    return {key: dict(entry) for key, entry in value.items() if isinstance(entry, Mapping)}


class _Checker:
    """Validates the parts of a config, and collects their mistakes."""

    def __init__(self, where: ConfigFile) -> None:
        self._where = where
        self.mistakes: list[Mistake] = []

    def _add(self, loc: Loc, text: str, *, on: str = "value") -> None:
        self.mistakes.append(self._where.mistake(loc, text, on=on))

    def _validated(self, model: type[M], value: Any, loc: Loc) -> M | None:
        try:
            return model.model_validate(value)
        except ValidationError as exc:
            self.mistakes += explain(self._where, exc, loc, model)
            return None

    def run_config(self, plain: Any) -> RunConfig | None:
        """Return the config's own keys; None if one is wrong."""
        return self._validated(RunConfig, plain, ())

    def named(self, tokenizers: Any, folder: Path) -> Any:
        """Return the tokenizers with names in place of entries spelled out."""
        entries, unknown = spelled_out(tokenizers, folder)
        for place, text in unknown:
            self._add(("tokenizers", place), text)
        return entries

    def tokenizers(
        self, entries: Mapping[str, dict[str, Any]], origins: Mapping[str, str]
    ) -> dict[str, plugins.TokenizerPlugin | TrainEntry]:
        """Return the entries that are right."""
        found = {
            key: self.tokenizer(dict(raw), ("tokenizers", origins[key]))
            for key, raw in entries.items()
        }
        return {key: entry for key, entry in found.items() if entry is not None}

    def tokenizer(
        self, raw: dict[str, Any], loc: Loc
    ) -> plugins.TokenizerPlugin | TrainEntry | None:
        """Return one validated entry; None if it is wrong."""
        if "train" in raw:
            return self._train_entry(raw, loc)
        kind = raw.pop("type", None)
        if not isinstance(kind, str):
            known = "|".join(plugins.names(plugins.TokenizerPlugin))
            self._add(loc, f"needs `type: {known}` or a `train:` block", on="key")
            return None
        return self._plugin(plugins.TokenizerPlugin, kind, raw, loc, at=(*loc, "type"))

    def _train_entry(self, raw: dict[str, Any], loc: Loc) -> TrainEntry | None:
        if set(raw) != {"train"} or not isinstance(raw["train"], Mapping):
            self._add(loc, "an entry with `train:` cannot have other keys", on="key")
            return None
        block, at = dict(raw["train"]), (*loc, "train")
        common = {
            key: block.pop(key)
            for key in ("trainer", "corpus", "languages", "balance")
            if key in block
        }
        entry = self._validated(TrainEntry, {**common, "options": block}, at)
        if entry is None:
            return None
        kind = plugins.TrainerPlugin
        options = self._plugin(kind, entry.trainer, block, at, at=(*at, "trainer"))
        return entry if options is not None else None

    def suites(self, chosen: Mapping[str, dict[str, Any]]) -> dict[str, plugins.SuitePlugin]:
        """Return the valid suites, of those requested or by default."""
        found = {}
        for name, options in (chosen or {name: {} for name in DEFAULT_SUITES}).items():
            loc = ("suites", name)
            suite = self._plugin(plugins.SuitePlugin, name, options, loc, at=loc)
            if suite is not None:
                found[name] = suite
        return found

    def reports(self, chosen: Mapping[str, dict[str, Any]]) -> None:
        """Add the mistakes of reports: unknown names, and options that are wrong or missing."""
        for name, options in chosen.items():
            loc = ("reports", name)
            self._plugin(plugins.ReportOptions, name, options, loc, at=loc)

    def _plugin(
        self, kind: type[plugins.P], name: str, options: Mapping[str, Any], loc: Loc, *, at: Loc
    ) -> plugins.P | None:
        """Return a plug-in with its options; `at` is where it is named."""
        on = "value" if at != loc else "key"
        known = plugins.names(kind)
        if name not in known:
            self._add(at, f"unknown name {name!r}{_meant(kind, name, known)}", on=on)
            return None
        try:
            model = plugins.find(kind, name)
        except PluginError as exc:
            self._add(at, str(exc), on=on)
            return None
        return self._validated(model, options, loc)

    def train_blocks(
        self,
        run: RunConfig,
        entries: Mapping[str, plugins.TokenizerPlugin | TrainEntry],
        origins: Mapping[str, str],
    ) -> None:
        """Add each `train:` block whose text is not in the config."""
        for key, entry in entries.items():
            if not isinstance(entry, TrainEntry):
                continue
            loc: Loc = ("tokenizers", origins[key], "train")
            if entry.corpus not in run.corpora:
                hint = suggest(entry.corpus, run.corpora)
                self._add((*loc, "corpus"), f"unknown corpus {entry.corpus!r}{hint}")
                continue
            if entry.balance == "premium" and not run.corpora[entry.corpus].parallel:
                text = f"`premium` requires parallel text, and corpus {entry.corpus} has no "
                self._add((*loc, "balance"), text + "`parallel: true`; take bytes or languages")
            known = run.corpora[entry.corpus].options()
            for position, language in enumerate(entry.languages or ()):
                if language not in known:
                    text = f"corpus {entry.corpus} has no language {language!r}"
                    hint = near_key(language, known, kind=run.corpora[entry.corpus].kind)
                    self._add((*loc, "languages", position), text + hint)


def _meant(kind: type[plugins.Plugin], name: str, known: Sequence[str]) -> str:
    """Return a suggestion for an unknown name."""
    if kind is plugins.SuitePlugin and (suite := suite_of_metric(name)) is not None:
        return f"; it is a metric of the suite {suite!r}"
    if kind is plugins.TokenizerPlugin and not meant_by(name, known, KINDS):
        with suppress(UsageError, TokenizerError):
            return f"; did you mean {in_yaml(dict(resolve(name, Path()).entry))}?"
        hints = (
            plugins.find(plugins.FinderPlugin, one)().hints(name)
            for one in plugins.names(plugins.FinderPlugin)
        )
        if hint := next(filter(None, hints), None):
            return f"; {hint}?"
    return suggest(name, known)


def load_entry(entry: Mapping[str, Any]) -> plugins.TokenizerPlugin:
    """Validate the entry of one tokenizer on its own, as a config would.

    Raises `ConfigError`; also for a `train:` block, which takes a config with its corpus.
    """
    where = read({"tokenizer": entry})
    checker = _Checker(where)
    found = checker.tokenizer(dict(where.values()["tokenizer"]), ("tokenizer",))
    if isinstance(found, TrainEntry):
        text = (
            "requires a config that has its corpus; train it with `tokbench.run` or `tokbench "
            "train`"
        )
        raise error([where.mistake(("tokenizer", "train"), text, on="key")])
    if found is None:
        raise error(checker.mistakes)
    return found
