"""A small forge for tests: pull requests and comments over HTTP on the loopback address.

It pages as GitHub does, with fewer on a page than are asked for if told so, and answers chosen
requests with a refusal.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "owner/name"
TOKEN = "secret-token-of-the-job"


@dataclass(kw_only=True)
class Refusal:
    """The answer to the next `times` requests that match method and path."""

    match: str
    status: int
    times: int = 10**6
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    """Whether the request was carried out before it was answered so."""


@dataclass(kw_only=True)
class ForgeServer:
    """Comments and pull requests of one repository, and every request that was made."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    most_on_a_page: int = 100
    login: str = "github-actions[bot]"
    address: str = ""

    def add_comment(self, body: str, login: str = "someone", kind: str = "User") -> int:
        """Add a comment to pull request 7; return its id."""
        user = {"login": login, "type": kind}
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": user})
        return len(self.comments)

    def add_pull(self, number: int = 7, **facts: Any) -> None:
        """Add an open pull request."""
        self.pulls[number] = {
            "number": number,
            "body": None,
            "state": "open",
            "head": {"label": ""},
        } | facts

    def ours(self) -> list[str]:
        """Return the bodies of the comments that the token's user made."""
        return [one["body"] for one in self.comments if one["user"]["login"] == self.login]

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> Any:
        """Carry out a request; None if there is nothing of that kind."""
        inside = path.removeprefix(f"/repos/{REPOSITORY}/")
        if method == "GET" and inside == "pulls":
            return self._page(query, self._open_pulls(query["head"]))
        if (found := re.fullmatch(r"pulls/(\d+)", inside)) and int(found[1]) in self.pulls:
            self.pulls[int(found[1])].update(body or {})
            return self.pulls[int(found[1])]
        if (found := re.fullmatch(r"issues/(\d+)/comments", inside)) and int(
            found[1]
        ) in self.pulls:
            if method == "GET":
                return self._page(query, self.comments)
            return self.comments[self.add_comment(body["body"], self.login, "Bot") - 1]
        if found := re.fullmatch(r"issues/comments/(\d+)", inside):
            self.comments[int(found[1]) - 1].update(body)
            return self.comments[int(found[1]) - 1]
        return None

    def _open_pulls(self, head: str) -> list[dict[str, Any]]:
        return [one for one in self.pulls.values() if one["head"]["label"] == head]

    def _page(self, query: dict[str, str], found: list[Any]) -> list[Any]:
        size = min(int(query["per_page"]), self.most_on_a_page)
        start = (int(query["page"]) - 1) * size
        return found[start : start + size]


class _Handler(BaseHTTPRequestHandler):
    forge: ForgeServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        line = f"{self.command} {parts.path}"
        self.forge.requests.append(line)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        refusal = next(
            (r for r in self.forge.refusals if r.times and re.search(r.match, line)), None
        )
        known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        found: Any = {"message": "Bad credentials"}
        status = 401
        if known and (refusal is None or refusal.after):
            query = {key: value[0] for key, value in parse_qs(parts.query).items()}
            found = self.forge.answer(self.command, parts.path, query, body)
            status = 404 if found is None else 200
        if refusal is not None:
            refusal.times -= 1
            status, found = refusal.status, {"message": "refused\n::error::here"}
        self._send(status, found, {} if refusal is None else refusal.headers)

    def _send(self, status: int, found: Any, headers: dict[str, str]) -> None:
        data = json.dumps({"message": "Not Found"} if found is None else found).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815 - the server's names


@contextmanager
def serving(forge: ForgeServer) -> Iterator[ForgeServer]:
    """Serve a forge in a thread; its address is set."""

    class Bound(_Handler):
        pass

    Bound.forge = forge
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    forge.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
