"""One check of a tokenizer: a verdict, what it costs its users, and where to read on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from tokbench.bench.markup import visible
from tokbench.bench.model import Finding

Verdict = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, kw_only=True)
class HealthFinding:
    """What one check came to.

    `warn` is a property that costs something, such as a closed alphabet; `fail` is a fault: the
    tokenizer breaks on a text, contradicts its file or itself, or drops text without a trace.
    """

    name: str
    verdict: Verdict
    text: str
    cost: str = ""
    """What follows from it; empty where nothing does."""
    page: str = ""
    """Where in the documentation to read on."""

    def finding(self, tokenizer: str) -> Finding:
        """Return it as a finding, whose data hold the same as plain values."""
        return Finding(
            kind="note" if self.verdict == "pass" else "warning",
            reason="verdict",
            tokenizer=tokenizer,
            message=f"{self.name}: {self.verdict}: {self.text}",
            data=asdict(self),
        )


def quoted(text: str, most: int = 30) -> str:
    """Return a text in quotation marks, shortened, with marks for what cannot be seen.

    >>> quoted("a b"), quoted("x" * 40)
    ("'a␣b'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'")
    """
    return f"'{visible(text[:most])}{'…' if len(text) > most else ''}'"
