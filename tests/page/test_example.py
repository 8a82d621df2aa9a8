"""The example page that the README shows is what its config gives, but for versions."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Callable
from pathlib import Path

from tokbench.bench.config.schema import load_config
from tokbench.bench.run.runner import RunOutcome

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
PACKED = re.compile(r"H4sI[A-Za-z0-9+/=]+")
VERSIONS = re.compile(r"<summary>Versions</summary>.*?</details>", re.DOTALL)
DEFINITIONS = re.compile(r'<section id="definitions".*?</section>|"metrics":\{.*?\}\}', re.DOTALL)
"""Those of docs/metrics.md, which a test of its own keeps true."""
HASHES = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b")


def masked(page: str) -> str:
    """Leave out versions and hashes; text that was packed, as any version of zlib does."""
    text = PACKED.sub(
        lambda found: gzip.decompress(base64.b64decode(found[0])).decode("utf-8", "replace"), page
    )
    text = DEFINITIONS.sub("DEFINITIONS", VERSIONS.sub("VERSIONS", text))
    return HASHES.sub("HASH", text)


def test_the_example_page_is_what_its_config_gives(measure: Callable[..., RunOutcome]) -> None:
    config = load_config(EXAMPLES / "page.yaml").run.model_dump(mode="json", exclude_defaults=True)
    results = measure(config).results
    page = (results.folder / "report.html").read_text(encoding="utf-8")
    stored = (EXAMPLES / "page.html").read_text(encoding="utf-8")
    found, wanted = masked(page).splitlines(), masked(stored).splitlines()
    other = [pair for pair in zip(found, wanted, strict=False) if pair[0] != pair[1]]
    assert [(a[:300], b[:300]) for a, b in other[:5]] == [], (
        "docs/examples/page.html is stale: run `make example`"
    )
    assert len(found) == len(wanted)
