"""The API of a forge, as GitHub, Gitea and Forgejo speak it: what a comment on a pull request needs.

It sends the token to one address and follows no redirect. A request is tried once; whether to try
again is decided where the whole procedure can be repeated, since a comment that was made twice is
worse than one that was not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tokbench.bench.errors import ForgeError, UsageError
from tokbench.bench.markup import one_line

SECONDS = 20
MOST_BYTES = 32_000_000
PER_PAGE = 100
MOST_PAGES = 200


class ForgeBusy(ForgeError):  # noqa: N818 - named after the state of the forge
    """The forge did not answer, or asks to come back later; `wait` is in seconds, 0 if not said."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class _NoRedirect(HTTPRedirectHandler):
    """An address that redirects might lead the token to another host."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


@dataclass(frozen=True, kw_only=True)
class Forge:
    """An API at an address, for one repository ``owner/name``, with a token."""

    address: str
    repository: str
    token: str = field(repr=False)

    def __post_init__(self) -> None:
        if urlsplit(self.address).scheme not in ("http", "https"):
            raise UsageError(f"GITHUB_API_URL: {self.address!r} is not an address of http or https")

    def get(self, path: str, **query: str | int) -> Any:
        """Return what lies at a path below the repository."""
        return self._ask("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def pages(self, path: str, **query: str | int) -> Iterator[Any]:
        """Yield the members of a list, page by page, until a page is empty."""
        for page in range(1, MOST_PAGES + 1):
            found = self.get(path, **query, per_page=PER_PAGE, page=page)
            if not isinstance(found, list):
                raise ForgeError(f"{self._shown(path)}: is not a list")
            if not found:
                return
            yield from found
        raise ForgeError(f"{self._shown(path)}: more than {MOST_PAGES} pages")

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Create something at a path below the repository; return it."""
        return self._ask("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change what lies at a path below the repository; return it."""
        return self._ask("PATCH", path, body)

    def _shown(self, path: str) -> str:
        return f"{self.repository}/{path.partition('?')[0]}"

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        request = Request(
            f"{self.address.rstrip('/')}/repos/{self.repository}/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "tokbench",
            },
        )
        try:
            with build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
                data = answer.read(MOST_BYTES + 1)
        except HTTPError as exc:
            raise self._refused(exc, f"{method} {self._shown(path)}") from exc
        except (URLError, OSError, HTTPException) as exc:
            raise ForgeBusy(f"{method} {self._shown(path)}: no answer: {exc}") from exc
        return self._read(data, path)

    def _read(self, data: bytes, path: str) -> Any:
        if len(data) > MOST_BYTES:
            raise ForgeError(f"{self._shown(path)}: the answer is larger than {MOST_BYTES:,} bytes")
        try:
            return json.loads(data)
        except ValueError as exc:
            raise ForgeError(f"{self._shown(path)}: the answer is not JSON") from exc

    def _refused(self, exc: HTTPError, what: str) -> ForgeError:
        """Return the error for an answer that is not success: what, and what to do."""
        with exc:
            said = _message_of(exc.read(10_000))
        wait = _seconds(exc.headers.get("Retry-After"))
        if exc.code >= 500 or exc.code == 429 or (exc.code == 403 and wait):
            return ForgeBusy(f"{what}: {exc.code} {said}", wait)
        return ForgeError(f"{what}: {exc.code} {said}{_ADVICE.get(exc.code, '')}")


_ADVICE = {
    301: "; the repository was renamed: set GITHUB_REPOSITORY to its new name",
    401: "; the token is wrong or has expired",
    403: "; the token may not write here: give the job `permissions: pull-requests: write`, or "
    "comment from a second workflow (docs/gate.md)",
    404: "; there is no such pull request, or the token may not see it",
}


def _message_of(data: bytes) -> str:
    """Return what an answer says of itself, in one line."""
    try:
        said = json.loads(data).get("message", "")
    except (ValueError, AttributeError):
        return "(no message)"
    return one_line(str(said))[:200]


def _seconds(text: str | None) -> float:
    """Return the seconds of a Retry-After header; a date counts as none."""
    return float(text) if text and text.isascii() and text.isdigit() else 0.0
