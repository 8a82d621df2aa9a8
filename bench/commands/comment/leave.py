"""Leave a text on a pull request: made once, then updated."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tokbench.bench.commands.comment.forge import Forge, ForgeBusy
from tokbench.bench.commands.comment.text import marker, with_part

PAUSES = (2.0, 8.0)
"""Seconds before the second and the third try."""
LONGEST_PAUSE = 60.0

T = TypeVar("T")


def leave_comment(
    forge: Forge,
    pull: int,
    text: str,
    *,
    name: str,
    author: str | None = None,
    pauses: Sequence[float] = PAUSES,
) -> str:
    """Update the comment of that name on a pull request, or create it; return its address.

    Another user can copy the mark, so only a comment of a bot, or of `author`, is ours.
    """
    body = {"body": f"{marker(name)}\n{text}"}

    def attempt() -> Any:
        for one in forge.pages(f"issues/{pull}/comments"):
            if _is_ours(one, marker(name), author):
                return forge.patch(f"issues/comments/{int(one['id'])}", body)
        return forge.post(f"issues/{pull}/comments", body)

    return str(_tried(attempt, pauses).get("html_url", ""))


def leave_in_description(
    forge: Forge, pull: int, text: str, *, name: str, pauses: Sequence[float] = PAUSES
) -> str:
    """Put a text into a pull request's description, in the place it had; return the address."""

    def attempt() -> Any:
        found = forge.get(f"pulls/{pull}")
        body = with_part(str(found.get("body") or ""), name, text)
        return forge.patch(f"pulls/{pull}", {"body": body})

    return str(_tried(attempt, pauses).get("html_url", ""))


def _is_ours(comment: Mapping[str, Any], mark: str, author: str | None) -> bool:
    user = comment.get("user") or {}
    by_us = user.get("login") == author if author else user.get("type") == "Bot"
    return by_us and str(comment.get("body") or "").startswith(mark)


def _tried(attempt: Callable[[], T], pauses: Sequence[float]) -> T:
    """Return what an attempt gives; it is made again from its beginning while the forge is busy."""
    for pause in pauses:
        try:
            return attempt()
        except ForgeBusy as exc:
            time.sleep(min(max(pause, exc.wait), LONGEST_PAUSE))
    return attempt()
