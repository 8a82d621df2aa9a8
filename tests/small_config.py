"""A config that runs in a second: two tokenizers on two languages of bundled text."""

from __future__ import annotations

from typing import Any

CONFIG: dict[str, Any] = {
    "name": "small",
    "corpora": {
        "s": {"source": "builtin", "dataset": "sentences", "languages": ["eng_Latn", "fin_Latn"]}
    },
    "tokenizers": {"a": {"type": "utf8_bytes"}, "b": {"type": "characters"}},
    "suites": ["efficiency", "fidelity"],
    "reports": [],
}
