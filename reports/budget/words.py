"""How the parts of a budget are written."""

from __future__ import annotations

from tokbench.bench.commands.budget.outcome import CostlyLines, FileTokens, LimitCheck
from tokbench.bench.markup import count, number, percent

LIMITS = {
    "tokens": "tokens",
    "price": "price",
    "context_used": "share of the context",
    "growth_tokens": "growth in tokens",
    "growth_percent": "growth in per cent",
}


def about(one: LimitCheck) -> str:
    """Return what a limit is on."""
    return "all files" if one.scope == "total" else f"{one.scope} {one.name}"


def amount(limit: str, value: float | None, currency: str = "") -> str:
    """Write a value of a limit.

    >>> amount("tokens", 1200), amount("growth_percent", 2.5), amount("price", 0.25, "USD")
    ('1,200', '+2.5 %', '0.25 USD')
    """
    if value is None:
        return "not measured"
    if limit == "price":
        return f"{value:,.6g} {currency}".strip()
    if limit == "context_used":
        return percent(value)
    if limit == "growth_percent":
        return f"{value:+,.1f} %"
    return f"{value:+,.0f}" if limit == "growth_tokens" else count(value)


def figures(one: LimitCheck, currency: str) -> str:
    """Write a limit and its value: ``1,200 tokens, allowed 1,000``."""
    value, allowed = (amount(one.limit, v, currency) for v in (one.value, one.allowed))
    return f"{LIMITS[one.limit]} {value}, allowed {allowed}"


def place(one: CostlyLines) -> str:
    """Write where lines are: ``a.md:3-8``."""
    if one.last < one.first:
        return f"{one.file}:{one.first} (lines removed)"
    return f"{one.file}:{one.first}" + (f"-{one.last}" if one.last > one.first else "")


def signed(value: int | None) -> str:
    """Write a growth, or a dash.

    >>> signed(3), signed(None), signed(0)
    ('+3', '–', '0')
    """
    return "–" if value is None else f"{value:+,}" if value else "0"


def growth_percent(one: FileTokens) -> str:
    """Write the growth of a file in per cent."""
    if one.growth is None or not one.base_tokens:
        return "–"
    return f"{number(100 * one.growth / one.base_tokens, 1)} %"
