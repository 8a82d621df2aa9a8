"""What a release is made of agrees with itself."""

from __future__ import annotations

import tomllib
from importlib.metadata import version

import pytest
from ruamel.yaml import YAML

from pages import REPOSITORY

WORKFLOWS = REPOSITORY / ".github" / "workflows"
pytestmark = pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="not in a checkout")


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = YAML(typ="safe").load(REPOSITORY / "CITATION.cff")
    assert project["version"] == citation["version"] == version("tokbench")
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{project['version']}]" in changes


def test_a_citation_has_what_the_format_requires() -> None:
    citation = YAML(typ="safe").load(REPOSITORY / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"] == [{"name": "tokbench contributors"}]


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_workflows_have_least_permissions_and_a_time_limit(name: str) -> None:
    workflow = YAML(typ="safe").load(WORKFLOWS / name)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_the_image_runs_quick_as_a_user_without_rights() -> None:
    lines = (REPOSITORY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert 'CMD ["run", "quick"]' in lines
    assert "USER tokbench" in lines
