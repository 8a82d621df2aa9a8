"""The finders that tokbench brings: encodings of tiktoken, samples, baselines, files, the Hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, get_args

from tokbench.bench.errors import InputError
from tokbench.bench.paths import user_path
from tokbench.bench.plugins import FinderPlugin


class Encodings(FinderPlugin):
    """An encoding of tiktoken, such as `o200k_base`."""

    order: ClassVar[int] = 10

    def names(self) -> tuple[str, ...]:
        """Return the encodings of tiktoken."""
        from tokbench.tokenizers_impl.adapters.tiktoken_files import EncodingName

        return get_args(EncodingName)

    def hints(self, name: str) -> str | None:
        """Name the encoding of an OpenAI model."""
        from tiktoken.model import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING

        prefixes = MODEL_PREFIX_TO_ENCODING.items()
        of_prefix = (encoding for prefix, encoding in prefixes if name.startswith(prefix))
        found = MODEL_TO_ENCODING.get(name) or next(of_prefix, None)
        return (
            None if found is None else f"did you mean {found!r}, the encoding of the model {name}"
        )

    def has(self, name: str, folder: Path) -> str | None:
        """Say what the name is."""
        return f"the encoding {name} of tiktoken" if name in self.names() else None

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry."""
        return {"type": "tiktoken", "encoding": name}


class Samples(FinderPlugin):
    """A vocabulary that a package of the `samples` extra carries, such as `qwen3_6`."""

    order: ClassVar[int] = 20

    def names(self) -> tuple[str, ...]:
        """Return the samples that are no encodings of tiktoken."""
        from tokbench.tokenizers_impl.adapters.samples import SAMPLES

        return tuple(set(SAMPLES) - set(Encodings().names()))

    def has(self, name: str, folder: Path) -> str | None:
        """Say what the name is."""
        return f"the sample {name}" if name in self.names() else None

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry."""
        from tokbench.tokenizers_impl.adapters.samples import SAMPLES

        kind = "tiktoken" if SAMPLES[name].format == "ranks" else "huggingface"
        return {"type": kind, "sample": name}


class Baselines(FinderPlugin):
    """A baseline without options: `utf8_bytes`, `characters`."""

    order: ClassVar[int] = 30

    def names(self) -> tuple[str, ...]:
        """Return the baselines."""
        return ("utf8_bytes", "characters")

    def has(self, name: str, folder: Path) -> str | None:
        """Say what the name is."""
        return f"the baseline {name}" if name in self.names() else None

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry."""
        return {"type": name}


class Files(FinderPlugin):
    """A file or folder, told apart by what it holds."""

    order: ClassVar[int] = 40

    def has(self, name: str, folder: Path) -> str | None:
        """Say what is at the path, None where nothing is."""
        if not name.strip():
            return None
        try:
            place = user_path(folder, name)
            kind = "folder" if place.is_dir() else "file" if place.exists() else None
        except (InputError, OSError, ValueError):  # no path at all: too long, with U+0000
            return None
        return None if kind is None else f"the {kind} {name}"

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry; `TokenizerError` says what a tokenizer's file would hold."""
        from tokbench.tokenizers_impl.finders.content import recognise

        return recognise(user_path(folder, name), name)


class Hub(FinderPlugin):
    """A repository of the Hub, `owner/name`, that has a tokenizer.json."""

    order: ClassVar[int] = 50

    def has(self, name: str, folder: Path) -> str | None:
        """Say what the name is; whether there is such a repository is not asked."""
        is_id = re.fullmatch(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", name, re.ASCII)
        looks_like_file = re.search(r"\.(json|model|txt|gz|tiktoken)$", name)
        return f"the Hub repository {name}" if is_id and not looks_like_file else None

    def entry(self, name: str, folder: Path) -> Mapping[str, Any]:
        """Return the config entry."""
        return {"type": "huggingface", "hub": name}
