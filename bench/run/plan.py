"""The plan of a run, without any measurement."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from tokbench.bench.config.schema import Config
from tokbench.bench.count.tally import CellKey
from tokbench.bench.environment import library_versions
from tokbench.bench.markup import table
from tokbench.bench.results.schemas import SCHEMA_VERSION


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells of a run, in the order of the config, and a hash of their inputs."""

    name: str
    cells: tuple[CellKey, ...]
    sha256: str

    def describe(self) -> str:
        """Return the plan in words, one line per tokenizer and corpus."""
        groups: dict[tuple[str, str], list[str]] = {}
        for cell in self.cells:
            groups.setdefault((cell.tokenizer, cell.corpus), []).append(cell.language)
        rows = [
            [tokenizer, corpus, str(len(languages)), ", ".join(languages)]
            for (tokenizer, corpus), languages in groups.items()
        ]
        listed = table(["tokenizer", "corpus", "cells", "languages"], rows, right=[2])
        return f"{self.name}: {len(self.cells)} cells\n{listed}"


def make_plan(config: Config) -> Plan:
    """Return the plan of a config: every tokenizer on every language of every corpus."""
    cells = tuple(
        CellKey(tokenizer, corpus, language)
        for tokenizer in config.tokenizers
        for corpus, entry in config.run.corpora.items()
        for language in entry.options()
    )
    decides = {
        "config": config.sha256(),
        "schema": SCHEMA_VERSION,
        "versions": library_versions(),
    }
    text = json.dumps(decides, sort_keys=True)
    return Plan(name=config.run.name, cells=cells, sha256=hashlib.sha256(text.encode()).hexdigest())
