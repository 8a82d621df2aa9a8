"""What `datasets` says when something fails, in words that a user can act on.

Needs a login, needs access, does not exist, cannot be reached, was made by a script, lacks a
config, a split or a column.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokbench.bench.config.corpora import NO_SCRIPTS, HuggingFaceCorpus
from tokbench.bench.corpus.rows import columns_of
from tokbench.bench.errors import CorpusError, InputError
from tokbench.bench.markup import did_you_mean
from tokbench.bench.paths import looking_at, user_path
from tokbench.bench.workers.hub_access import HubWaitError, chain, why_refused

BUILDERS = ("csv", "json", "parquet", "text", "arrow")
"""Names that `datasets` reads as a file format and not as a data set."""


def local_folder(entry: HuggingFaceCorpus, folder: Path) -> Path | None:
    """Return the folder an entry names, None for the Hub; raise where it must be one and is not."""
    if entry.path in BUILDERS:
        return None
    path = user_path(folder, entry.path)
    with looking_at(entry.path):
        if path.is_dir():
            return path
    if entry.path.startswith((".", "/", "~")) or entry.path.count("/") > 1:
        raise CorpusError(
            f"folder {entry.path!r} does not exist; paths start from the config's folder"
        )
    return None


@contextmanager
def in_words(entry: HuggingFaceCorpus, key: str, folder: Path) -> Iterator[None]:
    """Map an exception of `datasets` to a `CorpusError` that says what to do."""
    try:
        yield
    except (GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as exc:
        if isinstance(exc, InputError) and not isinstance(exc, HubWaitError):
            raise
        message = explain(exc, entry, key, folder)
        # The chain of causes may quote request headers: only this message goes further up.
        raise CorpusError(_tidy(message, entry, folder)) from None


def explain(exc: Exception, entry: HuggingFaceCorpus, key: str, folder: Path) -> str:
    text = " ".join(str(one) for one in chain(exc))
    name = f"data set {entry.path!r}"
    if "scripts are no longer supported" in text:
        return f"{name} requires a loading script; {NO_SCRIPTS}"
    if (bad := _slip_in_card(entry, folder)) is not None and isinstance(
        exc, TypeError | ValueError
    ):
        return bad
    if (config := _config_problem(text, entry, key)) is not None:
        return config
    if "Couldn't cast" in text:
        return _cast_problem(text, name, entry)
    if "Compression type zstd not supported" in text:
        return f"{name} needs a package that is missing: `pip install zstandard`, or {_FILES}"
    if _is_local(entry, folder) and (damaged := _damaged(exc)):
        return f"{name} cannot be read: {damaged}; correct the file, or {_FILES}"
    if (refused := why_refused(exc, entry.revision)) is not None:
        return f"{name} {refused}"
    if (none := _no_files(text, name)) is not None:
        return none
    if "bool' is not iterable" in text:
        return f"the card (README.md) of {name} names a config without quotes, such as no; {_QUOTE}"
    return f"{name} cannot be read: {type(exc).__name__}: {exc}"


_FILES = "use `source: files`, which reads it without `datasets` and names the line"


def _is_local(entry: HuggingFaceCorpus, folder: Path) -> bool:
    return entry.path in BUILDERS or local_folder(entry, folder) is not None


def _damaged(exc: Exception) -> str | None:
    """Return the message of Arrow or a parser about a local file, if one of them failed."""
    found = [one for one in chain(exc) if type(one).__name__ in _PARSERS]
    return f"{type(found[-1]).__name__}: {found[-1]}" if found else None


_PARSERS = ("ArrowInvalid", "ParserError", "JSONDecodeError", "UnicodeDecodeError")


def _config_problem(text: str, entry: HuggingFaceCorpus, key: str) -> str | None:
    listed = re.search(
        r"(?:Please pick one among the available configs|Available): \[(.*?)\]", text
    )
    if listed is None:
        return None
    known = re.findall(r"'([^']*)'|\"([^\"]*)\"", listed.group(1))
    names = [one or other for one, other in known]
    config = entry.config_of(key)
    if config is not None:
        what = f"has no config {config!r}{did_you_mean(config, names)}"
    else:
        what = f"has several configs and none is chosen{did_you_mean(key, names)}"
    return (
        f"data set {entry.path!r} {what}; its configs are: {', '.join(names)}; name one in "
        "`config`, "
        'or `config: "{language}"` if they are named after the languages'
    )


def _no_files(text: str, name: str) -> str | None:
    if "Couldn't find any data file" in text or "No (supported) data files" in text:
        return (
            f"{name} has no data files that `datasets` can read; check `data_dir` and `data_files`"
        )
    return None


def _cast_problem(text: str, name: str, entry: HuggingFaceCorpus) -> str:
    schemas = re.search(r"Couldn't cast\n(.*?)\nto\n\{(.*?)\}", text, re.DOTALL)
    found = set(re.findall(r"^(\w+): ", schemas.group(1), re.MULTILINE)) if schemas else set()
    meant = set(re.findall(r"'(\w+)':", schemas.group(2))) if schemas else set()
    file = re.search(r"generating data using\s+(\S+)", text)
    differ = ", ".join(sorted(found ^ meant)) or "their types"
    return (
        f"the files of {name} have different columns ({differ})"
        f"{f', first in {file.group(1)}' if file else ''}, and `datasets` requires the same columns in all of them; "
        f"use `source: files`, which reads only {' and '.join(columns_of(entry))}"
    )


_QUOTE = 'write `config_name: "no"` in the card'


def _slip_in_card(entry: HuggingFaceCorpus, folder: Path) -> str | None:
    """Name the value of a local card that YAML 1.1 reads as a boolean or a number."""
    card = (local_folder(entry, folder) or folder / "nowhere") / "README.md"
    if not card.is_file():
        return None
    for number, line in enumerate(
        card.read_text(encoding="utf-8", errors="replace").splitlines(), 1
    ):
        name = re.fullmatch(r"[\s-]*config_name:\s*([^\s'\"#]+)\s*(?:#.*)?", line)
        if name and re.fullmatch(r"(?i)y|n|yes|no|on|off|true|false|null|~|[\d._]+", name.group(1)):
            return (
                f"{entry.path.rstrip('/')}/README.md, line {number}: config_name {name.group(1)} "
                "is "
                f'not read as text; write `config_name: "{name.group(1)}"` in this card'
            )
    return None


def _tidy(message: str, entry: HuggingFaceCorpus, folder: Path) -> str:
    """Remove tokens and local paths from a message."""
    if (token := os.environ.get("HF_TOKEN")) and len(token) > 4:
        message = message.replace(token, "[token]")
    message = re.sub(r"\bhf_\w{6,}", "[token]", message)
    places = [str(folder.resolve()), str(folder)]
    with suppress(RuntimeError):  # a user without a home
        places.append(str(Path.home()))
    for place in places:
        message = message.replace(place + "/", "")
    return message
