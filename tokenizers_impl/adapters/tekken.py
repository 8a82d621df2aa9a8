"""Tekken, Mistral's JSON form of byte-level BPE: ranks and pattern in one file.

An id is the rank plus the number of special tokens, which come first. A file holds more ranks
than its models use: only those that fit `default_vocab_size` count.
"""

from __future__ import annotations

import base64
from typing import Any

from pydantic import Field

from tokbench.bench.errors import TokenizerError
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.adapters import ranks
from tokbench.tokenizers_impl.adapters.heads import unlike
from tokbench.tokenizers_impl.files import MALFORMED, bounded, json_of, read_file


class Tekken(TokenizerPlugin):
    """A `tekken.json` or `tekken.json.gz` of Mistral."""

    file: str = Field(description="Mistral's `tekken.json` or `tekken.json.gz`.")

    def misfit(self, option: str, head: bytes) -> str | None:
        """Say so where the file does not begin like JSON."""
        return unlike(head, "JSON")

    def load(self, context: LoadContext) -> ranks.RankTokenizer:
        """Read the file; raise `TokenizerError` when it is not of this kind."""
        content = read_file(context.resolve(self.file), self.file)
        spec = json_of(content, self.file)
        try:
            pattern = spec["config"]["pattern"]
            specials = _special_tokens(spec)
            by_token = _ids(spec, len(specials))
        except MALFORMED as exc:
            raise TokenizerError(
                f"{self.file}: not Mistral's JSON with config and vocab "
                f"({type(exc).__name__}: {exc}); a tokenizer.json is of type huggingface"
            ) from exc
        return ranks.build(name=self.file, pattern=pattern, ranks=by_token, special_tokens=specials)


def _ids(spec: dict[str, Any], n_special: int) -> dict[bytes, int]:
    """Ids in place of ranks: they are shifted alike, so the order of merges stays."""
    n_ranks = spec["config"]["default_vocab_size"] - n_special
    ids: dict[bytes, int] = {}
    for entry in spec["vocab"]:
        token, rank = base64.b64decode(entry["token_bytes"]), int(entry["rank"])
        if rank < n_ranks and ids.setdefault(token, rank + n_special) != rank + n_special:
            raise TokenizerError(f"two ranks for the token {token!r}; the file is damaged")
    return ids


def _special_tokens(spec: dict[str, Any]) -> dict[str, int]:
    """Later files spell their special tokens out; every file reserves a number of them."""
    n_special = bounded(int(spec["config"]["default_num_special_tokens"]), "it")
    named = {entry["rank"]: entry["token_str"] for entry in spec.get("special_tokens") or []}
    return {named.get(i, f"<SPECIAL_{i}>"): i for i in range(n_special)}
