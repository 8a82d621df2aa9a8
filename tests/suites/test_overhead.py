"""The command that measures what a run costs beside its tokenizers."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tokbench.suites.perf.overhead import OverheadSample, main, table

CONFIG = """
name: tiny
corpora: {text: {source: files, path: text.txt, language: en}}
tokenizers: {bytes: {type: utf8_bytes}}
suites: {efficiency: {}}
"""


def test_a_table_has_the_median_and_the_range_of_each_config() -> None:
    samples = [
        OverheadSample(config="c", version="this", overhead=value, load=1.0)
        for value in (0.5, 0.25, 0.3)
    ]
    assert table(samples).splitlines()[-1] == "| c | this | 0.300 | 0.250 to 0.500 | 1.0 |"


def test_a_config_is_run_and_its_overhead_printed(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("one line\nanother line\n" * 200)
    (tmp_path / "tiny.yaml").write_text(CONFIG)
    done = CliRunner().invoke(main, [str(tmp_path / "tiny.yaml"), "--rounds", "1"])
    assert done.exit_code == 0, done.output
    assert "| tiny | this | " in done.output
    assert "start of a worker: " in done.output


def test_a_run_that_fails_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text("name: tiny\n")
    done = CliRunner().invoke(main, [str(tmp_path / "tiny.yaml")])
    assert done.exit_code != 0
    assert "tiny.yaml: the run failed" in str(done.exception)
