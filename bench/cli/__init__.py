"""The command line: parse, call, render. What happens is elsewhere.

A command's module is imported when it is called, and only click at the top of each, so that
`tokbench --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

import click


class ListedCommand(NamedTuple):
    """The module of a command and the first sentence of its help."""

    place: str
    """``module:function`` below `tokbench.bench.cli`."""
    help: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, function = self.place.partition(":")
        found = getattr(import_module(f"{__name__}.{module}"), function)
        assert isinstance(found, click.Command)
        return found


GROUPS = {
    "Measure": {
        "init": ListedCommand("health:init", "Write a commented config for the files in FOLDER."),
        "run": ListedCommand("run:run", "Run the benchmark of CONFIG and write its reports."),
        "plan": ListedCommand("run:plan", "Show what a run of CONFIG would measure."),
        "validate": ListedCommand("run:validate", "Check CONFIGs and the files that they name."),
    },
    "Look": {
        "show": ListedCommand("report:show", "Print the tables of a run, or the values you name."),
        "report": ListedCommand(
            "report:report", "Write the reports of a run again, or a history of runs."
        ),
        "inspect": ListedCommand(
            "text:inspect", "Show how tokenizers split TEXT: tokens, ids, bytes."
        ),
        "which": ListedCommand("text:which", "Rank tokenizers by how well they encode TEXT."),
        "size": ListedCommand(
            "health:size", "Count the tokens of FILEs: bytes per token and premiums."
        ),
        "check": ListedCommand(
            "health:check", "Report the health of TOKENIZER: pass, warn or fail."
        ),
    },
    "Gate": {
        "compare": ListedCommand(
            "compare:compare", "Compare two runs or baselines: what moved, and why."
        ),
        "baseline": ListedCommand(
            "compare:baseline", "Save a run as a small file that can be committed."
        ),
        "speed": ListedCommand(
            "compare:speed", "Time two sides in the same job and compare their speed."
        ),
        "budget": ListedCommand(
            "budget:budget", "Check the tokens of files against the limits in BUDGET."
        ),
        "conform": ListedCommand(
            "run:conform", "Check that engines produce exactly the ids of a reference."
        ),
        "bisect": ListedCommand(
            "bisect:bisect", "Find the version of a library that changed ids or speed."
        ),
        "comment": ListedCommand(
            "comment:comment", "Leave FILE (Markdown) as one comment on a pull request."
        ),
        "import-benchmark": ListedCommand(
            "compare:import_benchmark", "Import timings of pytest-benchmark into a run."
        ),
    },
    "Train": {
        "lineage": ListedCommand(
            "lineage:lineage", "Show the merges that make TOKEN of a BPE vocabulary."
        ),
        "train": ListedCommand("train:train", "Train the tokenizers of CONFIG that have `train:`."),
    },
    "Manage": {
        "list": ListedCommand(
            "machine:list_", "List tokenizers, corpora, suites, metrics and configs."
        ),
        "schema": ListedCommand(
            "run:schema", "Print a JSON schema: of configs, for editors, or of budgets."
        ),
        "pin": ListedCommand("run:pin", "Pin every Hub revision in CONFIG to its current commit."),
        "doctor": ListedCommand(
            "machine:doctor", "Check versions, extras, plug-ins, caches and the Hub."
        ),
        "anchors": ListedCommand("report:anchors", "Derive published figures from a data folder."),
        "export": ListedCommand(
            "share:export", "Export runs: a data set repository, or a static site."
        ),
        "leaderboard": ListedCommand(
            "share:leaderboard", "Collect the values of many runs in one table."
        ),
        "clean": ListedCommand(
            "machine:clean", "List or remove caches, half-built slices and old cells."
        ),
        "completion": ListedCommand("machine:completion", "Print the shell's completion script."),
    },
}
"""The commands as `tokbench --help` shows them."""

_LISTED = {name: one for group in GROUPS.values() for name, one in group.items()}


class CommandLine(click.Group):
    """Imports commands on use, and turns tokbench's errors into one message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(_LISTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is no command of that name."""
        return _LISTED[cmd_name].load() if cmd_name in _LISTED else None

    def load_all(self) -> dict[str, click.Command]:
        """Import every command."""
        return {name: one.load() for name, one in _LISTED.items()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands group by group, each with its first sentence."""
        width = max(map(len, _LISTED))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", c.help) for name, c in commands.items()])

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse what stands before the command."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as exc:
            raise _safe(exc) from exc

    def invoke(self, ctx: click.Context) -> Any:
        from tokbench.bench.console import make_safe, message

        make_safe()
        try:
            return super().invoke(ctx)
        except click.ClickException as exc:
            raise _safe(exc) from exc
        except (click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as exc:
            message("interrupted; run the same command again to resume from the finished cells")
            ctx.exit(getattr(exc, "exit_code", 130))
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone: nothing is left to say
            ctx.exit(141)  # as of a program that the system ends for it
        except MemoryError:
            message(
                "error: out of memory; raise the limit (ulimit -v) or free memory, then run the "
                "same command again"
            )
            ctx.exit(3)
        except OSError as exc:
            place = f"{exc.filename}: " if exc.filename else ""
            message(f"error: {place}{exc.strerror or exc}")
            ctx.exit(3)
        except Exception as exc:
            from tokbench.bench.errors import TokbenchError

            if not isinstance(exc, TokbenchError):
                raise  # the hook below has the last word
            message(f"error: {getattr(exc, 'shown', exc)}")
            ctx.exit(exc.exit_code)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the program; an unexpected error exits with code 3."""
        if args is None:
            sys.excepthook = _unforeseen
        return super().main(args, *rest, **options)


def _safe(exc: click.ClickException) -> click.ClickException:
    """Return what click says of a wrong call so that names in it are safe on a screen."""
    from tokbench.bench.markup import terminal
    from tokbench.bench.privacy import without_secrets

    if isinstance(exc, click.exceptions.NoArgsIsHelpError):
        return exc
    return click.UsageError(
        without_secrets(terminal(exc.format_message())), ctx=getattr(exc, "ctx", None)
    )


def _unforeseen(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """Print one line, or the traceback on request; exit with 3, since 1 means "gate failed"."""
    import os
    import traceback

    from tokbench.bench.console import message

    if os.environ.get("TOKBENCH_TRACEBACK"):
        traceback.print_exception(exc)
    else:
        *_, (frame, line) = [(None, 0), *traceback.walk_tb(trace)]
        place = f"{frame.f_globals.get('__name__')}, line {line}" if frame else "unknown place"
        message(
            f"internal error: {kind.__name__}: {' '.join(str(exc).split())[:500]} ({place}); set "
            "TOKBENCH_TRACEBACK=1 to see the traceback, and report it"
        )
    raise SystemExit(3)


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokbench", prog_name="tokbench")
def main() -> None:
    """Benchmark tokenizers: compression, cost per language, fidelity and speed.

    Exit codes: 0 success; 1 a gate, comparison, match, conformance or health check failed; 2 wrong
    usage or config; 3 some cells failed, an input is missing or damaged, or tokbench itself failed.
    """
