"""tokenizer.json files of the Hugging Face Hub, with the revision that was resolved.

This is what `tokenizers`' own `from_pretrained` does, a download through `huggingface_hub`, but
it keeps the path, which holds the commit, and tells the ways to fail apart.
"""

from __future__ import annotations

from pathlib import Path

from bench.errors import TokenizerError

WAIT_SECONDS = 10.0
_FILE = "tokenizer.json"


def tokenizer_json_of(repository: str, revision: str | None) -> tuple[str, str]:
    """Return the text of the repository's tokenizer.json, and `repository@commit`.

    Raises `TokenizerError` that tells apart: needs a login, needs access, is not there, and
    cannot be reached.
    """
    path = _download(repository, revision)
    return path.read_text(encoding="utf-8"), f"{repository}@{path.parent.name}"


def _download(repository: str, revision: str | None) -> Path:
    import huggingface_hub
    from huggingface_hub import errors

    asked = repository if revision is None else f"{repository} at revision {revision!r}"
    try:
        return Path(
            huggingface_hub.hf_hub_download(
                repository, _FILE, revision=revision, etag_timeout=WAIT_SECONDS
            )
        )
    except errors.GatedRepoError as exc:
        raise TokenizerError(
            f"Hub repository {asked} is gated: ask for access on its page, then log in with "
            "`hf auth login`"
        ) from exc
    except errors.RevisionNotFoundError as exc:
        raise TokenizerError(f"Hub repository {asked}: there is no such revision") from exc
    except errors.RepositoryNotFoundError as exc:
        raise TokenizerError(
            f"Hub repository {asked} does not exist, or is private and needs `hf auth login`"
        ) from exc
    except errors.LocalEntryNotFoundError as exc:
        raise TokenizerError(
            f"Hub repository {asked} is not in the local cache and the Hub cannot be reached; "
            "check the network, HF_ENDPOINT and HF_HUB_OFFLINE, or give the file itself"
        ) from exc
    except errors.EntryNotFoundError as exc:
        raise TokenizerError(f"Hub repository {asked} has no {_FILE}; this type needs one") from exc
    except errors.HFValidationError as exc:
        raise TokenizerError(f"hub: {repository!r} is not a repository id ({exc})") from exc
    except (errors.HfHubHTTPError, OSError) as exc:
        raise TokenizerError(
            f"Hub repository {asked} cannot be read: {type(exc).__name__}; check the network and "
            "your login, or give the file itself"
        ) from exc
