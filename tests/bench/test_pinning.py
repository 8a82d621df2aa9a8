"""Open revisions are found without the Hub, and pinned without touching anything else."""

from __future__ import annotations

from pathlib import Path

from tokbench.bench.commands.pin import unpinned, with_revisions
from tokbench.bench.config.schema import load_config

COMMIT, OTHER = "a" * 40, "1" * 40

CONFIG = """\
# what each language pays
name: mine
corpora:
  flores:  # gated
    source: huggingface
    path: owner/texts   # the data set
    config: "{language}"
    languages: [eng_Latn, 'no']
    text: text
  local:
    source: builtin
    dataset: sentences
tokenizers:
  one: {type: huggingface, hub: owner/one}  # flow
  two:
    type: huggingface
    hub: owner/two
    revision: main  # may move
"""


def test_open_revisions_are_found(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    found = unpinned(load_config(tmp_path / "c.yaml"))
    assert [(one.place[1], one.name, one.kind, one.revision) for one in found] == [
        ("flores", "owner/texts", "dataset", None),
        ("one", "owner/one", "model", None),
        ("two", "owner/two", "model", "main"),
    ]


def test_a_commit_is_not_open(tmp_path: Path) -> None:
    text = with_revisions(CONFIG, dict.fromkeys(("corpora.flores", "tokenizers.one"), COMMIT))
    (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
    assert [one.place[1] for one in unpinned(load_config(tmp_path / "c.yaml"))] == ["two"]


def test_only_revisions_change(tmp_path: Path) -> None:
    commits = {"corpora.flores": COMMIT, "tokenizers.one": OTHER, "tokenizers.two": COMMIT}
    before, after = (
        text.replace("  #", " #").splitlines() for text in (CONFIG, with_revisions(CONFIG, commits))
    )
    assert [line for line in after if line not in before] == [
        f"    revision: {COMMIT}",
        f'  one: {{type: huggingface, hub: owner/one, revision: "{OTHER}"}} # flow',
        f"    revision: {COMMIT} # may move",
    ]
    assert [line for line in before if line not in after] == [
        "  one: {type: huggingface, hub: owner/one} # flow",
        "    revision: main # may move",
    ]
