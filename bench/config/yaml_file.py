"""The file of a config: YAML 1.2 as data, with the place of every key and value in it.

YAML is read as data only: ``no`` is text, the tags of the standard (``!!str 1``) are honoured,
others are refused by name. What is read is bounded in bytes, depth and values. What a config may
say is in `tokbench.bench.config.schema`; here is where it says it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq, CommentedSet, TaggedScalar
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    CollectionEndEvent,
    CollectionStartEvent,
    NodeEvent,
    ScalarEvent,
)
from ruamel.yaml.parser import RoundTripParser
from ruamel.yaml.reader import ReaderError

from tokbench.bench.config.mistakes import Mistake, Span, error
from tokbench.bench.errors import ConfigError

Loc = tuple[int | str, ...]
"""A place in a config: keys and positions from the root."""

MAX_BYTES = 500_000
"""Maximum size of a config file; real ones have at most a tenth of it."""
MAX_DEPTH = 50
"""Maximum nesting of mappings and lists; a config needs eight levels."""
MAX_VALUES = 100_000
"""Values of a config with all aliases spelled out; a few lines of aliases can mean billions."""

MAPPING = "<mapping>"
"""Name of a config without a file, in messages and results."""

_STANDARD = "tag:yaml.org,2002:"
_TAGS = frozenset(
    _STANDARD + name
    for name in (
        *("str", "int", "float", "bool", "null", "map", "seq", "set", "omap", "binary"),
        *("timestamp", "merge", "value"),
    )
)
_COLLECTIONS = frozenset(_STANDARD + name for name in ("map", "seq", "set", "omap"))
# The scanner looks 1,024 characters ahead at each bracket, so deep nesting is refused before it.
_DEEP = re.compile(rf"(?:[\[{{]\s*){{{MAX_DEPTH}}}|(?:[-?]\s+){{{MAX_DEPTH}}}[^-\s]")
_HALF = r"holds half a character, such as \ud83d without its second half; write the whole one"
_SCALAR = re.compile(r"[^\s,\]}#]*")
_MARKED = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'""")


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A config as it was read, changed by `--set`, and where everything in it stands."""

    path: str
    text: str
    document: CommentedMap

    @property
    def is_mapping(self) -> bool:
        """Whether it was given as values, so that nothing in it has a line and a column."""
        return self.path == MAPPING

    def values(self) -> dict[str, Any]:
        """Return the config as plain mappings, lists, text, numbers and booleans.

        Raises `ConfigError` at a key that is not text, and where a value contains itself.
        """
        _NodeChecker(self).size(self.document, ())
        plain: dict[str, Any] = _plain(self.document)
        return plain

    def mistake(self, loc: Loc, text: str, *, on: str = "value") -> Mistake:
        """Return a mistake at a place, or at the nearest one around it; `on` is value or key."""
        return self.mistake_at(self._span(loc, on), loc, text)

    def mistake_at(self, span: Span, loc: Loc, text: str) -> Mistake:
        """Return a mistake at a part of the file."""
        lines = self.text.split("\n")
        inside = span.line < len(lines) and not self.is_mapping
        source = lines[span.line].rstrip("\r") if inside else None
        key = ".".join(map(str, loc)) or "config"
        return Mistake(path=self.path, span=span, key=key, text=text, source=source)

    def _span(self, loc: Loc, on: str) -> Span:
        node: Any = self.document
        span = Span(line=0, column=0)
        inside = 0
        for key in loc:
            step = _step(node, key)
            if step is None:
                continue  # a tag pydantic puts into the path, such as a union member
            try:
                span = self._part(node, step, on if key is loc[-1] else "key")
            except (KeyError, AttributeError, TypeError):
                return span  # set by --set: it has no place in the file
            node = node[step]
            inside += 1
        return span

    def _part(self, node: Any, key: int | str, on: str) -> Span:
        """Return where the key or the value of one step is; of a block, its key."""
        value = node[key]
        if isinstance(node, CommentedSeq):
            line, column = node.lc.item(key)
        else:
            line, column = node.lc.key(key)
            if on == "value" and value is not None and not _is_block(value):
                line, column = node.lc.value(key)
            else:
                return Span(line=line, column=column, width=len(str(key)))
        return Span(line=line, column=column, width=self._width(value, line, column))

    def _width(self, value: Any, line: int, column: int) -> int:
        """Return the columns of a value as the file spells it, as far as it is on one line."""
        rest = self.text.split("\n")[line][column:].rstrip()
        if isinstance(value, CommentedMap | CommentedSeq):
            return len(rest) if _is_block(value) else _to_the_bracket(rest)
        if found := _MARKED.match(rest):
            return found.end()
        plain = str(value) if isinstance(value, str) else ""
        if plain and rest.startswith(plain):
            return len(plain)
        spelled = _SCALAR.match(rest)
        return max(1, spelled.end() if spelled else 1)

    def real(self, prefix: Loc, loc: Loc, *, missing: bool) -> Loc:
        """Drop what pydantic adds to a path that is not in the file (union tags, '[key]').

        The last key of what is `missing` is named although it is not there.
        """
        node: Any = self.document
        for key in prefix:
            node = node[key] if isinstance(node, Mapping) else None
        real = list(prefix)
        for key in loc:
            step = _step(node, key)
            if step is not None:
                real.append(step)
                node = node[step]
        return (*real, loc[-1]) if missing else tuple(real)

    def value(self, loc: Loc) -> Any:
        """Return the value at a place; None if there is none."""
        node: Any = self.document
        for key in loc:
            step = _step(node, key)
            if step is None:
                return None
            node = node[step]
        return _plain(node)

    def spelled(self, loc: Loc) -> str | None:
        """Return a scalar as the file spells it: ``0123456`` is no longer that as a number."""
        node: Any = self.document
        try:
            for key in loc[:-1]:
                node = node[key]
            inside = isinstance(node, CommentedSeq)
            return self.spelled_at(*(node.lc.item if inside else node.lc.value)(loc[-1]))
        except (KeyError, IndexError, AttributeError, TypeError):
            return None  # set by --set

    def spelled_at(self, line: int, column: int) -> str | None:
        """Return the plain scalar that begins at a place."""
        found = _SCALAR.match(self.text.split("\n")[line], column)
        return found[0] if found else None


def _step(node: Any, key: int | str) -> int | str | None:
    """Return the key or position that leads one step down, None where there is none.

    A list of names may be entered by a name.
    """
    if isinstance(node, Mapping):
        return key if key in node else None
    if isinstance(node, list) and isinstance(key, int):
        return key if key < len(node) else None
    if isinstance(node, list) and key in node:
        return node.index(key)
    return None


def _is_block(value: Any) -> bool:
    """Whether a value is a mapping or list of lines of its own."""
    is_container = isinstance(value, CommentedMap | CommentedSeq) and len(value) > 0
    return is_container and not value.fa.flow_style()


def _to_the_bracket(text: str) -> int:
    """Return the length of a bracketed value that a text begins with, or of all of it.

    >>> _to_the_bracket("[a, {b: 1}], c"), _to_the_bracket("[a,")
    (11, 3)
    """
    depth = 0
    for place, char in enumerate(text):
        depth += (char in "[{") - (char in "]}")
        if depth == 0:
            return place + 1
    return len(text)


def read(source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> ConfigFile:
    """Read a config, a file or a mapping of plain values, and apply ``a.b=value`` settings to it.

    Raises `ConfigError` where the file cannot be read, is too large, is not UTF-8 or not YAML,
    where a value is not plain, or where a setting has no place in it.
    """
    if isinstance(source, Mapping):
        config = ConfigFile(path=MAPPING, text="", document=_commented(source, ()))
    else:
        config = _read_file(Path(source))
    for override in overrides:
        _override(config.document, override)
    return config


def _commented(value: Any, loc: Loc, around: tuple[int, ...] = ()) -> Any:
    """Turn plain values into the nodes that a YAML file is read as."""
    where = f"{MAPPING}: {'.'.join(map(str, loc)) or 'config'}"
    if id(value) in around:
        raise ConfigError(f"{where}: this value contains itself")
    if len(loc) > MAX_DEPTH:
        raise ConfigError(f"{MAPPING}: {loc[0]}: nests more than {MAX_DEPTH} levels deep")
    inside = (*around, id(value))
    if isinstance(value, Mapping):
        node = CommentedMap()
        for key, item in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"{where}: a key must be text, not {key!r}")
            node[_whole_text(key, where)] = _commented(item, (*loc, key), inside)
        return node
    if isinstance(value, list | tuple):
        return CommentedSeq(_commented(item, (*loc, i), inside) for i, item in enumerate(value))
    if isinstance(value, os.PathLike):
        return _whole_text(os.fspath(value), where)
    if isinstance(value, str):
        return _whole_text(value, where)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise ConfigError(
        f"{where}: a {type(value).__name__} cannot be in a config; "
        "use text, numbers, booleans, lists and mappings"
    )


def _whole_text(text: str, where: str) -> str:
    try:
        return whole_characters(text)
    except UnicodeDecodeError:
        raise ConfigError(f"{where}: {_HALF}") from None


def whole_characters(text: str) -> str:
    r"""Return text with surrogate pairs joined; `UnicodeDecodeError` where one is alone.

    >>> whole_characters("\ud83d\ude00") == "\N{GRINNING FACE}"
    True
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _read_file(path: Path) -> ConfigFile:
    text = _text(path)
    document = _parse(text, str(path))
    if not isinstance(document, CommentedMap):
        raise ConfigError(
            f"{path}:1:1: the config must be a mapping with name, corpora, tokenizers"
        )
    return ConfigFile(path=str(path), text=text, document=document)


def _text(path: Path) -> str:
    """Return the text of a file; a folder, device or large file is not read."""
    try:
        if (kind := _other_than_file(path.stat().st_mode)) is not None:
            raise ConfigError(f"{path}: cannot be read: it is {kind}, not a file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_BYTES:,} bytes, the limit for a config")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path}: is not UTF-8 (byte {exc.start}); save it as UTF-8") from exc


def _other_than_file(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    kinds = {stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for is_kind, name in kinds.items() if is_kind(mode)), "a device")


class _RefusedError(MarkedYAMLError):
    """Valid YAML that a config may not contain."""


class _Parser(RoundTripParser):
    """Refuses deep nesting and tags outside the standard, event by event."""

    _depth = 0

    def get_event(self) -> Any:
        """Return the next event."""
        event = super().get_event()
        if isinstance(event, CollectionStartEvent):
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise _at(event, f"nests more than {MAX_DEPTH} levels deep")
        elif isinstance(event, CollectionEndEvent):
            self._depth -= 1
        if isinstance(event, NodeEvent):
            self._check_tag(event)
        if isinstance(event, ScalarEvent):
            self._join_surrogates(event)
        return event

    def _join_surrogates(self, event: Any) -> None:
        r"""Make one character of each pair such as ``\ud83d\ude00``, as JSON writes it."""
        try:
            event.value = whole_characters(event.value)
        except UnicodeDecodeError:
            raise _at(event, _HALF) from None

    def _check_tag(self, event: Any) -> None:
        tag = str(getattr(event, "ctag", None) or "!")
        if tag not in _TAGS and tag != "!":
            short = tag.replace(_STANDARD, "!!")
            raise _at(event, f"tag {short} is unknown; remove the tag")
        fits = _COLLECTIONS if isinstance(event, CollectionStartEvent) else _TAGS - _COLLECTIONS
        if tag != "!" and tag not in fits:
            short = tag.replace(_STANDARD, "!!")
            raise _at(event, f"tag {short} does not fit this value; remove the tag")


def _at(event: Any, problem: str) -> _RefusedError:
    return _RefusedError(problem=problem, problem_mark=event.start_mark)


def _parse(text: str, path: str) -> Any:
    if (deep := _DEEP.search(text)) is not None:
        raise _invalid(text, path, deep.start(), f"nests more than {MAX_DEPTH} levels deep")
    yaml = YAML(typ="rt")
    yaml.Parser = _Parser
    try:
        return yaml.load(text)
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        if mark is None:
            raise ConfigError(f"{path}: not valid YAML: {exc.problem or exc.context}") from exc
        why = str(exc.problem or exc.context)
        if not isinstance(exc, _RefusedError):
            why = f"not valid YAML: {why}{_unquoted(text, mark.line)}"
        raise _invalid(text, path, (mark.line, mark.column), why) from exc
    except ReaderError as exc:
        raise _invalid(text, path, exc.position, f"not valid YAML: {exc.reason}") from exc
    except Exception as exc:  # ruamel raises plain ValueError and others on odd scalars
        raise ConfigError(f"{path}: not valid YAML: {exc}") from exc


def _invalid(text: str, path: str, place: int | tuple[int, int], why: str) -> ConfigError:
    """Return the error for text that is not YAML, at an offset or at a line and column."""
    if isinstance(place, int):
        *above, last = text[:place].split("\n")
        place = (len(above), len(last))
    line, column = place
    lines = text.split("\n")
    source = lines[line].rstrip("\r") if line < len(lines) else ""
    span = Span(line=line, column=column)
    return error([Mistake(path=path, span=span, key="", text=why, source=source)])


_PLACEHOLDER = re.compile(r"""[^\s,\[\]{}"':]+\{\w+\}[^\s,\[\]{}"']*""")
_COLON_VALUE = re.compile(r"^\s*(?:- )?[\w.-]+:\s+(?P<value>[^\s\"'\[{|>&*!#].*:\s.*)$")


def _unquoted(text: str, line: int) -> str:
    """Return the end of a message if a value near the place requires quotes."""
    lines = text.split("\n")
    for one in reversed(lines[max(0, line - 1) : line + 1]):
        if found := _PLACEHOLDER.search(one):
            return f'; write it in quotes: "{found[0]}"'
        if found := re.search(r":\s+(\{\w+\}[^\s,}\]\"']*)", one):
            return f'; write it in quotes: "{found[1]}"'
        if found := _COLON_VALUE.match(one):
            return f'; write it in quotes: "{found["value"].strip()}"'
        if "\t" in one[: len(one) - len(one.lstrip())]:
            return "; indent with spaces, not tabs"
    return ""


def _override(document: CommentedMap, override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {override}: write it as key.key=value")
    _whole_text(dotted, f"--set {override!r}")
    value = _parse(text, f"--set {override}") if text else ""
    *parents, last = _steps(document, dotted.split("."))
    node: Any = document
    for parent in parents:
        if isinstance(node, CommentedMap) and node.get(parent) is None:
            node[parent] = CommentedMap()
        node = _child(node, parent, override)
    if isinstance(node, CommentedSeq) and last.isdecimal() and int(last) < len(node):
        node[int(last)] = value
    elif isinstance(node, CommentedMap):
        node[last] = value
    else:
        raise ConfigError(f"--set {override}: the config has no key {dotted}")


def _steps(node: Any, parts: Sequence[str]) -> list[str]:
    """Split a dotted path into keys; a key of the config may hold dots itself (`qwen3.6`)."""
    steps: list[str] = []
    while parts:
        keys = node if isinstance(node, CommentedMap) else {}
        lengths = range(len(parts), 1, -1)
        n = next((n for n in lengths if ".".join(parts[:n]) in keys), 1)
        steps.append(".".join(parts[:n]))
        node, parts = keys.get(steps[-1]), parts[n:]
    return steps


def _child(node: Any, key: str, override: str) -> Any:
    if isinstance(node, CommentedMap):
        return node[key]
    if isinstance(node, CommentedSeq) and key.isdecimal() and int(key) < len(node):
        return node[int(key)]
    raise ConfigError(f"--set {override}: there is nothing below {key!r} in the config")


def _plain(node: Any) -> Any:
    """Turn ruamel's node types into the plain ones that pydantic knows."""
    if isinstance(node, TaggedScalar):  # !!str: the text as it is written
        return str(node.value)
    if isinstance(node, Mapping):
        return {_plain(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple | CommentedSet):
        return [_plain(value) for value in node]
    for plain in (bool, int, float, str):
        if isinstance(node, plain):
            return plain(node)
    return node


class _NodeChecker:
    """Visits every container once, however many aliases point to it."""

    def __init__(self, file: ConfigFile) -> None:
        self._file = file
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()

    def size(self, node: Any, loc: Loc) -> int:
        """Return the values in a node with its aliases spelled out, and check its keys."""
        if not isinstance(node, CommentedMap | CommentedSeq):
            return 1
        if id(node) in self._open:
            raise error([self._file.mistake(loc, "this value contains itself")])
        if id(node) not in self._sizes:
            self._open.add(id(node))
            inside = self._inside(node, loc)
            self._sizes[id(node)] = 1 + sum(self.size(v, (*loc, k)) for k, v in inside)
            self._open.remove(id(node))
        if self._sizes[id(node)] > MAX_VALUES:
            why = f"its aliases expand to more than {MAX_VALUES:,} values"
            raise error([self._file.mistake(loc, why)])
        return self._sizes[id(node)]

    def _inside(self, node: Any, loc: Loc) -> Iterable[tuple[Any, Any]]:
        if isinstance(node, CommentedSeq):
            return enumerate(node)
        for key in node:
            if not isinstance(key, str) and not isinstance(key, TaggedScalar):
                line, column = node.lc.key(key)
                spelled = self._file.spelled_at(line, column) or ""
                span = Span(line=line, column=column, width=max(1, len(spelled)))
                why = f'a key must be text; write it in quotes: "{spelled}"'
                raise error([self._file.mistake_at(span, loc, why)])
        return list(node.items())
