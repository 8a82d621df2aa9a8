"""`tokbench comment`: created once, then updated; nothing is asked for a fork's pull request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from command_line import tokbench
from forge_server import REPOSITORY, TOKEN, ForgeServer, Refusal, serving
from tokbench.bench.commands.comment.forge import Forge, ForgeBusy
from tokbench.bench.commands.comment.leave import leave_comment, leave_in_description
from tokbench.bench.commands.comment.text import MOST_BYTES, shown
from tokbench.bench.errors import ForgeError

MARK = "<!-- tokbench: gate -->"
SHA = "a" * 40


@pytest.fixture
def forge() -> Iterator[ForgeServer]:
    with serving(ForgeServer()) as server:
        server.add_pull(7)
        yield server


@pytest.fixture
def client(forge: ForgeServer) -> Forge:
    return Forge(address=forge.address, repository=REPOSITORY, token=TOKEN)


def pull_request(head: str = REPOSITORY, number: int = 7) -> dict[str, Any]:
    return {"pull_request": {"number": number, "head": {"repo": {"full_name": head}}}}


def other_workflow(sha: str = SHA, event: str = "pull_request") -> dict[str, Any]:
    head = {"owner": {"login": "contributor"}}
    run = {"event": event, "head_sha": sha, "head_branch": "fix", "head_repository": head}
    return {"workflow_run": run}


@pytest.fixture
def job(forge: ForgeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job on pull request 7; its folder has the event and a text."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": REPOSITORY,
        "GITHUB_API_URL": forge.address,
        "GITHUB_TOKEN": TOKEN,
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "event.json").write_text(json.dumps(pull_request()))
    (tmp_path / "short.md").write_text("**2 tokens** more")
    return tmp_path


def comment(*options: str) -> Result:
    return tokbench("comment", "short.md", *options)


def test_a_comment_is_created_once_and_then_updated(job: Path, forge: ForgeServer) -> None:
    forge.add_comment("Nice work.")
    assert comment().exit_code == 0
    (job / "short.md").write_text("**3 tokens** more")
    assert comment().exit_code == 0
    assert forge.ours() == [f"{MARK}\n**3 tokens** more"]
    assert len(forge.comments) == 2
    assert [line for line in forge.requests if not line.startswith("GET")] == [
        f"POST /repos/{REPOSITORY}/issues/7/comments",
        f"PATCH /repos/{REPOSITORY}/issues/comments/2",
    ]


@pytest.mark.parametrize("on_a_page", [100, 30])
def test_the_comment_is_found_on_a_later_page(
    job: Path, forge: ForgeServer, on_a_page: int
) -> None:
    forge.most_on_a_page = on_a_page
    for i in range(230):
        forge.add_comment(f"remark {i}")
    forge.add_comment(f"{MARK}\nold", forge.login, "Bot")
    assert comment().exit_code == 0
    assert forge.ours() == [f"{MARK}\n**2 tokens** more"]


def test_a_comment_of_another_user_that_copies_the_mark_is_left_alone(
    job: Path, forge: ForgeServer
) -> None:
    forge.add_comment(f"{MARK}\n0 tokens more")
    assert comment().exit_code == 0
    assert forge.comments[0]["body"] == f"{MARK}\n0 tokens more"
    assert len(forge.ours()) == 1


def test_two_names_are_two_comments_and_a_person_is_named(job: Path, forge: ForgeServer) -> None:
    forge.login = "maintainer"
    for _ in range(2):
        for name in ("prompts", "library"):
            assert comment("--name", name, "--author", "someone").exit_code == 0
    assert len(forge.comments) == 4  # the author is not someone
    for one in forge.comments:
        one["user"] = {"login": "maintainer", "type": "User"}
    assert comment("--name", "library", "--author", "maintainer").exit_code == 0
    assert len(forge.comments) == 4


def test_the_part_of_a_description_is_replaced_and_the_rest_is_kept(
    job: Path, forge: ForgeServer
) -> None:
    forge.pulls[7]["body"] = "Shorter prompts."
    assert comment("--in", "description").exit_code == 0
    forge.pulls[7]["body"] += "\n\nCloses 3."
    (job / "short.md").write_text("**3 tokens** more")
    assert comment("--in", "description").exit_code == 0
    assert forge.pulls[7]["body"] == (
        f"Shorter prompts.\n\n{MARK}\n**3 tokens** more\n<!-- end of tokbench: gate -->\n\nCloses 3."
    )
    assert forge.comments == []


def test_a_pull_request_from_a_fork_makes_no_request(
    job: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_TOKEN")
    for head in ({"repo": {"full_name": "contributor/name"}}, {"repo": None}):
        event = {"pull_request": {"number": 7, "head": head}}
        (job / "event.json").write_text(json.dumps(event))
        done = comment()
        assert done.exit_code == 0
        assert "from a fork" in done.output
    assert forge.requests == []


def test_a_push_has_no_pull_request(
    job: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    assert "the event push is about no pull request" in comment().output
    assert forge.requests == []


def test_after_another_workflow_the_pull_request_is_found_by_its_commit_and_text_is_code(
    job: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote the artifact can neither choose another pull request nor mention anybody."""
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_run")
    forge.add_pull(7, head={"label": "contributor:fix", "sha": SHA})
    forge.add_pull(8, head={"label": "contributor:fix", "sha": "b" * 40})
    forge.add_pull(9, head={"label": "other:fix", "sha": SHA})
    (job / "event.json").write_text(json.dumps(other_workflow()))
    (job / "short.md").write_text("@everyone ``` <img src=x>")
    assert comment().exit_code == 0
    assert forge.ours() == [f"{MARK}\n````text\n@everyone ``` <img src=x>\n````"]
    assert [line for line in forge.requests if line.startswith("POST")] == [
        f"POST /repos/{REPOSITORY}/issues/7/comments"
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (other_workflow(sha="c" * 40), "no open pull request has this commit"),
        (other_workflow(event="push"), "the other workflow ran on no pull request"),
    ],
)
def test_after_another_workflow_there_may_be_nothing_to_comment_on(
    job: Path,
    forge: ForgeServer,
    monkeypatch: pytest.MonkeyPatch,
    event: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "workflow_run")
    (job / "event.json").write_text(json.dumps(event))
    done = comment()
    assert (done.exit_code, said in done.output) == (0, True)
    assert forge.ours() == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "the token is wrong or has expired"),
        (403, "pull-requests: write"),
        (404, "there is no such pull request"),
        (301, "the repository was renamed"),
        (422, "422 refused"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_tried_again(
    job: Path, forge: ForgeServer, status: int, said: str
) -> None:
    elsewhere = {"Location": f"{forge.address}/elsewhere"} if status == 301 else {}
    forge.refusals.append(Refusal(match="POST", status=status, headers=elsewhere))
    done = comment()
    assert done.exit_code == 3
    assert said in done.output
    assert TOKEN not in done.output
    assert not any(line.startswith("::") for line in done.output.splitlines())
    assert len(forge.requests) == 2  # the list, the refusal


@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_busy_forge_is_asked_again(client: Forge, forge: ForgeServer, status: int) -> None:
    forge.refusals.append(Refusal(match="GET", status=status, times=2))
    leave_comment(client, 7, "text", name="gate", pauses=(0, 0))
    assert len(forge.ours()) == 1


def test_a_forge_that_stays_busy_is_an_error(client: Forge, forge: ForgeServer) -> None:
    forge.refusals.append(Refusal(match="PATCH", status=503))
    with pytest.raises(ForgeBusy, match="503 refused"):
        leave_in_description(client, 7, "text", name="gate", pauses=(0, 0))
    assert sum(line.startswith("PATCH") for line in forge.requests) == 3


def test_a_comment_that_was_made_before_the_forge_failed_is_not_made_twice(
    client: Forge, forge: ForgeServer
) -> None:
    forge.refusals.append(Refusal(match="POST", status=502, times=1, after=True))
    leave_comment(client, 7, "text", name="gate", pauses=(0, 0))
    assert len(forge.ours()) == 1


def test_a_403_with_a_time_to_wait_is_a_limit_of_requests(
    client: Forge, forge: ForgeServer
) -> None:
    limit = Refusal(match="GET", status=403, times=1, headers={"Retry-After": "7"})
    forge.refusals.append(limit)
    with pytest.raises(ForgeBusy) as caught:
        client.get("pulls/7")
    assert caught.value.wait == 7


def test_no_forge_and_no_json_are_errors(forge: ForgeServer) -> None:
    gone = Forge(address="http://127.0.0.1:9", repository=REPOSITORY, token=TOKEN)
    with pytest.raises(ForgeBusy, match="no answer"):
        gone.get("pulls/7")
    wrong = Forge(address=forge.address, repository="owner/other", token=TOKEN)
    with pytest.raises(ForgeError, match="404 Not Found"):
        wrong.get("pulls/7")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_EVENT_NAME", ""),
        ("GITHUB_EVENT_PATH", "short.md"),
        ("GITHUB_REPOSITORY", "owner/name/../../other"),
        ("GITHUB_TOKEN", ""),
        ("GITHUB_API_URL", "file:///etc"),
    ],
)
def test_a_wrong_environment_is_wrong_usage(
    job: Path, forge: ForgeServer, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    done = comment()
    assert done.exit_code == 2
    assert name in done.output
    assert forge.requests == []


def test_a_missing_event_is_a_missing_input(job: Path, forge: ForgeServer) -> None:
    (job / "event.json").unlink()
    done = comment()
    assert (done.exit_code, "event.json: cannot be read" in done.output) == (3, True)
    assert forge.requests == []


def test_a_name_that_would_break_the_mark_is_refused(job: Path) -> None:
    assert comment("--name", "a --> b").exit_code == 2


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    text = shown("é" * MOST_BYTES, as_code=False)
    assert len(text.encode()) <= MOST_BYTES
    assert text.endswith("The rest does not fit here.\n")
    assert shown("a <!-- tokbench: gate -->", as_code=False) == "a &lt;!-- tokbench: gate -->"
