"""Tokens that broke other tools' tables, as text, language, entry and description of a page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.run.runner import RunOutcome

pytestmark = pytest.mark.browser

LIST = ["</script><img src=x onerror=alert(1)>", "a|b", "`|`", "line\nbreak", "<b>bold</b>",
        "[l](u)", "\u202ertl\u202c", "مرحبا", "\x1b[31mred", "\u200b", "1e5", "-->", "]]>", "&lt;",
        "{{ 7*7 }}", "${7*7}", "javascript:alert(1)", "\ufeff", "\u2028"]  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, cases_folder: Path) -> list[str]:
    file = cases_folder / "table_tokens.jsonl"
    lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line]
    return list(dict.fromkeys([*LIST, *(json.loads(line)["token"] for line in lines)]))


def test_every_hostile_token_is_inert_wherever_a_page_shows_it(
    hostile: list[str], measure: Callable[..., RunOutcome], visit: Callable[..., Any]
) -> None:
    """The page itself is checked by `visit`: nothing said, nothing asked for."""
    languages = [one for one in hostile if one.strip() and "\0" not in one]
    rows = [{"id": f"{i} {one}", "text": f"{one} {one}"} for i, one in enumerate(hostile)]
    config = {
        "description": " ".join(hostile),
        "texts": 50,
        "corpora": {
            "texts": {
                "source": "files",
                "path": "a.jsonl",
                "languages": {key: {"file": "a.jsonl", "tag": "en"} for key in languages[:1]},
                "id": "id",
            },
            "more": {
                "source": "files",
                "path": "a.jsonl",
                "languages": {
                    f"{key} ": {"file": "a.jsonl", "tag": f"en-{tag}"}
                    for key, tag in zip(languages, REGIONS, strict=False)
                },
                "id": "id",
            },
        },
        "tokenizers": {"pieces": {"type": "toy_pieces", "pieces": hostile}, "b": {"type": "utf8_bytes"}},
        "suites": ["efficiency", "fidelity"],
        "reports": ["html"],
    }  # fmt: skip
    run = measure(config, {"a.jsonl": rows})
    page = visit(run.results.folder / "report.html")
    corpora = page.value("data.corpora.map((one) => one.languages.length)")
    shown = ""
    for corpus, n in enumerate(corpora):
        page.page.evaluate(
            "(corpus) => { state.corpus = corpus; state.weights.clear(); refresh(); }", corpus
        )
        for language, document in [(0, d) for d in range(len(hostile))] + [
            (at, 0) for at in range(n)
        ]:
            page.page.evaluate("([l, d]) => { go(l, d); }", [language, document])
            page.settle()
            shown += page.text("#columns")
    for part in ("</script>", "onerror=alert(1)", "<b>", "a|b", "{{", "javascript:"):
        assert part in shown.replace("\n", "")
    assert page.page.locator("img, iframe, object, b").count() == 0
    assert page.page.locator("script").count() == 4
    assert page.page.locator("[style], [onerror], [onclick], [href^=javascript]").count() == 0
    heat = page.page.locator("#heat tbody th[scope=row]").all_inner_texts()
    assert len(heat) == corpora[-1]


REGIONS = ("AE", "AF", "AG", "AI", "AL", "AM", "AO", "AR", "AS", "AT", "AU", "AW", "AZ", "BA", "BB",
           "BD", "BE", "BF", "BG", "BH", "BI", "BJ", "BM", "BN", "BO", "BR")  # fmt: skip
