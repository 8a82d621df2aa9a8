"""Where the files of tiktoken's encodings come from, and that they are the right ones.

The order: the user's own cache (TIKTOKEN_CACHE_DIR), a package of the `samples` extra, tiktoken's
default cache, tokbench's cache, the network. Whatever is found is given to tiktoken as a cache
folder for that one call, so that tiktoken reads and verifies it as it always does. Hashes are
checked here first because tiktoken deletes a cached file that has the wrong one. GPT-2 alone is
built here: tiktoken reads its vocabulary twice, from two files, to prove that they agree.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tokbench.bench.cache import cache_folder
from tokbench.bench.errors import TokenizerError
from tokbench.tokenizers_impl.adapters import samples
from tokbench.tokenizers_impl.byte_alphabet import BYTE_OF

EncodingName = Literal[
    "gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"
]
DOWNLOAD_SECONDS = 60.0
BYTE_CHARACTERS = {ord(character): byte for character, byte in BYTE_OF.items()}
"""For `str.translate`: the characters that GPT-2 writes bytes with, as code points below 256."""

_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class Blob:
    """A file that tiktoken asks the network for, with the hash that tiktoken pins."""

    path: str
    sha256: str

    @property
    def url(self) -> str:
        """The address, which is also what tiktoken's cache is keyed by."""
        return f"https://openaipublic.blob.core.windows.net/{self.path}"

    @property
    def cache_name(self) -> str:
        """The file's name in a cache folder of tiktoken.

        >>> BLOBS["cl100k_base"][0].cache_name
        '9b5ad71b2ce5302211f9c61530b329a4922fc6a4'
        """
        return hashlib.sha1(self.url.encode(), usedforsecurity=False).hexdigest()


_VOCAB_BPE = Blob(
    path="gpt-2/encodings/main/vocab.bpe",
    sha256="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
)
_ENCODER_JSON = Blob(
    path="gpt-2/encodings/main/encoder.json",
    sha256="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
)
_R50K = Blob(
    path="encodings/r50k_base.tiktoken",
    sha256="306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
)
_P50K = Blob(
    path="encodings/p50k_base.tiktoken",
    sha256="94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
)
_CL100K = Blob(
    path="encodings/cl100k_base.tiktoken",
    sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_O200K = Blob(
    path="encodings/o200k_base.tiktoken",
    sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)

BLOBS: Mapping[EncodingName, tuple[Blob, ...]] = {
    "gpt2": (_VOCAB_BPE, _ENCODER_JSON),
    "r50k_base": (_R50K,),
    "p50k_base": (_P50K,),
    "p50k_edit": (_P50K,),
    "cl100k_base": (_CL100K,),
    "o200k_base": (_O200K,),
    "o200k_harmony": (_O200K,),
}


def load_encoding(name: EncodingName) -> Any:
    """Return tiktoken's encoding of that name.

    Raises `TokenizerError` when a file is nowhere to be found or is not the right one.
    """
    folder = _folder_with(name, BLOBS[name])
    return _gpt2(folder) if name == "gpt2" else _get_encoding(name, folder)


def _folder_with(name: EncodingName, blobs: tuple[Blob, ...]) -> Path:
    for folder in _folders(blobs):
        if all(_is_right(folder, blob) for blob in blobs):
            return folder
    for blob in blobs:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            raise TokenizerError(_nowhere(name, blob, "--offline, or HF_HUB_OFFLINE, is set"))
        _stage(blob, _download(name, blob))
    return staging_folder()


def _folders(blobs: tuple[Blob, ...]) -> Iterator[Path]:
    """Where to look, in order; each is asked for only when the ones before lack a file."""
    if own := _user_folder(blobs):
        yield own
    if filled := _sample_folder(blobs):
        yield filled
    # Caches that no one named: a wrong file in them is passed over.
    yield Path(tempfile.gettempdir()) / "data-gym-cache"
    yield staging_folder()


def _user_folder(blobs: tuple[Blob, ...]) -> Path | None:
    """The cache that the user named; a wrong file in it is an error, and stays where it is."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            break
    else:
        return None
    if not os.environ[variable]:  # tiktoken's way to say: no cache
        return None
    folder = Path(os.environ[variable])
    for blob in blobs:
        if (folder / blob.cache_name).exists() and not _is_right(folder, blob):
            raise TokenizerError(
                f"{variable} holds {blob.cache_name} ({blob.url}), but its SHA-256 is not the one "
                f"that tiktoken pins ({blob.sha256}); delete that file or point {variable} "
                "at another folder"
            )
    return folder


def _sample_folder(blobs: tuple[Blob, ...]) -> Path | None:
    """The staging folder, filled from sample packages, where they carry every file."""
    found = [samples.with_sha256(blob.sha256) for blob in blobs]
    if not all(sample and samples.is_installed(sample) for sample in found):
        return None
    for blob, sample in zip(blobs, found, strict=True):
        if sample and not _is_right(staging_folder(), blob):
            _stage(blob, samples.read(sample))
    return staging_folder()


def _is_right(folder: Path, blob: Blob) -> bool:
    try:
        content = (folder / blob.cache_name).read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == blob.sha256


def staging_folder() -> Path:
    """The part of tokbench's cache that is laid out as a cache of tiktoken."""
    return cache_folder("tiktoken")


def _stage(blob: Blob, content: bytes) -> None:
    folder = staging_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        Path(file.name).replace(folder / blob.cache_name)
    except OSError as exc:
        raise TokenizerError(
            f"tokbench's cache cannot be written ({exc}); set TOKBENCH_CACHE to a folder that can"
        ) from exc


def _download(name: EncodingName, blob: Blob) -> bytes:
    """Fetch through tiktoken, which sets no time limit itself; wait a stated time at most."""
    answers: queue.Queue[bytes | Exception] = queue.Queue()
    threading.Thread(target=_fetch, args=(blob, answers), daemon=True).start()
    try:
        answer = answers.get(timeout=DOWNLOAD_SECONDS)
    except queue.Empty:
        answer = TimeoutError(f"no answer within {DOWNLOAD_SECONDS:.0f} seconds")
    if isinstance(answer, Exception):
        raise TokenizerError(_nowhere(name, blob, str(answer))) from answer
    if hashlib.sha256(answer).hexdigest() != blob.sha256:
        raise TokenizerError(_nowhere(name, blob, "what came back has the wrong SHA-256"))
    return answer


def _fetch(blob: Blob, answers: queue.Queue[bytes | Exception]) -> None:
    import tiktoken.load

    try:
        answers.put(tiktoken.load.read_file(blob.url))
    except Exception as exc:  # anything a network can do; the waiting side reports it
        answers.put(exc)


def _nowhere(name: EncodingName, blob: Blob, why: str) -> str:
    sample = samples.with_sha256(blob.sha256)
    advice = f"set TIKTOKEN_CACHE_DIR to a folder that holds it as {blob.cache_name}"
    if sample:
        advice = f"{samples.INSTALL} (package {sample.distribution} carries it), or {advice}"
    return (
        f"encoding {name!r}: {blob.url} is in no cache and cannot be downloaded ({why}); {advice}"
    )


def _gpt2(folder: Path) -> Any:
    """Return what tiktoken builds, in a third of its time: SHA-256 proves that both files agree."""
    import tiktoken
    from tiktoken_ext.openai_public import ENDOFTEXT, r50k_pat_str

    entries: dict[str, int] = json.loads((folder / _ENCODER_JSON.cache_name).read_bytes())
    end = entries.pop(ENDOFTEXT)
    return tiktoken.Encoding(
        name="gpt2",
        pat_str=r50k_pat_str,
        mergeable_ranks={
            entry.translate(BYTE_CHARACTERS).encode("latin-1"): rank
            for entry, rank in entries.items()
        },
        special_tokens={ENDOFTEXT: end},
        explicit_n_vocab=len(entries) + 1,
    )


def _get_encoding(name: EncodingName, folder: Path) -> Any:
    import tiktoken

    try:
        with _lock, _environment("TIKTOKEN_CACHE_DIR", str(folder)):
            return tiktoken.get_encoding(name)
    except (ValueError, OSError) as exc:
        raise TokenizerError(
            f"encoding {name!r}: tiktoken {tiktoken.__version__} cannot build it from the files "
            f"tokbench found: {exc}; use the version of tiktoken that tokbench asks for"
        ) from exc


@contextmanager
def _environment(variable: str, value: str) -> Iterator[None]:
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before
