"""The text of one language as one model of the user's reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tokbench.bench.results.compute import Decoder
from tokbench.bench.results.costs import ModelCost
from tokbench.reports.view import View

Line = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class PricedText:
    """A language of a corpus under a model: counts of each document, shape (documents,)."""

    name: str
    """Of the model."""
    model: ModelCost
    corpus: str
    language: str
    document_ids: list[str]
    tokens: npt.NDArray[np.int64]
    bytes: npt.NDArray[np.int64]
    characters: int
    partial: bool
    lost: float | None
    limit: float

    @property
    def survives(self) -> bool:
        """Whether so little text is lost that its tokens are its cost."""
        return self.lost is None or self.lost <= self.limit


def texts_of(view: View, name: str, model: ModelCost) -> Iterator[PricedText]:
    """Yield the text of every corpus and language that a model's tokenizer counted."""
    for corpus in view.corpora:
        cells = {
            cell["language"]: cell
            for cell in view.run["cells"]
            if (cell["tokenizer"], cell["corpus"]) == (model.tokenizer, corpus) and cell["n"]
        }
        if not cells:
            continue
        table = view.results.documents(model.tokenizer, corpus)
        languages = np.array(table["language"].to_pylist())
        for language in view.languages(corpus):
            if language not in cells:
                continue
            mine = table.filter(languages == language)
            yield PricedText(
                name=name,
                model=model,
                corpus=corpus,
                language=language,
                document_ids=mine["document_id"].to_pylist(),
                tokens=mine["tokens"].to_numpy(),
                bytes=mine["bytes"].to_numpy(),
                characters=int(mine["characters"].to_numpy().sum()),
                partial=cells[language]["status"] == "partial",
                lost=view.value("lost_byte_share", model.tokenizer, corpus, language),
                limit=view.run["policy"]["lost_limit"],
            )


def decoder_of(view: View, model: ModelCost) -> Decoder | None:
    """Return a model's decoder; None where no architecture was given."""
    if model.architecture is None or model.width is None:
        return None
    ids = view.run["tokenizers"][model.tokenizer]["n_ids"]
    return Decoder(
        architecture=model.architecture,
        width=model.width,
        vocabulary=model.architecture.vocabulary or ids,
        tied=model.tied_embeddings,
    )
