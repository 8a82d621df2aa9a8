"""Corpus entries: what a config may say about a corpus, checked before anything is read.

An entry names one source (`huggingface`, `files` or `builtin`), the languages in it, and the
rules for which rows become documents. Reading is elsewhere; nothing here opens a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tokbench.bench import plugins
from tokbench.bench.config.corpus_options import (
    LANGUAGES_SCHEMA,
    Entry,
    Join,
    LanguageOptions,
    Limit,
    Reservoir,
    Text,
    spell_out_languages,
    spell_out_sample,
)
from tokbench.bench.config.languages import Language, near_key, resolve, resolve_all
from tokbench.bench.config.languages import problems as language_problems
from tokbench.bench.markup import did_you_mean
from tokbench.bench.model import Kind

_PLACEHOLDER = re.compile(r"\{(?!language\})\w+\}")

Problem = tuple[tuple[str, ...], str]
"""A key of an entry, from the entry down, and the mistake there."""


class Corpus(Entry):
    """What every source has in common."""

    kind: Kind = Field("natural", description="`natural` language or `code`.")
    language: Text | None = Field(None, description="Key of the language, if there is only one.")
    languages: Annotated[
        dict[str, LanguageOptions] | None,
        BeforeValidator(spell_out_languages),
        WithJsonSchema(LANGUAGES_SCHEMA),
    ] = Field(
        None,
        description="Several languages: a list of keys, or a map from key to config name, file or "
        "options.",
    )
    parallel: bool = Field(
        False, description="The same id is the same text in every language. Needed for premiums."
    )
    pivot: Text | None = Field(
        None, description="Language that premiums are relative to. Required when parallel."
    )
    missing_ids: Literal["refuse", "intersect"] = Field(
        "refuse",
        description="Where languages of a parallel corpus have different ids: `refuse` the "
        "premium, "
        "or `intersect` the ids.",
    )
    limit: Limit | None = Field(
        None,
        description="Limit of the sample: `{rows: N}`, `{bytes: N}` or both. Documents are never "
        "cut.",
    )
    sample: Annotated[
        Literal["all", "head"] | Reservoir | None, BeforeValidator(spell_out_sample)
    ] = Field(
        None,
        description="`all`; with a limit `head` (the default), `reservoir`, or "
        "`{method: reservoir, "
        "seed: N}`.",
    )
    join: Join | None = Field(
        None,
        description='Make the rows one document per language: `{rows: " ", end_of_split: "", '
        'splits: ""}` gives the text between rows, after each split or file, and '
        "between splits or files.",
    )
    text: Text = Field(
        "text",
        description="Column of the text; may contain `{language}`, and dots for nested columns, "
        "such as `translation.{language}`.",
    )
    id: Text | None = Field(
        None,
        description="Column of the id; by default the row number, prefixed by the split or file if "
        "there are several.",
    )
    cluster: Text | None = Field(
        None, description="Column that groups documents into clusters for intervals."
    )
    segmenters: dict[Text, Text] | None = Field(
        None,
        description="Segmenter of the words, by language, such as `{tha_Thai: thai}`: for languages "
        "without spaces between words. `tokbench list segmenters` names them (extra: `words`).",
    )
    weight: Text | None = Field(
        None,
        description="Column of whole numbers: how often training sees each row, as in a list of "
        "words with frequencies. Measuring counts each row once.",
    )
    missing: Literal["skip", "refuse"] = Field(
        "skip", description="Rows without a value: `skip` (and count) or `refuse`."
    )
    not_text: Literal["skip", "refuse"] = Field(
        "refuse", description="Rows whose text is a number or another type: `refuse` or `skip`."
    )
    where: dict[Text, Text] | None = Field(
        None,
        description="Take only rows with these values, by column, such as "
        "`{language_name: Python}`. A "
        "value may contain `{language}`; a language may have values of its own. The classes of a "
        'class column are given by name or by number (`"1"`).',
    )

    def options(self) -> Mapping[str, LanguageOptions]:
        """Return every language key with its options, in the order of the config."""
        if self.languages is not None:
            return self.languages
        return {} if self.language is None else {self.language: LanguageOptions()}

    def for_language(self, key: str) -> Self:
        """Return the entry with `text` and `where` as they are for one language."""
        options = self.options()[key]
        own = options.where or {}
        text = (options.text or self.text).replace("{language}", key)
        where = {
            column: value.replace("{language}", key)
            for column, value in {**(self.where or {}), **own}.items()
        }
        return self.model_copy(update={"text": text, "where": where or None})

    def resolved(self) -> dict[str, Language]:
        """Return the language of each key; raise `UsageError` for an unknown one."""
        return resolve_all(self._tags(), kind=self.kind)

    def resolved_key(self, key: str) -> Language:
        """Return what one of the language keys means; `UsageError` where it means nothing."""
        return resolve(key, kind=self.kind, tag=self.options()[key].tag)

    def _tags(self) -> dict[str, str | None]:
        return {key: options.tag for key, options in self.options().items()}

    @model_validator(mode="before")
    @classmethod
    def _no_remote_code(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and "trust_remote_code" in value:
            raise PydanticCustomError("trust_remote_code", NO_SCRIPTS)
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        found = [
            *self._source_problems(),
            *_language_problems(self),
            *_pivot_problems(self),
            *_segmenter_problems(self),
            *_sample_problems(self),
        ]
        if found:
            # the text may hold braces, which a message template would read as fields
            text = "; ".join(problem for _, problem in found)
            raise PydanticCustomError("corpus", "{text}", {"text": text, "found": found})
        return self

    def _rows_differ(self) -> bool:
        """Whether `where` gives each of several languages rows of its own, or `text` a column."""
        own = (self.for_language(key) for key in self.options())
        wanted = [str((one.text, one.where)) for one in own]
        return len(set(wanted)) == len(wanted)

    def _source_problems(self) -> Iterator[Problem]:
        """Yield what is wrong with the keys of this source."""
        yield from ()


NO_SCRIPTS = (
    "data sets with a loading script are not supported (the `datasets` library dropped them, and "
    "tokbench never runs code of a data set); use a Parquet version of the data set (often "
    "revision refs/convert/parquet) or `source: files`"
)


def _language_problems(entry: Corpus) -> Iterator[Problem]:
    if entry.language is not None and entry.languages is not None:
        yield ("language",), "give `language` or `languages`, not both"
        return
    if not entry.options() and not isinstance(entry, BuiltinCorpus):
        yield (
            (),
            ("`language` is missing; write `language: fr`, or `languages: [fr, de]` for several"),
        )
    tags = entry._tags()
    for key, problem in language_problems(tags, kind=entry.kind):
        place = ("language",) if entry.languages is None else ("languages", key)
        yield (*place, "tag") if tags[key] is not None else place, problem


def _pivot_problems(entry: Corpus) -> Iterator[Problem]:
    if entry.parallel and entry.pivot is None:
        yield (
            ("parallel",),
            "a parallel corpus requires a `pivot`, the language that premiums are relative to",
        )
    if not entry.parallel and (entry.pivot is not None or entry.missing_ids != "refuse"):
        key = "missing_ids" if entry.pivot is None else "pivot"
        yield (key,), "`pivot` and `missing_ids` require a parallel corpus; add `parallel: true`"
    if entry.options() and entry.pivot is not None and entry.pivot not in entry.options():
        hint = near_key(entry.pivot, entry.options(), kind=entry.kind)
        yield ("pivot",), f"pivot {entry.pivot!r} is not among the languages of this corpus{hint}"


def _segmenter_problems(entry: Corpus) -> Iterator[Problem]:
    known = plugins.names(plugins.SegmenterPlugin)
    if entry.segmenters and entry.kind == "code":
        yield ("segmenters",), "words are not defined for code; remove `segmenters`"
    for key, name in (entry.segmenters or {}).items():
        if entry.options() and key not in entry.options():
            yield ("segmenters", key), f"{key!r} is not among the languages of this corpus"
        if name not in known:
            hint = did_you_mean(name, known)
            yield ("segmenters", key), f"unknown segmenter {name!r}{hint}; use {', '.join(known)}"


def _sample_problems(entry: Corpus) -> Iterator[Problem]:
    limited = entry.limit is not None and (entry.limit.rows or entry.limit.bytes)
    if entry.limit is not None and not limited:
        yield ("limit",), "`limit` requires rows or bytes, such as {rows: 1000}"
    elif limited and entry.sample == "all":
        yield (
            ("sample",),
            "`sample: all` takes every row; with a `limit` use `head` or `reservoir`",
        )
    elif not limited and entry.sample not in (None, "all"):
        yield ("sample",), "this `sample` requires a `limit` (rows or bytes)"
    if entry.parallel and entry.limit is not None and entry.limit.bytes:
        yield (
            ("limit", "bytes"),
            "`limit: {bytes: ...}` would cut the languages of a parallel corpus at different rows, "
            "since they differ in bytes; limit its rows",
        )


Paths = Annotated[
    tuple[Text, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One path or glob, or several."""


class HuggingFaceCorpus(Corpus):
    """A data set read through `datasets`: an id on the Hub, a local folder, or a builder's name."""

    source: Literal["huggingface"] = Field(description="Where the text comes from.")
    path: Text = Field(
        description="Hub id, local folder, or one of `csv`, `json`, `parquet`, `text` and `arrow` "
        "with `data_files`."
    )
    config: Text | None = Field(None, description="Config name; may contain `{language}`.")
    split: Text | None = Field(
        None, description="The split to read. Optional if there is only one."
    )
    splits: tuple[Text, ...] | None = Field(None, description="Several splits, in this order.")
    revision: Text | None = Field(
        None,
        description="Commit, tag or branch of the Hub repository. Pin a commit to keep the text.",
    )
    data_dir: Text | None = Field(
        None, description="Folder inside the data set; may contain `{language}`."
    )
    data_files: Paths | dict[Text, Paths] | None = Field(
        None, description="Files, or a map from split to files; may contain `{language}`."
    )
    streaming: bool = Field(
        True, description="Read rows as they arrive instead of downloading the whole split."
    )

    def wanted_splits(self) -> tuple[str, ...]:
        """Return the configured splits; empty if the only split is to be found."""
        return self.splits or (() if self.split is None else (self.split,))

    def config_of(self, key: str) -> str | None:
        """Return the config to load for a language."""
        config = self.options()[key].config or self.config
        return None if config is None else config.replace("{language}", key)

    @model_validator(mode="before")
    @classmethod
    def _strings_are_configs(cls, value: Any) -> Any:
        return _spell_out_strings(value, "config")

    def _source_problems(self) -> Iterator[Problem]:
        if self.split is not None and self.splits is not None:
            yield ("split",), "give `split` or `splits`, not both"
        if any("[" in split for split in self.wanted_splits()):
            key = "splits" if self.split is None else "split"
            yield (
                (key,),
                ("a split must be a plain name; to take a part of it use `limit` and `sample`"),
            )
        for key, options in self.options().items():
            if options.file:
                yield (
                    ("languages", key),
                    "`file` requires `source: files`; for a language of a data set use `config`",
                )
        if not self._languages_differ():
            yield (
                ("languages",),
                "every language would read the same rows; map each language to its config, put "
                "{language} into `config`, `data_dir`, `data_files` or `text`, or select its rows "
                "with `where`",
            )

    def _languages_differ(self) -> bool:
        options = self.options().values()
        settings = str((self.path, self.config, self.data_dir, self.data_files))
        return (
            len(options) < 2
            or "{language}" in settings
            or all(one.config for one in options)
            or self._rows_differ()
        )


class FilesCorpus(Corpus):
    """Local files: plain text, JSON Lines, CSV or Parquet."""

    source: Literal["files"] = Field(description="Where the text comes from.")
    path: Paths = Field(
        (), description="Path or glob, or a list of them; may contain `{language}`."
    )
    format: Literal["txt", "jsonl", "json", "csv", "parquet"] | None = Field(
        None,
        description="`txt`, `jsonl`, `json` (a list of rows), `csv` or `parquet`; by default from "
        "the suffix.",
    )
    unit: Literal["line", "paragraph", "document"] = Field(
        "line",
        description="What one document of a txt file is: `line`, `paragraph` (separated by blank "
        "lines) or `document` (the file).",
    )
    line_ends: Literal["keep", "strip"] | None = Field(
        None,
        description="`keep` or `strip` the last line end of txt documents. By default it is kept "
        "for documents and stripped for lines and paragraphs.",
    )
    delimiter: Annotated[Text, Field(min_length=1, max_length=1)] | None = Field(
        None, description="Delimiter of CSV files; by default a comma, for `.tsv` a tab."
    )
    quote: Text | None = Field(
        None,
        description="Quote character of CSV files, or `none` if "
        'quotation marks are text. By default `"`, for `.tsv` none.',
    )

    def paths_of(self, key: str) -> tuple[str, ...]:
        """Return the paths and globs of a language, as the config wrote them."""
        file = self.options()[key].file
        return (file,) if file else tuple(path.replace("{language}", key) for path in self.path)

    @property
    def keeps_line_ends(self) -> bool:
        """Whether the line end that closes a unit is part of its text."""
        return (self.line_ends or ("keep" if self.unit == "document" else "strip")) == "keep"

    @model_validator(mode="before")
    @classmethod
    def _strings_are_files(cls, value: Any) -> Any:
        return _spell_out_strings(value, "file")

    def _source_problems(self) -> Iterator[Problem]:
        options = self.options().values()
        for key, one in self.options().items():
            if one.config:
                yield (
                    ("languages", key),
                    "`config` requires `source: huggingface`; for a language of files use `file`",
                )
        if not self.path and not all(one.file for one in options):
            yield (), "`path` is missing; set it, or a file for each language"
            return
        if self.quote is not None and self.quote != "none" and len(self.quote) != 1:
            yield ("quote",), "`quote` must be one character, or none"
        told_apart = all(one.file for one in options) or any("{language}" in p for p in self.path)
        if len(options) > 1 and not told_apart and not self._rows_differ():
            other = next((found for p in self.path for found in _PLACEHOLDER.findall(p)), None)
            yield (
                ("path",),
                f"unknown placeholder {other}; write {{language}}"
                if other
                else "every language would read the same files; put {language} into `path` or "
                "`text`, or select its rows with `where`",
            )


class BuiltinCorpus(Corpus):
    """Text bundled with tokbench: a small sample for first runs and for tests."""

    source: Literal["builtin"] = Field(description="Where the text comes from.")
    dataset: Literal["sentences", "programs"] = Field(
        description="`sentences` (27 languages) or `programs` (10 programming languages)."
    )
    id: Text | None = Field("id", description="Fixed: the column of the bundled ids.")

    def options(self) -> Mapping[str, LanguageOptions]:
        """Return the configured languages, by default all."""
        from tokbench.bench.config.bundled import text_keys

        return super().options() or {key: LanguageOptions() for key in text_keys(self.dataset)}

    @model_validator(mode="before")
    @classmethod
    def _programs_are_code(cls, value: Any) -> Any:
        if isinstance(value, Mapping) and value.get("dataset") == "programs":
            return {"kind": "code", **value}
        return value

    def _source_problems(self) -> Iterator[Problem]:
        from tokbench.bench.config.bundled import text_keys

        if (self.dataset == "programs") != (self.kind == "code"):
            yield ("kind",), f"dataset {self.dataset} is not kind {self.kind}; remove `kind`"
            return
        # a config that was written out, defaults and all, may be read again
        for key in ("text", "id", "cluster", "weight", "where"):
            if getattr(self, key) == type(self).model_fields[key].default:
                continue
            yield (
                (key,),
                "bundled text has fixed columns; remove `text`, `id`, `cluster`, `weight` and `where`",
            )
        known = text_keys(self.dataset)
        means = {key for key, _ in language_problems(self._tags(), kind=self.kind)}
        for key, one in self.options().items():
            place = ("language",) if self.languages is None else ("languages", key)
            if one.config or one.file:
                yield place, "bundled text has no configs or files; list only the languages"
            if key not in known and key not in means:
                near = near_key(key, known, kind=self.kind)
                yield place, f"no bundled {self.dataset} in {key!r}{near}"


def _spell_out_strings(entry: object, option: str) -> object:
    """In a map of languages, read plain text as that option."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("languages"), Mapping):
        return entry
    languages = {
        key: {option: value} if isinstance(value, str) else value
        for key, value in entry["languages"].items()
    }
    return {**entry, "languages": languages}


AnyCorpus = HuggingFaceCorpus | FilesCorpus | BuiltinCorpus
"""An entry of any source."""

CorpusEntry = Annotated[AnyCorpus, Discriminator("source")]
"""One entry below `corpora:` in a config."""


def source_of(model: type[Corpus]) -> str:
    """Return the name of a model's source, as `source:` says it.

    >>> source_of(FilesCorpus)
    'files'
    """
    return str(get_args(model.model_fields["source"].annotation)[0])


def corpus_models() -> tuple[type[Corpus], ...]:
    """Return the models of all sources."""
    return HuggingFaceCorpus, FilesCorpus, BuiltinCorpus


def canonical(entry: Corpus, key: str) -> dict[str, Any]:
    """Return the options of an entry for one language, without defaults.

    Entries with the same options for a language return equal values.
    """
    apart = {"language", "languages", "segmenters"}
    said = entry.model_dump(mode="json", exclude_defaults=True, exclude=apart)
    options = entry.options()[key].model_dump(mode="json", exclude_defaults=True)
    if name := (entry.segmenters or {}).get(key):
        options["segmenter"] = name
    return {**said, "language": {"key": key, **options}}
