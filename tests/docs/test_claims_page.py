"""`docs/claims.md` is what `docs/claims.yaml` gives: by data where it is there, by hand elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import REPOSITORY
from tokbench.api import load_tokenizer
from tokbench.bench.config.schema import load_options
from tokbench.bench.errors import TokenizerError
from tokbench.suites.anchors.claims import Claims, CountClaim, PiecesClaim, measured, page

SOURCE, PAGE = REPOSITORY / "docs" / "claims.yaml", REPOSITORY / "docs" / "claims.md"


@pytest.fixture(scope="module")
def claims() -> Claims:
    return load_options(SOURCE, Claims)


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return {title: body for title, _, body in (part.partition("\n") for part in parts)}


def test_the_page_is_what_the_data_gives(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(data_folder / "tiktoken_cache"))
    assert PAGE.read_text(encoding="utf-8") == page(SOURCE, data_folder), (
        "run `make claims DATA=folder`"
    )


def test_every_claim_has_its_section_with_its_remark(
    claims: Claims, sections: dict[str, str]
) -> None:
    assert list(sections) == [claim.claim for claim in claims.claims]
    for claim in claims.claims:
        assert claim.remark.strip() in sections[claim.claim]


class Samples:
    """Evidence for claims about single words, from vocabularies that come in packages."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims

    def tokenizer(self, name: str) -> object:
        return load_tokenizer(self._claims.tokenizers[name], folder=Path())


@pytest.mark.parametrize("kind", [PiecesClaim, CountClaim])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_words_are_cut_as_the_page_says(
    claims: Claims, sections: dict[str, str], name: str, kind: type[PiecesClaim | CountClaim]
) -> None:
    [claim] = [claim for claim in claims.claims if isinstance(claim.measure, kind)]
    measure = claim.measure.model_copy(update={"tokenizers": (name,)})
    try:
        _, lines = measured(measure, Samples(claims))  # type: ignore[arg-type]
    except TokenizerError as exc:
        pytest.skip(f"no vocabulary of {name} here: {exc}")
    assert len(lines) == len(claim.measure.texts)
    for line in lines:
        assert (
            f"| {' | '.join(line.cells)} | {'yes' if line.holds else 'no'} |"
            in sections[claim.claim]
        )
