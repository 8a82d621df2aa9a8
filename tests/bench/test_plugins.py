"""Plug-ins are found by entry points, imported on use, and wrong ones are named with a way out."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tokbench.bench import plugins
from tokbench.bench.config.schema import load_config
from tokbench.bench.errors import ConfigError, PluginError
from tokbench.bench.plugins import SuitePlugin, TokenizerPlugin, TrainerPlugin
from tokbench.bench.results.report import ReportPlugin

REPOSITORY = Path(__file__).resolve().parents[2]
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a package: a module's source, and its entry points of the tokenizers' group."""

    def install_package(name: str, source: str, **entries: str) -> None:
        folder = tmp_path / name
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{key} = {value}\n" for key, value in entries.items()]
        (info / "entry_points.txt").write_text("[tokbench.tokenizers]\n" + "".join(lines))
        (folder / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(folder)

    return install_package


PLUGIN = """
from tokbench.bench.plugins import TokenizerPlugin
class Mine(TokenizerPlugin):
    size: int = 3
"""


def test_the_installed_entry_points_are_those_of_pyproject() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for group, declared in project["entry-points"].items():
        installed = {e.name: e.value for e in entry_points(group=group) if e.dist is not None}
        missing = {name: value for name, value in declared.items() if installed.get(name) != value}
        assert not missing, f"reinstall (pip install -e .): {group} lacks {missing}"


@pytest.mark.parametrize("kind", [TokenizerPlugin, TrainerPlugin, SuitePlugin, ReportPlugin])
def test_every_built_in_can_be_imported_and_describes_itself(kind: type[plugins.Plugin]) -> None:
    for name in plugins.names(kind):
        plugin = plugins.find(kind, name)
        assert plugin.__doc__
        assert plugin.model_config["extra"] == "forbid"
        assert plugin.model_config["frozen"]


def test_a_third_party_is_found_as_the_built_ins_are(install: Install) -> None:
    install("mine", PLUGIN, my_tokenizer="mine:Mine")
    assert {"my_tokenizer", "utf8_bytes"} <= set(plugins.names(TokenizerPlugin))
    assert plugins.find(TokenizerPlugin, "my_tokenizer")(size=5).model_dump() == {"size": 5}


def test_looking_up_names_imports_none_of_them(install: Install) -> None:
    install("unread", "raise SystemExit('imported')", lazy="unread:Mine")
    assert "lazy" in plugins.names(TokenizerPlugin)
    assert "unread" not in sys.modules


def test_two_of_one_name_are_an_error_that_names_both(install: Install) -> None:
    install("first", PLUGIN, twin="first:Mine")
    install("second", PLUGIN, twin="second:Mine")
    with pytest.raises(PluginError, match="two plug-ins .* called 'twin': first:Mine, second:Mine"):
        plugins.find(TokenizerPlugin, "twin")


def test_a_built_in_cannot_be_replaced_silently(install: Install) -> None:
    install("sly", PLUGIN, utf8_bytes="sly:Mine")
    with pytest.raises(PluginError, match="uninstall one of the packages"):
        plugins.find(TokenizerPlugin, "utf8_bytes")


@pytest.mark.parametrize(
    ("source", "value", "told"),
    [
        (
            "import no_such_module",
            "bad:Mine",
            "cannot be imported: ModuleNotFoundError: No module named",
        ),
        ("1 / 0", "bad:Mine", "cannot be imported: ZeroDivisionError: division by zero"),
        ("x = ", "bad:Mine", "cannot be imported: SyntaxError: invalid syntax"),
        (
            "",
            "bad:Mine",
            "cannot be imported: AttributeError: module 'bad' has no attribute 'Mine'",
        ),
        ("Mine = 5", "bad:Mine", "is not a TokenizerPlugin"),
        ("class Mine: pass", "bad:Mine", "is not a TokenizerPlugin"),
        (
            "from tokbench.bench.plugins import SuitePlugin as Mine",
            "bad:Mine",
            "is not a TokenizerPlugin",
        ),
        ("raise SystemExit(5)", "bad:Mine", "cannot be imported: SystemExit: 5"),
    ],
)
def test_a_broken_plug_in_is_named_with_what_to_do(
    install: Install, source: str, value: str, told: str
) -> None:
    sys.modules.pop("bad", None)
    install("bad", source, broken=value)
    with pytest.raises(PluginError, match=r"plug-in 'broken' \(bad:Mine") as caught:
        plugins.find(TokenizerPlugin, "broken")
    assert told in str(caught.value)
    sys.modules.pop("bad", None)


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(
        PluginError, match="unknown plug-in 'nope' of tokbench.tokenizers; use one of: .*characters"
    ):
        plugins.find(TokenizerPlugin, "nope")


def test_a_broken_plug_in_harms_only_configs_that_name_it(install: Install, tmp_path: Path) -> None:
    install("worse", "1 / 0", broken="worse:Mine")
    config = tmp_path / "c.yaml"
    text = "name: n\ncorpora: {c: {source: builtin, dataset: sentences}}\ntokenizers: {t: {type: %s}}\n"
    config.write_text(text % "utf8_bytes")
    load_config(config)
    config.write_text(text % "broken")
    with pytest.raises(ConfigError, match=r"c\.yaml:3:24: tokenizers\.t\.type: plug-in 'broken'"):
        load_config(config)


def test_a_broken_plug_in_is_listed_as_such(install: Install) -> None:
    from tokbench.bench.commands.listing import entries

    install("worst", "1 / 0", broken="worst:Mine")
    found = {entry["name"]: entry["what"] for entry in entries("tokenizers")}
    assert "cannot be used: plug-in 'broken'" in found["broken"]
    assert "division by zero" in found["broken"]
    assert len(found) > 5


def test_packages_keep_to_the_import_rule() -> None:
    """suites, tokenizers_impl and reports import bench and never each other; bench none of them."""
    code = "import sys, tokbench.bench.run.runner, tokbench.bench.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = {name.split(".")[1] for name in done.stdout.split() if name.startswith("tokbench.")}
    assert ours == {"bench"}


def test_every_module_of_ours_is_below_tokbench() -> None:
    folders = {"bench", "suites", "tokenizers_impl", "reports"}
    assert not folders & {name.partition(".")[0] for name in sys.modules}
