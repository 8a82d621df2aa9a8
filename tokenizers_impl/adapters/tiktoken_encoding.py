"""tiktoken: its own encodings by name, and any rank file with a pattern and special tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters import ranks, samples
from tokbench.tokenizers_impl.adapters.heads import unlike
from tokbench.tokenizers_impl.adapters.tiktoken_files import EncodingName, load_encoding
from tokbench.tokenizers_impl.files import MALFORMED, json_of, read_file


def _no_model(value: object) -> object:
    """Refuse the name of a model with the name of its encoding."""
    if not isinstance(value, str) or value in get_args(EncodingName):
        return value
    from tiktoken import model

    try:
        encoding = model.encoding_name_for_model(re.sub(r"^gpt(?=[3-9])", "gpt-", value))
    except KeyError:
        return value
    raise PydanticCustomError(
        "model_name",
        "{model} is a model; its encoding is {encoding}: write `encoding: {encoding}`",
        {"model": repr(value), "encoding": encoding},
    )


class Tiktoken(TokenizerPlugin):
    """An encoding of tiktoken, a rank file, or a sample: exactly one of the three.

    A rank file holds neither its pattern nor its special tokens. Both are given here, or read
    from `spec`, a JSON file with `pat_str` and `special_tokens` (id by spelling) at its top or
    below the key `spec_key`.
    """

    encoding: Annotated[EncodingName | None, BeforeValidator(_no_model)] = Field(
        None, description="Name of an encoding of tiktoken."
    )
    file: str | None = Field(
        None,
        description="A file of base64 ranks, such as `qwen.tiktoken` or Llama 3's "
        "`tokenizer.model`.",
    )
    sample: Literal["qwen", "qwen3_6"] | None = Field(
        None, description="`qwen` or `qwen3_6`, from the `samples` extra."
    )
    pattern: str | None = Field(
        None,
        description="Regular expression that cuts text before merging; a rank file does not hold "
        "it.",
    )
    special_tokens: Mapping[str, int] | None = Field(
        None, description="Map from spelling to id, for a rank file."
    )
    spec: str | None = Field(
        None,
        description="JSON file with `pat_str` and `special_tokens`, in place of `pattern` and "
        "`special_tokens`.",
    )
    spec_key: str | None = Field(None, description="Key in the `spec` file that holds them.")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [self.encoding, self.file, self.sample]
        if sum(source is not None for source in sources) != 1:
            raise ValueError("give exactly one of encoding, file and sample")
        details = [self.pattern, self.special_tokens, self.spec, self.spec_key]
        if self.file is None and any(detail is not None for detail in details):
            raise ValueError("pattern, special_tokens, spec and spec_key belong to file only")
        if self.file is not None and (self.pattern is None) == (self.spec is None):
            raise ValueError("a rank file needs its pattern: give either pattern or spec")
        if self.pattern in (*get_args(EncodingName), "cl100k", "o200k", "none"):
            raise ValueError(
                f"pattern {self.pattern} is the name of an encoding, not a regular expression, which "
                "would match these letters alone; write the expression out, or name a JSON file "
                "that holds it in `spec`"
            )
        if self.spec is None and self.spec_key is not None:
            raise ValueError("spec_key needs spec")
        if self.spec is not None and self.special_tokens is not None:
            raise ValueError("give special_tokens here or in spec, not both")
        return self

    def bare(self, context: LoadContext, folder: Path) -> Mapping[str, Any]:
        """Name the library and write the ranks; no download is needed where they are read."""
        loaded = self.load(context)
        file = folder / "ranks.tiktoken"
        file.write_bytes(ranks.write_ranks(loaded.ranks))
        return {
            "library": "tiktoken",
            "file": str(file),
            "pattern": loaded.encoding._pat_str,
            "special_tokens": dict(loaded.special_tokens),
        }

    def misfit(self, option: str, head: bytes) -> str | None:
        """Say so where a rank file does not begin with ranks, or a spec not like JSON."""
        return unlike(head, "base64 ranks" if option == "file" else "JSON")

    def load(self, context: LoadContext) -> ranks.RankTokenizer:
        """Find, verify and build the tokenizer."""
        if self.encoding is not None:
            return from_encoding(load_encoding(self.encoding))
        if self.sample is not None:
            return _from_sample(samples.SAMPLES[self.sample])
        return self._from_file(context)

    def _from_file(self, context: LoadContext) -> ranks.RankTokenizer:
        assert self.file is not None
        pattern, special_tokens = self.pattern, self.special_tokens or {}
        if self.spec is not None:
            pattern, special_tokens = _read_spec(context.resolve(self.spec), self.spec_key)
        assert pattern is not None
        content = read_file(context.resolve(self.file), self.file)
        return ranks.build(
            name=self.file,
            pattern=pattern,
            ranks=ranks.parse_ranks(content, self.file),
            special_tokens=special_tokens,
        )


def from_encoding(encoding: object) -> ranks.RankTokenizer:
    """Return the tokenizer around a `tiktoken.Encoding`."""
    # Private, but tiktoken offers no other way to its pattern, and all three have been there
    # under these names since its first release.
    pattern = encoding._pat_str  # type: ignore[attr-defined]
    mergeable = encoding._mergeable_ranks  # type: ignore[attr-defined]
    special = encoding._special_tokens  # type: ignore[attr-defined]
    return ranks.from_parts(encoding, pattern, mergeable, special)


def _from_sample(sample: samples.SampleFile) -> ranks.RankTokenizer:
    assert sample.pattern is not None
    return ranks.build(
        name=sample.name,
        pattern=sample.pattern,
        ranks=ranks.parse_ranks(samples.read(sample), sample.path),
        special_tokens=sample.special_tokens,
    )


def _read_spec(path: Path, key: str | None) -> tuple[str, dict[str, int]]:
    where = "at its top" if key is None else f"below {key!r}"
    hint = f"; expected JSON with pat_str and special_tokens {where}"
    spec: Any = json_of(read_file(path, path.name), path.name, hint)
    try:
        spec = spec if key is None else spec[key]
        specials = {str(s): int(i) for s, i in spec.get("special_tokens", {}).items()}
        return str(spec["pat_str"]), specials
    except MALFORMED as exc:
        raise TokenizerError(
            f"{path.name}: expected JSON with pat_str and special_tokens {where} "
            f"({type(exc).__name__}: {exc}); set spec_key to the right entry"
        ) from exc
