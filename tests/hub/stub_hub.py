"""A small Hub for tests: datasets and models over HTTP on the loopback address.

It speaks as much of the Hub's protocol as `datasets`, `huggingface_hub`, `tokenizers` and
`transformers` need to read a repository, and can misbehave: a `Fault` answers the requests whose
path it matches, a given number of times.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

COMMIT, OLDER = "a" * 40, "b" * 40
REFUSALS = {
    "gated": (401, "GatedRepo"),
    "forbidden": (403, "GatedRepo"),
    "private": (401, "RepoNotFound"),
    "missing": (404, "RepoNotFound"),
    "unauthorized": (401, ""),
}


@dataclass(kw_only=True)
class Fault:
    """What happens to requests whose method and path match, `times` times."""

    match: str
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    keep: float = 1.0
    """Share of the body that is sent before the connection is cut."""
    change: Callable[[bytes], bytes] | None = None
    """What becomes of the file's content."""
    times: int = 10**6


@dataclass(kw_only=True)
class Hub:
    """Repositories by ``datasets/owner/name`` or ``models/owner/name``: commit, path, content."""

    repositories: dict[str, dict[str, dict[str, bytes]]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    """Commits of branches other than main."""
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    server: ThreadingHTTPServer | None = None

    def add(self, name: str, files: Mapping[str, bytes], commit: str = COMMIT) -> None:
        """Add a repository, or another commit of one."""
        self.repositories.setdefault(name, {})[commit] = dict(files)

    def refuse(self, how: str) -> None:
        """Answer everything with one refusal."""
        status, code = REFUSALS[how]
        self.faults.append(Fault(match=".", status=status, headers={"X-Error-Code": code}))

    def start(self) -> str:
        """Serve in a thread; return the address."""

        class Bound(_Handler):
            hub = self

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        """Close the address: from now on nobody answers."""
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *arguments: Any) -> None:
        pass

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path.replace("/refs%2Fconvert%2F", "/refs:convert:"))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.hub.requests.append(f"{self.command} {path}")
        self.hub.tokens.append(self.headers.get("Authorization", ""))
        fault = self._fault(f"{self.command} {path}")
        if fault is not None:
            time.sleep(fault.delay)
            if fault.status:
                self._send(fault.status, b'{"error": "refused"}', fault.headers)
                return
        try:
            if path.startswith("/api/"):
                self._api(path.removeprefix("/api/"), parse_qs(parts.query), body)
            else:
                self._file(path.lstrip("/"), fault)
        except KeyError as exc:
            code = "EntryNotFound" if exc.args[0] == "entry" else str(exc.args[0])
            self._send(404, b'{"error": "not found"}', {"X-Error-Code": code})

    def _fault(self, request: str) -> Fault | None:
        for fault in self.hub.faults:
            if fault.times and re.search(fault.match, request):
                fault.times -= 1
                return fault
        return None

    def _repository(self, kind: str, name: str, revision: str) -> tuple[str, dict[str, bytes]]:
        commits = self.hub.repositories.get(f"{kind}/{name}")
        if commits is None:
            raise KeyError("RepoNotFound")
        branch = revision.replace(":", "/")
        commit = next(iter(commits)) if branch == "main" else self.hub.branches.get(branch, branch)
        if commit not in commits:
            raise KeyError("RevisionNotFound")
        return commit, commits[commit]

    def _api(self, path: str, query: Mapping[str, list[str]], body: bytes) -> None:
        found = re.fullmatch(
            r"(datasets|models)/([^/]+/[^/]+)(?:/(revision|tree|paths-info)/([^/]+)/?(.*))?", path
        )
        if found is None:
            raise KeyError("RepoNotFound")
        kind, name, what, revision, folder = found.groups()
        commit, files = self._repository(kind, name, revision or "main")
        if what == "tree":
            deep = query.get("recursive", ["false"])[0].lower() in ("true", "1")
            self._json(tree(files, folder, deep=deep))
        elif what == "paths-info":
            wanted = (
                json.loads(body)["paths"] if body[:1] == b"{" else parse_qs(body.decode())["paths"]
            )
            entries = tree(files, "", deep=True)
            self._json([entry for entry in entries if entry["path"] in wanted])
        else:
            self._json(
                {
                    "_id": "0" * 24,
                    "id": name,
                    "sha": commit,
                    "private": False,
                    "gated": False,
                    "disabled": False,
                    "downloads": 0,
                    "likes": 0,
                    "tags": [],
                    "lastModified": "2024-01-01T00:00:00.000Z",
                    "createdAt": "2024-01-01T00:00:00.000Z",
                    "siblings": [{"rfilename": one} for one in files],
                }
            )

    def _file(self, path: str, fault: Fault | None) -> None:
        found = re.fullmatch(r"(datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if found is None:
            raise KeyError("entry")
        kind = "datasets" if found.group(1) else "models"
        commit, files = self._repository(kind, found.group(2), found.group(3))
        if found.group(4) not in files:
            raise KeyError("entry")
        content = files[found.group(4)]
        etag = hashlib.sha1(content).hexdigest()
        if fault is not None and fault.change is not None:
            content = fault.change(content)
        headers = {
            "ETag": f'"{etag}"',
            "X-Repo-Commit": commit,
            "Accept-Ranges": "bytes",
            "Content-Type": "application/octet-stream",
        }
        status, sent = 200, content
        if (span := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))) is not None:
            first = int(span.group(1))
            last = min(int(span.group(2) or len(content) - 1), len(content) - 1)
            status, sent = 206, content[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        self._send(status, sent, headers, keep=1.0 if fault is None else fault.keep)

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, keep: float = 1.0
    ) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body[: int(len(body) * keep)])
                if keep < 1:
                    self.close_connection = True
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


def tree(files: Mapping[str, bytes], folder: str, *, deep: bool) -> list[dict[str, Any]]:
    """Return the entries below a folder, as the Hub lists them."""
    prefix = f"{folder}/" if folder else ""
    entries: dict[str, dict[str, Any]] = {}
    for path, content in files.items():
        if not path.startswith(prefix):
            continue
        names = path[len(prefix) :].split("/")
        for depth in range(1, len(names) if deep else min(len(names), 2)):
            inner = prefix + "/".join(names[:depth])
            entries[inner] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": inner}
        if deep or len(names) == 1:
            oid = hashlib.sha1(content).hexdigest()
            entries[path] = {"type": "file", "oid": oid, "size": len(content), "path": path}
    if folder and not entries:
        raise KeyError("entry")
    return list(entries.values())


def parquet(*texts: str) -> bytes:
    """Return a Parquet file of one column, text."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"text": list(texts)}), sink)
    return sink.getvalue()


def json_lines(*texts: str) -> bytes:
    """Return JSON Lines of one column, text."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


def card(**configs: str) -> bytes:
    """Return a card that names the files of each config."""
    lines = ["---", "configs:"]
    for name, path in configs.items():
        lines += [f"- config_name: {name}", f"  data_files: {path}"]
    return "\n".join([*lines, "---", ""]).encode()
