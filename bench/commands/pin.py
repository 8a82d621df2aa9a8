"""Pinning: find the Hub revisions that a config leaves open, and write their current commits.

A branch or tag of a repository may be moved; a commit may not. Only the file's `revision` keys
are touched: comments, order and quotes stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.config.corpora import HuggingFaceCorpus
from tokbench.bench.config.schema import Config
from tokbench.bench.corpus.hub.words import BUILDERS, local_folder
from tokbench.bench.errors import ConfigError, HubUnreachable, InputError
from tokbench.bench.files import write_whole
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.bench.workers.hub_access import be_patient, is_unreachable, why_refused

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A repository of the Hub that a config reads, at a revision that may move or not."""

    place: tuple[str, str]
    """Section and key of the config."""
    name: str
    kind: Literal["dataset", "model"]
    revision: str | None

    def __str__(self) -> str:
        """Say which revision is open, and how to pin it."""
        at = f"revision {self.revision!r}" if self.revision else "no revision"
        return (
            f"{'.'.join(self.place)}: {self.name} with {at} is not pinned, so the input may "
            "change; pin the commit with `tokbench pin`"
        )


def repositories(config: Config) -> list[Repository]:
    """Return the Hub repositories of a config, corpora first, without asking the Hub."""
    return [*_corpora(config), *_tokenizers(config)]


def unpinned(config: Config) -> list[Repository]:
    """Return the repositories whose revision is not a commit."""
    return [one for one in repositories(config) if not _COMMIT.fullmatch(one.revision or "")]


def _corpora(config: Config) -> Iterator[Repository]:
    for name, entry in config.run.corpora.items():
        if isinstance(entry, HuggingFaceCorpus) and _on_hub(entry, config.folder):
            yield Repository(
                place=("corpora", name),
                name=entry.path,
                kind="dataset",
                revision=entry.revision,
            )


def _on_hub(entry: HuggingFaceCorpus, folder: Path) -> bool:
    try:
        return entry.path not in BUILDERS and local_folder(entry, folder) is None
    except InputError:
        return False  # a folder that is not there: the run will say so


def _tokenizers(config: Config) -> Iterator[Repository]:
    for name, entry in config.tokenizers.items():
        if isinstance(entry, TokenizerPlugin):
            repository = entry.repository(LoadContext(folder=config.folder))
            if repository is not None:
                revision = getattr(entry, "revision", None)
                yield Repository(
                    place=("tokenizers", name),
                    name=repository,
                    kind="model",
                    revision=revision,
                )


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """Result of pinning a config: commits written, and revisions that could not be resolved."""

    commits: dict[str, str]
    problems: tuple[str, ...]


def pin(config: Config, path: Path) -> Pinned:
    """Write the commit of every open revision into the config file.

    A revision that the Hub refuses is left as it is and reported. Raises `ResultsError` when the
    file cannot be written.
    """
    commits: dict[str, str] = {}
    problems = []
    found = unpinned(config)
    for one in found:
        try:
            commits[".".join(one.place)] = commit_of(one)
        except InputError as exc:
            problems.append(f"{'.'.join(one.place)}: {exc}")
    if commits:
        write_whole(path, with_revisions(path.read_text(encoding="utf-8"), commits))
    return Pinned(commits=commits, problems=tuple(problems))


def commit_of(one: Repository) -> str:
    """Return the commit of a revision; raise `InputError` with the reason if refused."""
    return str(ask_hub(one).sha)


def ask_hub(one: Repository) -> Any:
    """Return the Hub's information on a repository.

    Raises `HubUnreachable` if it does not answer, `InputError` with the reason if it refuses.
    """
    import huggingface_hub

    be_patient(30)
    try:
        return huggingface_hub.HfApi().repo_info(
            one.name, repo_type=one.kind, revision=one.revision, timeout=10
        )
    except Exception as exc:  # what it raises depends on its version; all of it is put in words
        words = why_refused(exc, one.revision)
        if words is not None and is_unreachable(exc):
            raise HubUnreachable(f"{one.name} {words}") from None
        words = words or f"cannot be read: {type(exc).__name__}"
        raise InputError(f"{one.name} {words}") from None


def with_revisions(text: str, commits: dict[str, str]) -> str:
    """Return the text of a config with commits put in, everything else as it was.

    >>> print(with_revisions("corpora:\\n  a:  # mine\\n    path: o/n\\n", {"corpora.a": "c0ffee"}))
    corpora:
      a:  # mine
        path: o/n
        revision: c0ffee
    <BLANKLINE>
    """
    import io

    from ruamel.yaml import YAML
    from ruamel.yaml.util import load_yaml_guess_indent

    _, indent, offset = load_yaml_guess_indent(text)
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 10_000
    if indent is not None:
        yaml.indent(mapping=2 if offset else indent, sequence=indent, offset=offset or 0)
    document = yaml.load(text)
    for place, commit in commits.items():
        _put(document, place, commit)
    sink = io.StringIO()
    yaml.dump(document, sink)
    return sink.getvalue()


def _put(document: Any, place: str, commit: str) -> None:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    section, _, name = place.partition(".")
    try:
        node = document[section][name]
    except (KeyError, TypeError) as exc:
        raise ConfigError(f"{place}: cannot be pinned: the key is not in this file") from exc
    value = DoubleQuotedScalarString(commit) if commit.isdigit() else commit
    if "revision" in node:
        node["revision"] = value
    else:
        keys = list(node)
        before = next((keys.index(k) for k in ("path", "hub") if k in keys), len(keys) - 1)
        node.insert(before + 1, "revision", value)
