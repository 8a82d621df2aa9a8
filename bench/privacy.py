"""Removes what must not be shown or stored: passwords, tokens, the user's home, absolute paths.

`without_secrets` is for all that is printed, `foreign` for what other libraries and the system
say, and `stored` for values of a config that a run folder keeps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"

_LOGIN = re.compile(r"(?<=://)[^\s/?#'\"<>]*@")
"""User and password of a URL; a password may contain an unencoded @."""
_QUERY = re.compile(
    r"((?:[?&]|\b)[\w-]*(?:token|secret|signature|password|passwd|api[_-]?key|credential)=)[^&\s'\"]+",
    re.IGNORECASE,
)
_HEADER = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE)
_HUB_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}")
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL", re.IGNORECASE)
_FOLDERS = (
    "TOKBENCH_CACHE",
    "TIKTOKEN_CACHE_DIR",
    "DATA_GYM_CACHE_DIR",
    "HF_HUB_CACHE",
    "HF_DATASETS_CACHE",
    "HF_HOME",
    "TMPDIR",
)
_QUOTED_PATH = re.compile(
    r"(?P<quote>['\"])(?:[A-Za-z]:)?[/\\](?:[^'\"\n]*[/\\])?([^'\"\n/\\]+)(?P=quote)"
)
_PATH = re.compile(
    r"(?<![\w.~/\\$…:-])(?:[A-Za-z]:[/\\]|/)(?:[^\s/\\'\"()\[\]<>,;|:]+[/\\]+)+([^\s/\\'\"()\[\]<>,;|:]*)"
)


def without_secrets(text: str) -> str:
    """Return text without passwords and tokens, the user's home written as ``~``.

    >>> without_secrets("https://bob:secret@hub.example/x?token=abc&n=1")
    'https://***@hub.example/x?token=***&n=1'
    """
    return _without(text, secrets=_secrets(), homes=_homes())


def secrets_cleaner() -> Callable[[str], str]:
    """Return `without_secrets` for many texts: the environment is searched now, and once."""
    return cache(partial(_without, secrets=tuple(_secrets()), homes=tuple(_homes())))


def _without(text: str, *, secrets: Iterable[str], homes: Iterable[str]) -> str:
    text = _LOGIN.sub(f"{HIDDEN}@", text)
    text = _QUERY.sub(rf"\g<1>{HIDDEN}", text)
    text = _HUB_TOKEN.sub(HIDDEN, _HEADER.sub(rf"\1 {HIDDEN}", text))
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _without_homes(text, homes)


def without_home(text: str) -> str:
    """Return text with the user's home written as ``~``, wherever a path starts with it."""
    return _without_homes(text, _homes())


def _without_homes(text: str, homes: Iterable[str]) -> str:
    for home in homes:
        if home in text:
            text = re.sub(rf"(?<![\w.~-]){re.escape(home)}(?![\w.-])", "~", text)
    return text


def foreign(text: str) -> str:
    """Return a message of a library or the system, without secrets and absolute paths.

    A path in the working folder becomes a relative one, one in a folder that a variable names
    starts with the variable, and of another the last part is left.

    >>> foreign("[Errno 2] No such file or directory: '/srv/data/a b/x.txt'")
    "[Errno 2] No such file or directory: '…/x.txt'"
    >>> foreign("cannot open /srv/data/x.txt: see https://hub.example/a/b")
    'cannot open …/x.txt: see https://hub.example/a/b'
    """
    text = _known_folders(text)
    text = _QUOTED_PATH.sub(r"\g<quote>…/\g<2>\g<quote>", without_secrets(text))
    return _PATH.sub(r"…/\1", text)


def stored(value: Any, folder: Path) -> Any:
    """Return a value of a config as a run folder keeps it: no secret, no absolute path.

    A path below `folder`, where the config is, becomes relative to it.

    >>> stored({"path": "/srv/data/x.txt", "limit": 3}, Path("/srv"))
    {'path': 'data/x.txt', 'limit': 3}
    """
    return _stored(value, _text_storing(folder))


def _stored(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {key: _stored(inner, text) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(inner, text) for inner in value]
    return value


def stored_setting(setting: str, folder: Path) -> str:
    """Return a ``KEY=VALUE`` of the command line as a run folder keeps it.

    >>> stored_setting("corpora.c.path=/srv/data/x.txt", Path("/home"))
    'corpora.c.path=…/x.txt'
    """
    key, equals, value = setting.partition("=")
    return f"{key}{equals}{_text_storing(folder)(value)}"


def _text_storing(folder: Path) -> Callable[[str], str]:
    """Return what makes texts fit for a run folder; the environment is searched once for all."""
    clean = secrets_cleaner()
    starts = tuple(
        start for start in (f"{folder}{os.sep}", f"{Path.cwd()}{os.sep}") if len(start) > 2
    )

    @cache
    def stored_text(text: str) -> str:
        for start in starts:
            if text.startswith(start):
                return clean(text.removeprefix(start))
        shown = clean(text)
        is_path = re.fullmatch(r"(?:[A-Za-z]:[/\\]|/)[^\n]*[/\\]([^\n/\\]+)", shown)
        return f"…/{is_path[1]}" if is_path else shown

    return stored_text


def _secrets() -> Iterator[str]:
    """Yield passwords and tokens of the environment, the longest first."""
    found = set()
    for name, value in os.environ.items():
        if len(value) >= 8 and _is_secret(name):
            found.add(value)
        if "://" in value and (login := re.search(r"://([^\s/?#]*)@", value)):
            password = login[1].partition(":")[2]
            found |= {password, unquote(password)}
    yield from sorted((s for s in found if len(s) >= 4), key=len, reverse=True)


@cache
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _homes() -> Iterator[str]:
    homes = set()
    with suppress(RuntimeError, OSError):  # a user without a home
        homes |= {str(Path.home()), str(Path.home().resolve())}
    for name in ("HOME", "USERPROFILE"):
        homes.add(os.environ.get(name, "").rstrip("/\\"))
    for home in sorted((h for h in homes if len(h) > 1), key=len, reverse=True):
        yield home
        if "\\" in home:
            yield home.replace("\\", "\\\\")  # as `repr` writes it


def _known_folders(text: str) -> str:
    with suppress(OSError):  # the working folder is gone
        here = str(Path.cwd())
        if len(here) > 1:
            text = re.sub(rf"(?<![\w.~/-]){re.escape(here)}/", "", text)
    for name in _FOLDERS:
        place = os.environ.get(name, "").rstrip("/")
        if len(place) > 1 and place.startswith("/"):
            text = re.sub(rf"(?<![\w.~/-]){re.escape(place)}(?![\w.-])", f"${name}", text)
    return text
