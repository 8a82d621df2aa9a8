"""The commands that pages show a newcomer work as printed, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import first_hour

SECTIONS = {section.name: section for section in first_hour.sections()}


def test_commands_are_found_in_the_readme_the_paths_and_the_page_on_one_decision() -> None:
    assert list(SECTIONS) == [
        "Try it",
        "Measure your own",
        "Choosing a tokenizer",
        "Gating a library",
        "Research",
        "Learning",
        "Which tokenizer should I use?",
    ]
    assert all(section.commands for section in SECTIONS.values())
    assert list(SECTIONS["Which tokenizer should I use?"].files) == ["choose.yaml"]


@pytest.mark.long
@pytest.mark.parametrize("name", SECTIONS)
def test_every_command_ends_with_0(name: str, tmp_path: Path) -> None:
    for took in first_hour.run(SECTIONS[name], tmp_path):
        assert took.code == 0, f"{took.command}: {took.output}"
