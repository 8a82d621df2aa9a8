"""`tokbench comment`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import click


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--in",
    "place",
    type=click.Choice(["comment", "description"]),
    default="comment",
    show_default=True,
    help="Comment of its own, or a part of the pull request's description.",
)
@click.option(
    "--name",
    default="gate",
    show_default=True,
    help="Name of the comment, where a pull request has several.",
)
@click.option(
    "--author",
    metavar="LOGIN",
    help="User whose comment is updated, where the token is a person's.  [default: a bot]",
)
def comment(
    file: Path, place: Literal["comment", "description"], name: str, author: str | None
) -> None:
    """Leave FILE (Markdown) as one comment on a pull request.

    Runs in a workflow of GitHub Actions, Gitea or Forgejo and reads the event, GITHUB_API_URL and
    GITHUB_TOKEN from the environment. A pull request from a fork gets no comment and no request;
    under workflow_run FILE is shown as plain text. Exit codes: 0 left, or nothing to leave it on;
    2 no workflow or no token; 3 the forge refused.
    """
    from tokbench.bench.commands.comment.event import (
        pull_requests,
        read_event,
        reason_not_to_comment,
    )
    from tokbench.bench.commands.comment.forge import Forge
    from tokbench.bench.commands.comment.leave import leave_comment, leave_in_description
    from tokbench.bench.commands.comment.text import marker, shown
    from tokbench.bench.console import message, result
    from tokbench.bench.errors import UsageError
    from tokbench.bench.markup import one_line

    marker(name)
    event = read_event(os.environ)
    if (reason := reason_not_to_comment(event)) is not None:
        message(f"no comment: {reason}")
        return
    token = os.environ.get("GITHUB_TOKEN")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set: a comment requires a token")
    address = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    forge = Forge(address=address, repository=event.repository, token=token)
    text = shown(
        file.read_text(encoding="utf-8", errors="replace"), as_code=event.of_another_workflow
    )
    pulls = pull_requests(event, forge)
    if not pulls:
        message("no comment: no open pull request has this commit")
    for pull in pulls:
        if place == "description":
            left = leave_in_description(forge, pull, text, name=name)
        else:
            left = leave_comment(forge, pull, text, name=name, author=author)
        result(one_line(left))
