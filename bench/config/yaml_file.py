"""The file of a config: YAML 1.2 as data, with the place of every key and value in it.

YAML is read as data only: tags name nothing and run nothing, ``no`` is text. What a config may
say is in `tokbench.bench.config.schema`; here is where it says it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from tokbench.bench.errors import ConfigError

Loc = tuple[int | str, ...]
"""A place in a config: keys and positions from the top down."""

MAX_VALUES = 100_000
"""Values of a config with all aliases spelled out; a few lines of aliases can mean billions."""

MAPPING = "<mapping>"
"""What a config that was never a file is called in messages and results."""

_SCALAR = re.compile(r"[^\s,\]}#]*")


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
        _Checker(self).size(self.document, ())
        plain: dict[str, Any] = _plain(self.document)
        return plain

    def at(self, loc: Loc) -> str:
        """Return ``file:line:column: key.key`` of a place, or of the nearest one around it."""
        return self.place(*self._position(loc), loc)

    def place(self, line: int, column: int, loc: Loc) -> str:
        """Write a place; lines and columns count from 0 here and from 1 in what is shown."""
        where = self.path if self.is_mapping else f"{self.path}:{line + 1}:{column + 1}"
        return f"{where}: {'.'.join(map(str, loc)) or 'config'}"

    def _position(self, loc: Loc) -> tuple[int, int]:
        node: Any = self.document
        position = (0, 0)
        for key in loc:
            try:
                if isinstance(node, CommentedMap) and key in node:
                    position = node.lc.key(key) or position
                elif isinstance(node, CommentedSeq) and isinstance(key, int):
                    position = node.lc.item(key) or position
                else:
                    continue  # a tag pydantic puts into the path, such as a union member
            except (KeyError, AttributeError, TypeError):
                return position  # set by --set: it has no place in the file
            node = node[key]
        return position

    def real(self, prefix: Loc, loc: Loc, *, missing: bool) -> Loc:
        """Drop what pydantic adds to a path that is not in the file (union tags, '[key]').

        The last key of what is `missing` is named although it is not there.
        """
        node: Any = self.document
        for key in prefix:
            node = node[key] if isinstance(node, Mapping) else None
        real = list(prefix)
        for key in loc:
            if isinstance(node, Mapping):
                inside = key in node
            else:
                inside = isinstance(node, list) and isinstance(key, int) and key < len(node)
            if inside:
                real.append(key)
                node = node[key]
        return (*real, loc[-1]) if missing else tuple(real)

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


def read(source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> ConfigFile:
    """Read a config, a file or a mapping of plain values, and apply ``a.b=value`` settings to it.

    Raises `ConfigError` where the file cannot be read, is not UTF-8 or not YAML, where a value is
    not plain, or where a setting has no place in it.
    """
    if isinstance(source, Mapping):
        config = ConfigFile(path=MAPPING, text="", document=_commented(source, ()))
    else:
        config = _read_file(source)
    for override in overrides:
        _override(config.document, override)
    return config


def _commented(value: Any, loc: Loc, around: tuple[int, ...] = ()) -> Any:
    """Turn plain values into the nodes that a YAML file is read as."""
    where = f"{MAPPING}: {'.'.join(map(str, loc)) or 'config'}"
    if id(value) in around:
        raise ConfigError(f"{where}: this value contains itself")
    inside = (*around, id(value))
    if isinstance(value, Mapping):
        node = CommentedMap()
        for key, item in value.items():
            if not isinstance(key, str):
                raise ConfigError(f"{where}: a key must be text, not {key!r}")
            node[key] = _commented(item, (*loc, key), inside)
        return node
    if isinstance(value, list | tuple):
        return CommentedSeq(_commented(item, (*loc, i), inside) for i, item in enumerate(value))
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise ConfigError(
        f"{where}: a {type(value).__name__} cannot be in a config; "
        "use text, numbers, booleans, lists and mappings"
    )


def _read_file(path: str | Path) -> ConfigFile:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise ConfigError(f"{path}: cannot be read: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"{path}: is not UTF-8 (byte {exc.start}); save it as UTF-8") from exc
    document = _parse(text, str(path))
    if not isinstance(document, CommentedMap):
        raise ConfigError(
            f"{path}:1:1: the config must be a mapping with name, corpora, tokenizers"
        )
    return ConfigFile(path=str(path), text=text, document=document)


def _parse(text: str, path: str) -> Any:
    try:
        return YAML(typ="rt").load(text)
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        at = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else path
        raise ConfigError(f"{at}: not valid YAML: {exc.problem or exc.context}") from exc
    except ReaderError as exc:
        *lines, last = text[: exc.position].split("\n")
        at = f"{path}:{len(lines) + 1}:{len(last) + 1}"
        raise ConfigError(f"{at}: not valid YAML: {exc.reason}") from exc
    except Exception as exc:  # ruamel raises plain ValueError and others on odd scalars
        raise ConfigError(f"{path}: not valid YAML: {exc}") from exc


def _override(document: CommentedMap, override: str) -> None:
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        raise ConfigError(f"--set {override}: write it as key.key=value")
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
        raise ConfigError(f"--set {override}: there is no place {dotted} in the config")


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
    if isinstance(node, Mapping):
        return {_plain(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(value) for value in node]
    for plain in (bool, int, float, str):
        if isinstance(node, plain):
            return plain(node)
    return node


class _Checker:
    """Looks at every container once, whatever aliases point to it."""

    def __init__(self, file: ConfigFile) -> None:
        self._file = file
        self._sizes: dict[int, int] = {}
        self._open: set[int] = set()

    def size(self, node: Any, loc: Loc) -> int:
        """Return the values in a node with its aliases spelled out, and check its keys."""
        if not isinstance(node, CommentedMap | CommentedSeq):
            return 1
        if id(node) in self._open:
            raise ConfigError(f"{self._file.at(loc)}: this value contains itself")
        if id(node) not in self._sizes:
            self._open.add(id(node))
            inside = self._inside(node, loc)
            self._sizes[id(node)] = 1 + sum(self.size(v, (*loc, k)) for k, v in inside)
            self._open.remove(id(node))
        if self._sizes[id(node)] > MAX_VALUES:
            raise ConfigError(
                f"{self._file.at(loc)}: its aliases make more than {MAX_VALUES:,} values of it"
            )
        return self._sizes[id(node)]

    def _inside(self, node: Any, loc: Loc) -> Iterable[tuple[Any, Any]]:
        if isinstance(node, CommentedSeq):
            return enumerate(node)
        for key in node:
            if not isinstance(key, str):
                line, column = node.lc.key(key)
                spelled = self._file.spelled_at(line, column)
                raise ConfigError(
                    f"{self._file.place(line, column, loc)}: a key must be text; "
                    f'write it in quotes: "{spelled}"'
                )
        return list(node.items())
