"""What two versions of a library make of the same texts: each public call, text by text.

The texts are the documents of a config's corpora, and every special token of a tokenizer in four
surroundings. A version answers through the worker that needs nothing but the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tokbench.bench.corpus.slices import Slice
from tokbench.bench.errors import TokbenchError
from tokbench.bench.model import HasSpecialTokens, Place
from tokbench.bench.plugins import LoadContext
from tokbench.bench.speed.interpreters import LOAD_SECONDS, BareWorker, Library
from tokbench.bench.workers.sources import TokenizerSource, library_failures

MOST_SPECIALS = 200
"""Special tokens that are tried; models have up to a few thousand that are alike."""

SPECIAL = "special tokens"
"""How texts that spell special tokens are called."""

Compared = Literal["ids", "size"]


class ProbeTexts(NamedTuple):
    """Some texts under one name."""

    where: str
    documents: Sequence[str]


class VersionAnswers(NamedTuple):
    """What a version said: by call, an outcome for each of the texts."""

    version: str
    outcomes: Mapping[str, Sequence[Mapping[str, Any] | None]]


class Difference(NamedTuple):
    """Two versions differ: by which call, on which texts, and the first such text."""

    tokenizer: str
    call: str
    where: str
    before: str
    after: str
    example: str = ""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One tokenizer of the config: how its library loads it, and the texts."""

    key: str
    spec: Mapping[str, Any]
    texts: Sequence[ProbeTexts]
    file: Path
    """The texts, as a worker reads them."""

    def ask(self, python: Path) -> VersionAnswers:
        """Ask the library in an environment; raise `TokbenchError` where it cannot answer."""
        worker = BareWorker(Library(python=python, spec=self.spec), self.file)
        try:
            skipped = [i for i, one in enumerate(self.texts) if one.where != SPECIAL]
            request = {"do": "outcomes", "skipped": skipped}
            return VersionAnswers(worker.facts["version"], worker.ask(request, LOAD_SECONDS))
        finally:
            worker.stop()

    def differences(
        self, before: VersionAnswers, after: VersionAnswers, by: Compared
    ) -> list[Difference]:
        """Return where two versions differ, over the calls that both have.

        Raises `TokbenchError` where they have none in common.
        """
        if not before.outcomes.keys() & after.outcomes.keys():
            raise TokbenchError(f"{self.key}: the two versions have no call in common")
        return list(self._differences(before, after, by))

    def _differences(
        self, before: VersionAnswers, after: VersionAnswers, by: Compared
    ) -> Iterator[Difference]:
        for call, outcomes in before.outcomes.items():
            for place, one in enumerate(outcomes if call in after.outcomes else ()):
                other = after.outcomes[call][place]
                where = self.texts[place].where
                if one is None or other is None or (by == "size" and where == SPECIAL):
                    continue
                if one[_FIELDS[by]] != other[_FIELDS[by]]:
                    yield Difference(self.key, call, where, _said(one), _said(other))

    def with_example(self, found: Difference, before: Path, after: Path) -> Difference:
        """Return a difference with the first document whose ids differ."""
        place = next(i for i, one in enumerate(self.texts) if one.where == found.where)
        workers = []
        try:
            for python in (before, after):
                workers.append(BareWorker(Library(python=python, spec=self.spec), self.file))
            request = {"do": "documents", "call": found.call, "cell": place}
            hashes = [worker.ask(request, LOAD_SECONDS) for worker in workers]
            number = next(i for i, (a, b) in enumerate(zip(*hashes, strict=True)) if a != b)
            request |= {"do": "document", "document": number}
            ids = [_shown(worker.ask(request, LOAD_SECONDS)) for worker in workers]
        finally:
            for worker in workers:
                worker.stop()
        text = self.texts[place].documents[number]
        return found._replace(before=ids[0], after=ids[1], example=text)


_FIELDS: Mapping[Compared, str] = {"ids": "digest", "size": "tokens"}


def _said(outcome: Mapping[str, Any]) -> str:
    errors = f", {outcome['errors']:,} refused" if outcome["errors"] else ""
    return f"{outcome['tokens']:,} tokens{errors}"


def _shown(answer: Sequence[int] | str, most: int = 12) -> str:
    if isinstance(answer, str):
        return answer
    more = f" and {len(answer) - most} more" if len(answer) > most else ""
    return " ".join(map(str, answer[:most])) + more


def probe_of(
    source: TokenizerSource, spec: Mapping[str, Any], slices: Mapping[Place, Slice], folder: Path
) -> Probe:
    """Return the probe of a tokenizer; its texts are written into the folder."""
    texts = [ProbeTexts(" ".join(place), _documents(one)) for place, one in slices.items()]
    if spellings := _spellings(source):
        texts.append(ProbeTexts(SPECIAL, [t for s in spellings for t in _surrounded(s)]))
    file = folder / "texts.json"
    cells = [{"documents": list(one.documents)} for one in texts]
    file.write_text(json.dumps(cells), encoding="utf-8")
    return Probe(key=source.key, spec=spec, texts=texts, file=file)


def _documents(one: Slice) -> list[str]:
    return [text for batch in one.batches() for text in batch.texts]


def _spellings(source: TokenizerSource) -> list[str]:
    with library_failures(source.key):
        tokenizer = source.plugin.load(LoadContext(folder=source.folder))
    found = tokenizer.special_tokens if isinstance(tokenizer, HasSpecialTokens) else {}
    return [spelling for spelling in found if spelling][:MOST_SPECIALS]


def _surrounded(spelling: str) -> list[str]:
    """Return a special token alone, inside a word, doubled, and between spaces.

    >>> _surrounded("<s>")
    ['<s>', 'a<s>b', '<s><s>', 'a <s> b']
    """
    return [spelling, f"a{spelling}b", spelling * 2, f"a {spelling} b"]
