"""Which pull request a workflow's event is about, and whether its token may write there.

The number of a pull request is never taken from what another workflow left behind: one that runs
on a fork's pull request is the fork's to write. Under `workflow_run` it is found by the commit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.bench.commands.comment.forge import Forge
from tokbench.bench.errors import UsageError
from tokbench.bench.files import parse_json, read_bounded

MOST_BYTES = 32_000_000
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class WorkflowEvent:
    """What started a workflow: the event's name, its payload, and the repository it runs in."""

    name: str
    payload: Mapping[str, Any]
    repository: str

    @property
    def of_another_workflow(self) -> bool:
        """Whether the text to show was written by a workflow that this one does not trust."""
        return self.name == "workflow_run"


def read_event(environment: Mapping[str, str]) -> WorkflowEvent:
    """Return the event that GITHUB_EVENT_NAME, GITHUB_EVENT_PATH and GITHUB_REPOSITORY describe."""
    missing = [
        name
        for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY")
        if not environment.get(name)
    ]
    if missing:
        raise UsageError(
            f"{missing[0]} is not set: a comment requires the event of a workflow (GitHub Actions, "
            "Gitea, Forgejo)"
        )
    repository = environment["GITHUB_REPOSITORY"]
    if not REPOSITORY.fullmatch(repository):
        raise UsageError(f"GITHUB_REPOSITORY: {repository!r} is not owner/name")
    path = Path(environment["GITHUB_EVENT_PATH"])
    try:
        payload = parse_json(read_bounded(path, MOST_BYTES), surrogates=True)
    except ValueError as exc:
        raise UsageError(f"GITHUB_EVENT_PATH: {path.name} cannot be read: {exc}") from exc
    if not isinstance(payload, dict):
        raise UsageError(f"GITHUB_EVENT_PATH: {path.name} holds no object")
    return WorkflowEvent(
        name=environment["GITHUB_EVENT_NAME"], payload=payload, repository=repository
    )


def reason_not_to_comment(event: WorkflowEvent) -> str | None:
    """Return why nothing is written for this event; None where a comment can be left."""
    if event.of_another_workflow:
        started = _part(event.payload, "workflow_run").get("event")
        return None if started == "pull_request" else "the other workflow ran on no pull request"
    if not event.name.startswith("pull_request"):
        return f"the event {event.name} is about no pull request"
    head = _part(_part(event.payload, "pull_request"), "head")
    if _part(head, "repo").get("full_name") != event.repository:
        return (
            "the pull request is from a fork, whose token cannot write; a second workflow can "
            "comment: docs/gate.md"
        )
    return None


def pull_requests(event: WorkflowEvent, forge: Forge) -> list[int]:
    """Return the numbers of the open pull requests that the event is about."""
    if not event.of_another_workflow:
        return [_number(_part(event.payload, "pull_request"))]
    run = _part(event.payload, "workflow_run")
    owner = _part(_part(run, "head_repository"), "owner").get("login")
    head = f"{owner}:{run.get('head_branch')}"
    return [
        _number(one)
        for one in forge.pages("pulls", state="open", head=head)
        if _part(one, "head").get("sha") == run.get("head_sha")
    ]


def _number(pull: Mapping[str, Any]) -> int:
    number = pull.get("number")
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError("the event holds no number of a pull request")
    return number


def _part(value: Any, key: str) -> Mapping[str, Any]:
    """Return the object under a key; an empty one where there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}
