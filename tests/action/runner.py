"""Runs the steps of `action.yml` as a runner would, offline.

Steps that run a shell are executed by it, with the environment, outputs and summary of a runner.
The few actions of others are replaced by what they do here: a cache is a folder, an artifact a
copy. Expressions are evaluated as far as the file uses them; another construct is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from pages import REPOSITORY

ACTION = REPOSITORY / "action.yml"
_TOKEN = re.compile(r"\s*(?:(?P<op>&&|\|\||==|!=|!|\(|\))|'(?P<text>[^']*)'|(?P<name>[\w.-]+))")


def load_action() -> dict[str, Any]:
    """Return the content of `action.yml`."""
    loaded: dict[str, Any] = YAML(typ="safe").load(ACTION.read_text(encoding="utf-8"))
    return loaded


class Expression:
    """An expression over contexts: names, texts, `!`, `==`, `!=`, `&&`, `||` and brackets."""

    def __init__(self, source: str, contexts: Mapping[str, Any]) -> None:
        source = source.strip()
        found = list(_TOKEN.finditer(source))
        if "".join(one[0] for one in found) != source:
            raise ValueError(f"not understood: {source}")
        self._tokens = [(one.lastgroup, one[one.lastgroup or 0]) for one in found]
        self._contexts = contexts

    def value(self) -> Any:
        """Return its value; a name that leads to nothing is an empty text."""
        found = self._any()
        assert not self._tokens, self._tokens
        return found

    def _next(self, *operators: str) -> str | None:
        if self._tokens and self._tokens[0][0] == "op" and self._tokens[0][1] in operators:
            return self._tokens.pop(0)[1]
        return None

    def _any(self) -> Any:
        left = self._all()
        while self._next("||"):
            right = self._all()
            left = left or right
        return left

    def _all(self) -> Any:
        left = self._equal()
        while self._next("&&"):
            right = self._equal()
            left = left and right
        return left

    def _equal(self) -> Any:
        left = self._one()
        while operator := self._next("==", "!="):
            left = (left == self._one()) == (operator == "==")
        return left

    def _one(self) -> Any:
        if self._next("!"):
            return not self._one()
        if self._next("("):
            found = self._any()
            assert self._next(")")
            return found
        kind, text = self._tokens.pop(0)
        assert kind != "op", text
        return text if kind == "text" else self._named(text)

    def _named(self, name: str) -> Any:
        found: Any = self._contexts
        for part in name.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return "" if found is None else found


def filled(text: Any, contexts: Mapping[str, Any]) -> str:
    """Return a text with its ``${{ }}`` replaced."""

    def one(found: re.Match[str]) -> str:
        value = Expression(found[1], contexts).value()
        return str(value).lower() if isinstance(value, bool) else str(value)

    return re.sub(r"\$\{\{(.*?)\}\}", one, str(text))


@dataclass(kw_only=True)
class Outcome:
    """What a run of the action left."""

    passed: bool
    outputs: dict[str, str]
    log: str
    summary: str
    done: list[str]
    """Names of the steps that ran."""


@dataclass(kw_only=True)
class ActionRunner:
    """A repository in `checkout`, what started the workflow, and what lasts between runs."""

    checkout: Path
    folder: Path
    """Of the runner: temporary files, caches, artifacts."""
    environment: Mapping[str, str]
    event: dict[str, Any]
    event_name: str = "pull_request"
    repository: str = "owner/name"
    sha: str = "1"
    base_ref: str = "main"
    ref_name: str = "7/merge"
    token: str = ""
    tokens_seen: list[str] = field(default_factory=list)
    """Names of the steps whose environment holds the token."""

    @property
    def github(self) -> dict[str, Any]:
        """Return the context `github`."""
        return {
            "event": self.event,
            "event_name": self.event_name,
            "repository": self.repository,
            "sha": self.sha,
            "base_ref": self.base_ref,
            "ref_name": self.ref_name,
            "token": self.token,
        }

    def run(self, **inputs: str) -> Outcome:
        """Run every step in order until one fails; underscores in names of inputs are hyphens."""
        action = load_action()
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= action["inputs"].keys()
        temporary = self.folder / "temp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        contexts: dict[str, Any] = {"github": self.github, "runner": {"temp": str(temporary)}}
        contexts["inputs"] = {
            name: given.get(name, filled(one.get("default", ""), contexts))
            for name, one in action["inputs"].items()
        }
        contexts["steps"] = {}
        outcome = Outcome(passed=True, outputs={}, log="", summary="", done=[])
        for step in action["runs"]["steps"]:
            if Expression(step.get("if", "'yes'"), contexts).value():
                outcome.done.append(step["name"])
                outcome.passed = self._step(step, contexts, outcome)
            if not outcome.passed:
                break
        summary = temporary / "summary"
        outcome.summary = summary.read_text() if summary.exists() else ""
        outcome.outputs = {n: filled(o["value"], contexts) for n, o in action["outputs"].items()}
        return outcome

    def _step(self, step: dict[str, Any], contexts: dict[str, Any], outcome: Outcome) -> bool:
        if "uses" in step:
            given = {key: filled(value, contexts) for key, value in step.get("with", {}).items()}
            self._others[step["uses"].partition("@")[0]](given)
            passed, outputs = True, {}
        else:
            passed, outputs = self._shell(step, contexts, outcome)
        if "id" in step:
            about = {"outputs": outputs, "outcome": "success" if passed else "failure"}
            contexts["steps"][step["id"]] = about
        return passed

    def _shell(
        self, step: dict[str, Any], contexts: dict[str, Any], outcome: Outcome
    ) -> tuple[bool, dict[str, str]]:
        temporary = Path(contexts["runner"]["temp"])
        output = temporary / "output"
        output.write_text("")
        script = temporary / "step.sh"
        script.write_text(step["run"])
        own = {key: filled(value, contexts) for key, value in step.get("env", {}).items()}
        if self.token and self.token in own.values():
            self.tokens_seen.append(step["name"])
        runner = {
            "RUNNER_TEMP": str(temporary),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
            "GITHUB_ACTION_PATH": str(REPOSITORY),
            "GITHUB_EVENT_NAME": self.event_name,
            "GITHUB_REPOSITORY": self.repository,
        }
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.checkout,
            env={**self.environment, **runner, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        outcome.log += f"== {step['name']}\n{done.stdout}"
        pairs = (line.partition("=") for line in output.read_text().splitlines())
        return done.returncode == 0, {name: value for name, _, value in pairs}

    @property
    def _others(self) -> dict[str, Callable[[Mapping[str, str]], None]]:
        return {
            "actions/setup-python": lambda given: None,
            "actions/cache/restore": self._restore,
            "actions/cache/save": self._save,
            "actions/upload-artifact": self._upload,
        }

    def _restore(self, given: Mapping[str, str]) -> None:
        """Copy the newest cache whose key begins as asked."""
        caches = self.folder / "caches"
        found = sorted(caches.glob(f"{given['restore-keys'].strip()}*"), key=os.path.getmtime)
        if found:
            shutil.copytree(found[-1], given["path"])

    def _save(self, given: Mapping[str, str]) -> None:
        shutil.copytree(given["path"], self.folder / "caches" / given["key"])

    def _upload(self, given: Mapping[str, str]) -> None:
        kept, left_out = given["path"].split()
        target = self.folder / "artifacts" / given["name"]
        shutil.rmtree(target, ignore_errors=True)
        ignored = shutil.ignore_patterns(Path(left_out).name)
        assert left_out == f"!{kept}/base"
        shutil.copytree(kept, target, ignore=ignored)
