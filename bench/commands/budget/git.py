"""Files as they are at a commit. No hook, monitor, filter or diff program of a repository runs:
what is asked of git is plumbing over commits and the index.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tokbench.bench.errors import ResultsError
from tokbench.bench.markup import one_line

FETCH = "in CI, fetch it first (actions/checkout with fetch-depth: 0)"
_REGULAR = (b"100644", b"100755")


@dataclass(frozen=True, kw_only=True)
class Base:
    """A commit, and the regular files below a folder of its repository."""

    revision: str
    """As it was asked for."""
    commit: str
    """The merge base with HEAD, as git names it."""
    folder: Path
    blobs: Mapping[str, str]
    """Object names by path from the folder."""
    renamed: Mapping[str, str]
    """Path now to path in the base, of files that git sees as renamed."""

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the content of files."""
        wanted = list(paths)
        names = "".join(f"{self.blobs[path]}\n" for path in wanted).encode()
        answer = _git(self.folder, "cat-file", "--batch", given=names)
        found, place = {}, 0
        for path in wanted:
            end = answer.index(b"\n", place)
            size = int(answer[place:end].split()[-1])
            found[path] = answer[end + 1 : end + 1 + size]
            place = end + 1 + size + 1
        return found


def base_of(revision: str, folder: Path) -> Base:
    """Return the merge base of a revision and HEAD.

    Raises `ResultsError` where there is no repository, no such revision, or no common commit.
    """
    if revision.startswith("-"):
        raise ResultsError(f"--base {revision}: is not a git revision")
    told = f"--base {revision}"
    _git(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", doing=told)
    commit = _git(folder, "merge-base", revision, "HEAD", doing=told).decode().strip()
    inside = _git(folder, "rev-parse", "--show-prefix", doing=told).decode().rstrip("\n")
    listing = _git(folder, "ls-tree", "-r", "-z", "--full-tree", commit, doing=told)
    renames = ("diff-index", "--cached", "--name-status", "-z", "-M", "--diff-filter=R", commit)
    diff = _git(folder, *renames, doing=told)
    return Base(
        revision=revision,
        commit=commit,
        folder=folder,
        blobs=_below(inside, _blobs(listing)),
        renamed=_renamed(inside, diff),
    )


def _blobs(listing: bytes) -> dict[str, str]:
    """Return the object names of regular files: no links, no submodules."""
    found = {}
    for line in listing.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        if facts[:6] in _REGULAR:
            found[path.decode(errors="surrogateescape")] = facts.split()[2].decode()
    return found


def _below(inside: str, blobs: Mapping[str, str]) -> dict[str, str]:
    return {p.removeprefix(inside): name for p, name in blobs.items() if p.startswith(inside)}


def _renamed(inside: str, diff: bytes) -> dict[str, str]:
    parts = [part.decode(errors="surrogateescape") for part in diff.split(b"\0")[:-1]]
    pairs = zip(parts[1::3], parts[2::3], strict=True)
    both = [(old, new) for old, new in pairs if old.startswith(inside) and new.startswith(inside)]
    return {new.removeprefix(inside): old.removeprefix(inside) for old, new in both}


def _git(folder: Path, *arguments: str, given: bytes = b"", doing: str = "git") -> bytes:
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, input=given, capture_output=True, timeout=120, check=False
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise ResultsError(f"{doing}: git cannot be run: {exc}") from exc
    if done.returncode:
        said = one_line(done.stderr.decode(errors="replace").strip()) or "no such commit here"
        raise ResultsError(f"{doing}: {said}; {FETCH}")
    return done.stdout
