"""The command line: exit codes, what goes to stdout, and output that no encoding can break."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tokbench.bench.cli import main

CONFIG = """\
name: mine
corpora:
  prose: {source: files, language: en, path: prose.txt}
tokenizers:
  bytes: {type: utf8_bytes}
  chars: {type: characters}
"""
PROSE = "the cat\nnaïve café\n日本 🙂\n"

COMMAND = (sys.executable, "-c", "from tokbench.bench.cli import main; main(prog_name='tokbench')")

Tokbench = Callable[..., Result]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "prose.txt").write_text(PROSE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tokbench(folder: Path) -> Tokbench:
    """Run the command in this process, counting included."""

    def invoke(*arguments: str) -> Result:
        alone = ("--jobs", "0") if arguments[0] == "run" and len(arguments) > 1 else ()
        return CliRunner().invoke(main, [*arguments, *alone])

    return invoke


@pytest.fixture
def run(folder: Path) -> Run:
    """Run the command in a process of its own, in `folder`, counting in the same one."""

    def run_command(*arguments: str | bytes, **settings: Any) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, **settings.pop("env", {})}
        return subprocess.run(
            [*COMMAND, *arguments, *(("--jobs", "0") if arguments[0] == "run" else ())],
            capture_output=True,
            env=environment,
            cwd=folder,
            check=False,
            **settings,
        )

    return run_command


# exit codes


def test_a_run_prints_its_summary_to_stdout_and_the_rest_to_stderr(tokbench: Tokbench) -> None:
    done = tokbench("run", "c.yaml", "-v")
    assert done.exit_code == 0
    assert "chars" in done.stdout
    assert "report: runs/mine-1/report.md" in done.stdout
    assert {"bytes × prose × en: ok", "chars × prose × en: ok"} == {
        line.partition("] ")[2] for line in done.stderr.splitlines() if line.startswith("[")
    }
    assert "[1/2]" not in done.stdout
    assert "\x1b" not in done.output


def test_worker_processes_give_the_same_results(tokbench: Tokbench, folder: Path) -> None:
    tokbench("run", "c.yaml")
    done = CliRunner().invoke(main, ["run", "c.yaml", "--jobs", "2"])
    assert done.exit_code == 0
    first, second = (folder / "runs" / f"mine-{n}" for n in (1, 2))
    for name in ("run.json", "measurements.parquet", "findings.parquet", "report.md"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_quiet_prints_the_result_only(tokbench: Tokbench) -> None:
    done = tokbench("run", "c.yaml", "--quiet")
    assert done.stderr == ""
    assert "report: runs/mine-1/report.md" in done.stdout


def test_a_failed_input_is_exit_code_3_and_everything_else_is_there(tokbench: Tokbench) -> None:
    done = tokbench("run", "c.yaml", "--set", "corpora.gone={source: files, language: fr, path: x}")
    assert done.exit_code == 3
    assert "corpus gone, fr: " in done.stderr
    assert Path("runs/mine-1/report.md").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "nowhere.yaml"),
        ("run", "no_such_config"),
        ("run", "c.yaml", "--set", "seed"),
        ("run", "c.yaml", "--set", "seed=x"),
        ("run",),
        ("run", "c.yaml", "extra"),
        ("run", "c.yaml", "--no-such-option"),
        ("nonsense",),
        ("plan", "nowhere.yaml"),
        ("validate", "prose.txt"),
        ("list", "nonsense"),
        ("report",),
        ("inspect",),
        ("inspect", "x", "--file", "prose.txt"),
        ("inspect", "x", "--config", "c.yaml", "--tokenizer", "byts"),
        ("inspect", "--file", "nowhere.txt", "--config", "c.yaml"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_nothing_on_stdout(
    tokbench: Tokbench, arguments: tuple[str, ...]
) -> None:
    done = tokbench(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_no_run_is_exit_code_3(tokbench: Tokbench) -> None:
    done = tokbench("report", "nowhere")
    assert done.exit_code == 3
    assert done.stderr == "error: nowhere: is not a finished run (run.json is missing)\n"


def test_output_that_cannot_be_written_is_said_in_one_line(tokbench: Tokbench) -> None:
    done = tokbench("run", "c.yaml", "--quiet", "--output", "prose.txt")
    assert done.exit_code == 3
    assert done.stderr.startswith(
        "error: prose.txt/mine-1: cannot be created: Not a directory; choose"
    )
    assert done.stdout == ""


def test_a_fault_of_our_own_is_not_hidden(
    tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokbench.bench.run.plan.make_plan", lambda config: 1 / 0)
    assert isinstance(tokbench("plan", "c.yaml").exception, ZeroDivisionError)


# commands


def test_plan_shows_cells_and_does_nothing(tokbench: Tokbench, folder: Path) -> None:
    done = tokbench("plan", "c.yaml")
    assert done.exit_code == 0
    assert done.stdout.startswith("mine: 2 cells: 2 tokenizers × 1 corpus\n")
    planned = json.loads(tokbench("plan", "c.yaml", "--json").stdout)
    assert [cell["tokenizer"] for cell in planned["cells"]] == ["bytes", "chars"]
    assert {path.name for path in folder.iterdir()} == {"c.yaml", "prose.txt"}


def test_a_plan_does_not_depend_on_layout_and_depends_on_values(tokbench: Tokbench) -> None:
    def plan(*arguments: str) -> str:
        return str(json.loads(tokbench("plan", "c.yaml", "--json", *arguments).stdout)["plan"])

    assert plan() == plan("--set", "seed=0") != plan("--set", "seed=1")


def test_validate_says_fine_where_all_files_are_there(tokbench: Tokbench, folder: Path) -> None:
    done = tokbench("validate", "c.yaml")
    assert (done.exit_code, done.stdout) == (0, "c.yaml: fine\n")
    (folder / "prose.txt").unlink()
    assert tokbench("validate", "c.yaml").exit_code == 3


@pytest.mark.parametrize(
    "what",
    ["tokenizers", "trainers", "corpora", "suites", "metrics", "reports", "executors", "configs"],
)
def test_lists_are_tables_and_json(tokbench: Tokbench, what: str) -> None:
    listed = json.loads(tokbench("list", what, "--json").stdout)
    text = tokbench("list", what)
    assert text.exit_code == 0
    assert listed
    for entry in listed:
        assert entry["name"] in text.stdout
        assert "cannot be used" not in str(entry)


def test_the_schema_knows_every_tokenizer_and_refuses_unknown_keys(tokbench: Tokbench) -> None:
    schema = json.loads(tokbench("schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert set(schema["required"]) == {"name", "corpora", "tokenizers"}
    kinds = [entry["name"] for entry in json.loads(tokbench("list", "tokenizers", "--json").stdout)]
    shapes = {shape["type"]: shape for shape in schema["properties"]["tokenizers"]["anyOf"]}
    short, *options = shapes["object"]["additionalProperties"]["anyOf"]
    assert short["type"] == "string"
    types = [option["properties"]["type"]["const"] for option in options[:-1]]
    assert types == kinds
    assert all(option["additionalProperties"] is False for option in options)


def test_report_writes_the_same_report_again(tokbench: Tokbench) -> None:
    tokbench("run", "c.yaml")
    report = Path("runs/mine-1/report.md")
    before = report.read_bytes()
    report.unlink()
    done = tokbench("report", "runs/mine-1")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "runs/mine-1/report.md")
    assert report.read_bytes() == before


def test_inspect_shows_pieces_ids_and_bytes(tokbench: Tokbench) -> None:
    done = tokbench("inspect", "é x", "--config", "c.yaml")
    assert done.exit_code == 0
    assert "\\xC3 | \\xA9 | ␣ | x" in done.stdout
    [as_bytes, _] = json.loads(
        tokbench("inspect", "é x", "--config", "c.yaml", "--format", "json").stdout
    )
    assert as_bytes["ids"] == [195, 169, 32, 120]
    assert as_bytes["piece_bytes"] == ["c3", "a9", "20", "78"]
    assert as_bytes["round_trip"] == "exact"


def test_inspect_reads_files_and_standard_input(folder: Path) -> None:
    runner = CliRunner()
    (folder / "t.txt").write_text("ab\r\n", encoding="utf-8", newline="")
    options = ["--config", "c.yaml", "--tokenizer", "bytes", "--format", "json"]
    from_file = runner.invoke(main, ["inspect", "--file", "t.txt", *options])
    from_stdin = runner.invoke(main, ["inspect", "-", *options], input="ab\r\n")
    assert json.loads(from_file.stdout)[0]["ids"] == [97, 98, 13, 10]
    assert from_stdin.stdout == from_file.stdout


def test_inspect_of_a_tokenizer_that_fails_is_exit_code_3(tokbench: Tokbench, toys: None) -> None:
    for where in ("encode", "decode", "load"):
        for how in ("raise", "panic"):
            setting = f"tokenizers.bad={{type: toy_faulty, where: {where}, how: {how}}}"
            done = tokbench("inspect", "boom", "--config", "c.yaml", "--set", setting)
            assert done.exit_code == 3, (where, how, done.exception)
            assert done.stderr.startswith("bad: ")
            assert "chars" in done.stdout


def test_inspect_of_nothing_is_fine(tokbench: Tokbench) -> None:
    done = tokbench("inspect", "", "--config", "c.yaml")
    assert done.exit_code == 0


# D8: encodings, locales, pipes


ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
C_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CP1252 = {"PYTHONIOENCODING": "cp1252:strict"}


@pytest.mark.parametrize("env", [ASCII, C_LOCALE, CP1252], ids=["ascii", "C", "cp1252"])
def test_d8_a_run_ends_well_in_any_encoding_and_its_files_are_utf_8(
    run: Run, folder: Path, env: dict[str, str], tokbench: Tokbench
) -> None:
    tokbench("run", "c.yaml", "--quiet")
    done = run("run", "c.yaml", env=env)
    assert done.returncode == 0, done.stderr.decode("latin-1")
    assert b"Traceback" not in done.stderr
    if env is not CP1252:
        done.stdout.decode("ascii")
        done.stderr.decode("ascii")
    assert (folder / "runs/mine-2/report.md").read_bytes() == (
        folder / "runs/mine-1/report.md"
    ).read_bytes()


def test_d8_help_pieces_and_errors_in_ascii(run: Run, cases_folder: Path) -> None:
    names = (cases_folder / "console.txt").read_text(encoding="utf-8").split()
    for arguments in (
        ("--help",),
        ("list", "metrics"),
        ("inspect", " ".join(names), "--config", "c.yaml"),
        ("run", "nö.yaml"),
        ("nö",),
    ):
        done = run(*arguments, env=C_LOCALE)
        assert b"Traceback" not in done.stderr, done.stderr
        (done.stdout + done.stderr).decode("ascii")


@pytest.mark.parametrize(
    ("name", "env", "shown"),
    [("ä b.yaml".encode(), C_LOCALE, "ä b.yaml"), (b"\xff.yaml", {}, "\\xff.yaml")],
)
def test_d8_a_config_whose_name_is_not_ascii_or_not_utf_8_can_be_run(
    run: Run, folder: Path, name: bytes, env: dict[str, str], shown: str
) -> None:
    (folder / "c.yaml").rename(folder / os.fsdecode(name))
    done = run("run", name, "--quiet", env=env)
    assert done.returncode == 0, done.stderr
    written = (folder / "runs/mine-1/run.json").read_bytes().decode("utf-8")
    assert json.loads(written)["config_path"] == shown


@pytest.mark.parametrize("arguments", [("list", "metrics"), ("run", "c.yaml", "--jobs", "0")])
def test_a_reader_that_has_gone_is_no_error(folder: Path, arguments: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 0
    assert b"Broken" not in told
    assert b"Traceback" not in told


def test_no_color_and_a_dumb_pipe_have_no_escapes(run: Run) -> None:
    done = run("run", "c.yaml", env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert b"\x1b" not in done.stdout + done.stderr


def interrupted(process: subprocess.Popen[bytes]) -> bytes:
    """Press Ctrl-C, and again where it hit a moment at which Python drops it; return stderr."""
    for _ in range(6):
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=20)[1]
    process.kill()
    raise AssertionError("the run goes on after Ctrl-C")


def test_an_interrupt_says_how_to_go_on(run: Run, folder: Path, toys: None) -> None:
    config = CONFIG + "  slow: {type: toy_faulty, how: hang, word: cat}\n"
    (folder / "c.yaml").write_text(config, encoding="utf-8")
    process = subprocess.Popen(
        [*COMMAND, "run", "c.yaml", "--jobs", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stderr is not None
    cells = folder / "runs" / "mine-1" / "cells"
    deadline = time.monotonic() + 60
    while len(list(cells.rglob("*.cell"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    told = interrupted(process)
    assert process.returncode == 130
    assert b"run the same command again to resume from the finished cells" in told
    assert b"Traceback" not in told


# weight


HEAVY = {
    "tokbench.bench.config.schema", "datasets", "numpy", "pandas", "pyarrow", "pydantic", "regex", "rich",
    "ruamel", "sentencepiece", "tiktoken", "tokenizers", "transformers", "importlib.metadata",
}  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_no_heavy_library_and_scans_no_entry_points(arguments: list[str]) -> None:
    code = (
        "import sys; from tokbench.bench.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "print('\\n' + ' '.join(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    allowed = {"importlib.metadata"} if arguments == ["--version"] else set()
    assert loaded & HEAVY <= allowed
    assert done.stdout


# nobody reads along


def test_a_command_keeps_its_work_and_its_exit_code_when_the_reader_has_gone(folder: Path) -> None:
    (folder / "c.yaml").write_text(
        CONFIG + "  gone: {type: sentencepiece, file: gone.model}\n", encoding="utf-8"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, "run", "c.yaml", "--jobs", "0"], stdout=writer, stderr=writer, check=False
    )
    os.close(writer)
    assert done.returncode == 3
    assert (folder / "runs" / "mine-1" / "run.json").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_was_closed_before_does_no_harm(folder: Path, closed: str) -> None:
    command = f'"$@" run c.yaml --jobs 1 {closed}'
    done = subprocess.run(["sh", "-c", command, "sh", *COMMAND], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr
    assert (folder / "runs" / "mine-1" / "report.md").exists()


def test_more_jobs_than_anyone_has_are_no_fault(folder: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", "c.yaml", "--jobs", "100000"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


BROKEN_REPORT = '''
from tokbench.bench.results.report import ReportPlugin


class Broken(ReportPlugin):
    """Divides by zero."""

    def render(self, results):
        return {"x.md": str(1 // 0)}
'''


def test_an_error_that_nobody_foresaw_is_one_line_and_exit_code_3(
    tmp_path: Path, make_plugin: Callable[..., None], good_run: Any
) -> None:
    make_plugin(tmp_path, "broken_toy", BROKEN_REPORT, {"tokbench.reports": {"broken": "Broken"}})

    def report(**variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "tokbench",
                "report",
                str(good_run.results.folder),
                "--format",
                "broken",
            ],
            env={**os.environ, "PYTHONPATH": str(tmp_path), **variables},
            capture_output=True,
            text=True,
        )

    done = report()
    assert done.returncode == 3
    assert done.stderr.startswith("internal error: ZeroDivisionError: ")
    assert "(broken_toy, line 9); set TOKBENCH_TRACEBACK=1" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" in report(TOKBENCH_TRACEBACK="1").stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_stderr_changes_no_exit_code(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tokbench", "validate", str(tmp_path / "missing.yaml")]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert subprocess.run(command, stderr=full, check=False).returncode == 2
