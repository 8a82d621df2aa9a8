"""Files of Hub repositories, with the revision that was resolved.

This is what `tokenizers`' own `from_pretrained` does, a download through `huggingface_hub`, but
it keeps the path, which holds the commit, and tells the ways to fail apart.
"""

from __future__ import annotations

from pathlib import Path

from tokbench.bench.errors import TokenizerError
from tokbench.bench.workers.hub_access import lock_threads_only, why_refused

_FILE = "tokenizer.json"


def tokenizer_json_of(repository: str, revision: str | None) -> tuple[str, str]:
    """Return the text of the repository's tokenizer.json, and `repository@commit`.

    Raises `TokenizerError` that tells apart: needs a login, needs access, is not there, refused
    for now, damaged, and cannot be reached.
    """
    path = _download(repository, revision)
    return path.read_text(encoding="utf-8"), f"{repository}@{path.parent.name}"


def _download(repository: str, revision: str | None) -> Path:
    import huggingface_hub
    from huggingface_hub import errors

    lock_threads_only()
    try:
        return Path(huggingface_hub.hf_hub_download(repository, _FILE, revision=revision))
    except errors.LocalEntryNotFoundError as exc:
        raise refused(repository, revision, exc) from None
    except errors.EntryNotFoundError as exc:
        raise TokenizerError(
            f"{named(repository, revision)} has no {_FILE}, which this type requires; try "
            "type: transformers"
        ) from exc
    except errors.HFValidationError as exc:
        raise TokenizerError(f"hub: {repository!r} is not a repository id ({exc})") from exc
    except Exception as exc:  # what it raises depends on its version; all of it is put in words
        raise refused(repository, revision, exc) from None


def named(repository: str, revision: str | None) -> str:
    """Return a repository as messages name it."""
    at = "" if revision is None else f" at revision {revision!r}"
    return f"Hub repository {repository}{at}"


def refused(repository: str, revision: str | None, exc: Exception) -> TokenizerError:
    """Return the error for a repository that could not be read, without quoting a request."""
    words = why_refused(exc, revision) or f"cannot be read: {type(exc).__name__}"
    return TokenizerError(f"{named(repository, revision)} {words}")
