"""Candidates for glitch tokens: entries that texts can produce, and that no text of the run did.

A model never trains the embedding of an id that its training text does not hold. Whether that is
so can be seen in the model only: with its embedding at hand, candidates have their norms.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Vocabulary

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LARGEST_HEADER = 100_000_000
_ROWS = 4096


@dataclass(frozen=True, kw_only=True)
class Glitch:
    """One candidate."""

    id: int
    text: str
    norm: float | None = None
    """Euclidean norm of its row of the embedding."""
    norm_quantile: float | None = None
    """Share of the rows with a smaller norm."""


def candidates(vocabulary: Vocabulary, seen: Iterable[int], *, shortest: int) -> dict[int, str]:
    """Return the unseen entries that are text of so many characters; the longest first.

    Of one length, early ids come first: what was merged early was frequent where the vocabulary
    was learned. Special and added entries, and those without a letter, are left out.
    """
    left_out = {*seen, *vocabulary.special_ids, *vocabulary.added_ids}
    found = {}
    for i, content in enumerate(vocabulary.token_bytes):
        text = None if content is None or i in left_out else _text(content)
        if text is not None and len(text) >= shortest and any(map(str.isalpha, text)):
            found[i] = text
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))


def _text(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def with_norms(found: Mapping[int, str], norms: npt.NDArray[np.float64] | None) -> list[Glitch]:
    """Return candidates with their norms, where there is a row for each id."""
    if norms is None:
        return [Glitch(id=i, text=text) for i, text in found.items()]
    order = np.sort(norms)
    return [
        Glitch(
            id=i,
            text=text,
            norm=float(norms[i]),
            norm_quantile=float(np.searchsorted(order, norms[i]) / len(order)),
        )
        for i, text in found.items()
        if i < len(norms)
    ]


def row_norms(path: Path, tensor: str | None, n_ids: int) -> npt.NDArray[np.float64]:
    """Return the Euclidean norm of each row of an embedding in a `.safetensors` file.

    Without a name, the file's only matrix with a row for every id is taken. The format is that of
    huggingface/safetensors: eight bytes with the length of a JSON header, the header, the tensors.
    Raises `TokenizerError` where it is not such a file, or holds no such matrix.
    """
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > _LARGEST_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(file.read(length))
        if not isinstance(header, dict):
            raise ValueError("its header is not a map")
        facts = _matrix(header, tensor, n_ids)
        start, end = facts["data_offsets"]
        rows, width = facts["shape"]
        kind = _TYPES[facts["dtype"]]
        if end - start != rows * width * np.dtype(kind).itemsize:
            raise ValueError("its offsets do not fit its shape")
        table = np.memmap(path, kind, "r", 8 + length + start, (rows, width))
    except OSError as exc:
        raise TokenizerError(f"{path.name}: cannot be read: {exc.strerror or exc}") from exc
    except (ValueError, KeyError, TypeError, struct.error, RecursionError) as exc:
        raise TokenizerError(
            f"{path.name}: is not a safetensors file with a matrix of {n_ids:,} rows or more: {exc}"
        ) from exc
    parts = (table[at : at + _ROWS] for at in range(0, rows, _ROWS))
    return np.concatenate([np.linalg.norm(_floats(part), axis=1) for part in parts])


def _floats(part: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    if part.dtype == np.uint16:  # bfloat16: the upper half of a float32
        return (part.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return part.astype(np.float64)


def _matrix(header: Mapping[str, Any], tensor: str | None, n_ids: int) -> Mapping[str, Any]:
    fitting = {
        name: facts
        for name, facts in header.items()
        if name != "__metadata__" and len(facts["shape"]) == 2 and facts["shape"][0] >= n_ids
    }
    if tensor is not None:
        if tensor not in fitting:
            raise ValueError(f"it has no such matrix {tensor!r}")
        named: Mapping[str, Any] = fitting[tensor]
        return named
    if len(fitting) != 1:
        raise ValueError(f"it has {len(fitting)} of them; name one after the file, as FILE#NAME")
    found: Mapping[str, Any] = next(iter(fitting.values()))
    return found
