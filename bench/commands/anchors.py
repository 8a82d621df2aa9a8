"""Anchors: published figures, derived again from the user's data, and their comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from tokbench.bench import plugins
from tokbench.bench.errors import InputError
from tokbench.bench.markup import table
from tokbench.bench.plugins import Plugin

SHOWN = 5
"""Figures that moved are listed up to this many per anchor."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One figure: the published value and the measured one.

    Numbers agree within `tolerance`, an absolute difference; everything else must be equal.
    """

    what: str
    expected: Any
    measured: Any
    tolerance: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the measured figure equals the published one.

        >>> Check(what="share", expected=0.544, measured=0.5442, tolerance=0.0005).holds
        True
        >>> Check(what="ids", expected=[9906], measured=[9906, 0]).holds
        False
        """
        if isinstance(self.expected, float) and isinstance(self.measured, int | float):
            return abs(self.measured - self.expected) <= self.tolerance
        return bool(self.expected == self.measured)


class AnchorPlugin(Plugin):
    """A published figure and how to derive it again; its options are the protocol."""

    group = "tokbench.anchors"

    citation: ClassVar[str] = ""
    protocol: ClassVar[str] = ""
    divergences: ClassVar[str] = ""
    """Known ways in which the figure differs from what others would measure."""

    def check(self, data: Path) -> Iterable[Check]:
        """Yield every figure with what is measured from the user's data folder.

        Raises `InputError` where the folder lacks what the anchor needs.
        """
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class AnchorOutcome:
    """One anchor: its figures, or the reason why they could not be derived."""

    name: str
    citation: str
    protocol: str
    divergences: str
    status: Literal["holds", "moved", "not checked"]
    checks: tuple[Check, ...] = ()
    reason: str | None = None

    @property
    def moved(self) -> tuple[Check, ...]:
        """The figures that differ from the published ones."""
        return tuple(check for check in self.checks if not check.holds)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            **asdict(self),
            "checks": [{**asdict(check), "holds": check.holds} for check in self.checks],
        }


def run(
    names: Sequence[str], data: Path, *, progress: Callable[[str], None] = lambda _: None
) -> list[AnchorOutcome]:
    """Check the named anchors, or all, against a data folder.

    A folder `tiktoken_cache` in it serves tiktoken's encodings unless TIKTOKEN_CACHE_DIR is set.
    Raises `PluginError` for a name that no anchor has.
    """
    if (data / "tiktoken_cache").is_dir():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str((data / "tiktoken_cache").resolve()))
    kinds = {
        name: plugins.find(AnchorPlugin, name) for name in names or plugins.names(AnchorPlugin)
    }
    outcomes = []
    for name, kind in kinds.items():
        progress(f"anchor {name}")
        outcomes.append(outcome_of(name, kind(), data))
    return outcomes


def outcome_of(name: str, anchor: AnchorPlugin, data: Path) -> AnchorOutcome:
    """Check one anchor; a missing input is a reason, not an error."""
    about = {key: getattr(anchor, key) for key in ("citation", "protocol", "divergences")}
    try:
        checks = tuple(anchor.check(data.resolve()))
    except InputError as exc:
        return AnchorOutcome(name=name, status="not checked", reason=str(exc), **about)
    holds = all(check.holds for check in checks)
    return AnchorOutcome(name=name, status="holds" if holds else "moved", checks=checks, **about)


def exit_code(outcomes: Sequence[AnchorOutcome]) -> int:
    """Return 1 if a figure differs, 3 if one could not be checked, else 0."""
    statuses = {outcome.status for outcome in outcomes}
    return 1 if "moved" in statuses else 3 if "not checked" in statuses else 0


def render(outcomes: Sequence[AnchorOutcome]) -> str:
    """Return a table of all anchors, then every figure that differs."""
    rows = [
        [
            outcome.name,
            outcome.status,
            f"{len(outcome.checks) - len(outcome.moved)} of {len(outcome.checks)}",
            outcome.citation,
        ]
        for outcome in outcomes
    ]
    parts = [table(["anchor", "status", "figures", "citation"], rows, right=[2])]
    for outcome in outcomes:
        if outcome.reason:
            parts.append(f"{outcome.name} was not checked: {outcome.reason}")
        if outcome.moved:
            parts.append(_moved(outcome))
    return "\n\n".join(parts)


def _moved(outcome: AnchorOutcome) -> str:
    lines = [
        f"  {check.what}: published {check.expected}, measured {check.measured}"
        + (f" (tolerance {check.tolerance})" if check.tolerance else "")
        for check in outcome.moved[:SHOWN]
    ]
    more = len(outcome.moved) - SHOWN
    lines += [f"  and {more} more"] if more > 0 else []
    about = [f"  protocol: {outcome.protocol}", f"  known divergences: {outcome.divergences}"]
    return "\n".join([f"{outcome.name} moved:", *lines, *about])
