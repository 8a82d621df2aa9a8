"""A real browser for the tests of pages; they are skipped where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tokbench.bench.results.run_folder import Results
from tokbench.bench.run.runner import RunOutcome

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running Chromium of the system, by Playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: tokbench[browser]")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"needs a browser on PATH: {', '.join(NAMES)}")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page in a browser, and everything that it said or asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        found: str = self.page.locator(selector).inner_text()
        return found

    def value(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def faults(self) -> list[tuple[str, list[str]]]:
        """Return what axe calls serious or critical: the rule, and some elements."""
        axe = pytest.importorskip(
            "axe_playwright_python.base", reason="needs axe: tokbench[browser]"
        )
        self.value(axe.AXE_FILE_PATH.read_text(encoding="utf-8") + "; undefined")
        return [
            (one["id"], [node["html"][:200] for node in one["nodes"]][:3])
            for one in self.value("axe.run()")["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    def settle(self) -> None:
        """Wait until the explorer shows what was asked for."""
        self.page.evaluate("explorerDrawn")


Open = Callable[..., Visit]


@pytest.fixture
def visit(chromium: Any) -> Iterator[Open]:
    """Open a file; afterwards no page may have said, asked for or thrown anything."""
    visits: list[Visit] = []
    contexts: list[Any] = []

    def visit_file(file: Path, **options: Any) -> Visit:
        context = chromium.new_context(**options)
        contexts.append(context)
        one = Visit(context.new_page())
        visits.append(one)
        one.page.on("console", lambda message: one.said.append(message.text))
        one.page.on("pageerror", lambda error: one.said.append(str(error)))
        one.page.on("dialog", lambda dialog: one.said.append(f"dialog {dialog.message}"))
        one.page.on("request", lambda request: one.asked.append(request.url))
        one.page.goto(file.as_uri())
        one.page.wait_for_selector("html[data-ready=yes]", state="attached")
        return one

    yield visit_file
    for one in visits:
        assert one.said == []
        assert [url for url in one.asked if not url.startswith("file:")] == []
        assert len(one.asked) == 1
    for context in contexts:
        context.close()


N = 110
"""Documents of a language: enough for plain percentiles, which are what a focus uses."""

TEXTS = {
    "eng_Latn": ["the cat", "a cat is the cat", "the end of the the", "sat"],
    "hin_Deva": ["बिल्ली यहाँ है", "वह घर", "the बिल्ली"],
    "tha_Thai": ["แมวอยู่ที่นี่", "บ้าน", "the แมว"],
    "kor_Hang": ["고양이", "집에 고양이", "고양이가 있다"],
    "arb_Arab": ["القطة هنا", "بيت"],
    HOSTILE: [HOSTILE, "The </script> cat"],
}


def texts() -> dict[str, list[dict[str, str]]]:
    files = {}
    for number, words in enumerate(TEXTS.values()):
        rows = [
            {"id": f"{HOSTILE}{i}", "text": f"{words[i % len(words)]} {i % 7}"} for i in range(N)
        ]
        files[f"{number}.jsonl"] = rows
    return files


CONFIG: dict[str, Any] = {
    "description": HOSTILE,
    "texts": 12,
    "resamples": 400,
    "corpora": {
        "texts": {
            "source": "files",
            "path": "{file}",
            "languages": {
                key: {"file": f"{number}.jsonl", **({"tag": "fr"} if key == HOSTILE else {})}
                for number, key in enumerate(TEXTS)
            },
            "id": "id",
            "parallel": True,
            "pivot": "eng_Latn",
        }
    },
    "tokenizers": {
        "bytes": {"type": "utf8_bytes"},
        "hindi": {"type": "toy_pieces", "pieces": ["बिल्ली", " यहाँ", "the", "</script>"]},
        "english": {"type": "toy_pieces", "pieces": ["the", " the", " cat", "<img src=x onerror=alert(1)>"]},
        "lossy": {"type": "toy_pieces", "pieces": ["the", " cat", "고양이"], "lowercase": True},
    },
    "suites": {"efficiency": {}, "multilingual": {}, "fidelity": {}},
}  # fmt: skip


@pytest.fixture(scope="session")
def small_run(measure: Callable[..., RunOutcome]) -> Results:
    """A run of six languages and four tokenizers with its page, full of hostile names."""
    return measure(CONFIG, texts()).results


@pytest.fixture(scope="session")
def page_file(small_run: Results) -> Path:
    return small_run.folder / "report.html"
