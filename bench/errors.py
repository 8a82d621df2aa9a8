"""The errors tokbench raises, as one tree.

Each message says what went wrong, where, and what to do. Exceptions of other
libraries are mapped to these once, where the library is called, with
``raise ... from exc``.

    TokbenchError
    ├── UsageError            exit code 2
    │   ├── ConfigError       the YAML config, with file, line and column
    │   └── PluginError       an entry point that is missing, broken or duplicated
    ├── InputError            exit code 3: this corpus or tokenizer; other cells still run
    │   ├── HubUnreachable    the Hub did not answer
    │   ├── CorpusError
    │   ├── TokenizerError
    │   └── TrainingError
    ├── Refusal               a number that would mislead; the run is still fine
    ├── ResultsError          a run folder that cannot be read or written
    ├── ForgeError            GitHub, Gitea or Forgejo refused a comment
    └── Interrupted           Ctrl-C or SIGTERM, with details
"""

from __future__ import annotations

from tokbench.bench.privacy import foreign, without_secrets


class TokbenchError(Exception):
    """Base of every error that tokbench raises on purpose."""

    exit_code = 3

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(without_secrets(a) if isinstance(a, str) else a for a in arguments))

    def __str__(self) -> str:
        """Return the message; quotes of other libraries' exceptions are cleaned."""
        text, cause = super().__str__(), self.__cause__
        if cause is not None and not isinstance(cause, TokbenchError) and (said := str(cause)):
            text = text.replace(said, foreign(said))
        return text


class UsageError(TokbenchError):
    """The command line or the config requests something that cannot be done."""

    exit_code = 2


class ConfigError(UsageError):
    """A config file is wrong; each line of the message starts with ``file:line:column``.

    `shown` is the same for people: with the lines of the file, and marks below what is meant.
    """

    def __init__(self, message: str, *, shown: str = "") -> None:
        super().__init__(message)
        self.shown = shown or message


class PluginError(UsageError):
    """A plug-in is missing, broken, or two have the same name."""


class InputError(TokbenchError):
    """One input cannot be used; the cells that do not need it still run."""


class HubUnreachable(InputError):  # noqa: N818 - named after the state of the Hub
    """The Hub did not answer; it may answer later."""


class CorpusError(InputError):
    """A corpus, or one language of it, cannot be read."""


class TokenizerError(InputError):
    """A tokenizer cannot be loaded, or its library failed on a text."""


class TrainingError(InputError):
    """A tokenizer cannot be trained."""


class Refusal(TokbenchError):  # noqa: N818 - it is a verdict about a number, not a fault
    """A metric is refused because its value would mislead; the message is the reason."""


class ResultsError(TokbenchError):
    """A run folder is missing, damaged or cannot be written."""


class ForgeError(TokbenchError):
    """A forge refused a request; the message has its answer and what to do."""


class Interrupted(TokbenchError):  # noqa: N818 - it is a request, not a fault
    """Ctrl-C or SIGTERM; the message says what was interrupted and what is finished."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def named(exc: BaseException) -> str:
    """Return the class and message of a foreign exception: one line, shortened and cleaned.

    >>> named(ValueError("cannot go on"))
    'ValueError: cannot go on'
    """
    return f"{type(exc).__name__}: {' '.join(foreign(str(exc)).split())}"[:500]


def what_failed(exc: BaseException) -> str:
    """Return the message of an exception; of a foreign one, also where it was raised."""
    if isinstance(exc, TokbenchError):
        return str(exc)
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return named(exc)
    module = trace.tb_frame.f_globals.get("__name__", "unknown")  # a path would tell of a home
    return f"{named(exc)} ({module}, line {trace.tb_lineno})"


def is_library_failure(exc: BaseException) -> bool:
    """Return whether an exception is a tokenizer's failure, not an interrupt or a bug of tokbench.

    A panic of a Rust library (`PanicException`) is not an `Exception`.
    """
    if type(exc).__name__ == "PanicException":
        return True
    return isinstance(exc, Exception) and not isinstance(exc, MemoryError)
