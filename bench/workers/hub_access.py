"""Access to the Hub: settings of its libraries, limits on waiting, and messages for its refusals.

`huggingface_hub`, `datasets` and `transformers` read their variables once, at import, so they are
set before. A variable that the user has set is left alone.

The libraries try again by themselves, and wait as long as the Hub requires. They log each
wait; a handler adds the waits up and ends them at a limit.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
from collections.abc import Iterator

from tokbench.bench.errors import InputError, UsageError
from tokbench.bench.workers import heartbeat

WAIT_SECONDS = 10
"""For the Hub to answer one question; a library may ask a few times."""

READ_SECONDS = 30
"""For the next bytes of a file."""

_DEFAULTS = {
    "HF_HUB_ETAG_TIMEOUT": str(WAIT_SECONDS),
    "HF_HUB_DOWNLOAD_TIMEOUT": str(READ_SECONDS),
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN_WARNING": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "USE_TORCH": "0",
    "USE_TF": "0",
    "USE_JAX": "0",
}
_OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def set_up_hub(*, offline: bool = False) -> None:
    """Limit how long the libraries wait and, with `offline`, keep them off the network.

    Raises `UsageError` if one of them has already read the variables, without offline mode.
    """
    read = sys.modules.get("huggingface_hub.constants")  # the others take the mode from it
    if offline and read is not None and not read.HF_HUB_OFFLINE:
        raise UsageError(
            "huggingface_hub is imported already, so --offline comes too late; set "
            "HF_HUB_OFFLINE=1 before starting Python"
        )
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    for name in _OFFLINE if offline else ():
        os.environ[name] = "1"


_LATER = "later, run the same command again with --rerun failed, which keeps what is finished"


class HubWaitError(InputError):
    """Waiting for the Hub took longer than the limit."""

    status: str | None = None
    """Last status of the Hub; None without an answer."""


class _Patience(logging.Handler):
    """Adds up how long the libraries wait for the Hub, and ends it at a limit."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seconds = 60.0
        self._first = self._last = 0.0
        self._status: str | None = None
        self._waits = 0
        self._waited = 0.0

    def tried(self) -> str:
        """Return the number of requests since the last call, and the time spent waiting."""
        waits, waited = self._waits, self._waited
        self._waits, self._waited = 0, 0.0
        return (
            f" (asked {waits + 1} times, {waited:.0f} s of waiting)" if waits else " (asked once)"
        )

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if status := re.search(r"\b(?:HTTP Error|Error|status) (\d{3})\b", text):
            self._status = status.group(1)
        wait = re.search(r"(?:Waiting|Retrying in) ([\d.]+) ?s", text)
        if wait is None:
            return
        now, announced = time.monotonic(), float(wait.group(1))
        self._waits, self._waited = self._waits + 1, self._waited + announced
        if now - self._last > self.seconds:
            self._first = now
        self._last = now + announced
        heartbeat.at("hub")
        if self._last - self._first > self.seconds:
            self._first = self._last = 0.0
            waited = HubWaitError(self._words())
            waited.status, self._status = self._status, None
            raise waited

    def _words(self) -> str:
        limit = f"longer than {self.seconds:g} s, the limit (limits.hub_seconds)"
        if self._status is not None:
            return (
                f"refused temporarily: the Hub answers {self._status}{self.tried()} and requires a "
                f"wait of {limit}; {_LATER}"
            )
        tried = self.tried()
        return (
            f"cannot be reached: incomplete answers from the Hub{tried}, and retrying would take "
            f"{limit}"
        )


_patience = _Patience()


def be_patient(seconds: float) -> None:
    """Let Hub libraries of this process wait no longer than that altogether.

    They log what they do to this module from now on, and not to stderr.
    """
    _patience.seconds = seconds
    for name in ("huggingface_hub", "datasets", "transformers"):
        logger = logging.getLogger(name)
        logger.handlers = [_patience]
        logger.propagate = False
        logger.setLevel(logging.WARNING)


def lock_threads_only() -> None:
    """Keep tqdm, which the libraries show progress with, from taking a lock between processes.

    The lock of a killed worker is never released, and Python complains of it at exit.
    """
    from tqdm import tqdm

    tqdm.set_lock(threading.RLock())


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all that it came from."""
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__


def why_refused(exc: BaseException, revision: str | None) -> str | None:
    """Return in words why a request to the Hub failed; None if the Hub is not the cause.

    The words go behind the name of a data set or repository.
    """
    causes = list(chain(exc))
    for one in causes:
        if isinstance(one, HubWaitError):
            return str(one)
    text = " ".join(map(str, causes))
    names = {type(one).__name__ for one in causes}
    status = next((code for one in causes if (code := _status_of(one))), None)
    return (
        _no_access(text, names, status)
        or _not_there(text, names, status, revision)
        or _not_now(names, status)
        or _damaged(text, names)
        or _unreachable(text, names)
    )


def is_unreachable(exc: BaseException) -> bool:
    """Whether the Hub gave no answer at all; for what `why_refused` has words for."""
    causes = list(chain(exc))
    for one in causes:
        if isinstance(one, HubWaitError):
            return one.status is None
    text = " ".join(map(str, causes))
    names = {type(one).__name__ for one in causes}
    return why_refused(exc, None) == _unreachable(text, names)


def _status_of(exc: BaseException) -> int | None:
    code = getattr(getattr(exc, "response", None), "status_code", None)
    return code if isinstance(code, int) else getattr(exc, "status", None)


def _no_access(text: str, names: set[str], status: int | None) -> str | None:
    gated = "GatedRepoError" in names or "gated dataset" in text or "access a gated repo" in text
    needs_login = "must be authenticated" in text or "Please log in" in text
    if (gated and (needs_login or status == 401)) or (
        status == 401 and "RepositoryNotFoundError" not in names
    ):
        return (
            "requires a login: accept its terms on its page on the Hub, then run `hf auth login` "
            "or "
            "set HF_TOKEN"
        )
    if gated or status == 403:
        return (
            "requires access: you are logged in, but its owner has not granted access; request it "
            "on its page on the Hub"
        )
    return None


def _not_there(text: str, names: set[str], status: int | None, revision: str | None) -> str | None:
    if "RevisionNotFoundError" in names or ("Revision " in text and "doesn't exist" in text):
        return f"has no revision {revision!r}; see the branches and commits on its page"
    if "RepositoryNotFoundError" in names or "doesn't exist on the Hub" in text:
        return (
            "does not exist on the Hub, or is private and not visible to your login; check the "
            "spelling (owner/name), or the path if it is a local folder"
        )
    return None


def _not_now(names: set[str], status: int | None) -> str | None:
    if status is not None and (status == 429 or status >= 500):
        return f"refused temporarily: the Hub answers {status}{_patience.tried()}; {_LATER}"
    return None


def _damaged(text: str, names: set[str]) -> str | None:
    if (
        "Consistency check failed" in text
        or "ArrowInvalid" in names
        or "DataFilesNotFound" in names
    ):
        return (
            "is damaged: a file differs from what the Hub announced (truncated, or changed under "
            "the same revision); try again, or pin another revision"
        )
    return None


_NETWORK = {
    "ConnectError",
    "ConnectTimeout",
    "ReadTimeout",
    "ReadError",
    "RemoteProtocolError",
    "LocalEntryNotFoundError",
    "OfflineModeIsEnabled",
    "ConnectionError",
    "ConnectionResetError",
    "TimeoutError",
}


def _unreachable(text: str, names: set[str]) -> str | None:
    if names & _NETWORK or "Couldn't reach" in text:
        offline = " (offline mode is on)" if os.environ.get("HF_HUB_OFFLINE") == "1" else ""
        return (
            f"cannot be reached: no answer from the Hub{offline}, and it is not in the cache; "
            "check the network, or use a local folder or file"
        )
    return None
