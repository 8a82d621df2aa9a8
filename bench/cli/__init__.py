"""The command line: parse, call, render. What happens is elsewhere.

Only click is imported at the top of these modules, so that `tokbench --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import click

from tokbench.bench.cli.compare import baseline, compare, import_benchmark, speed
from tokbench.bench.cli.machine import completion, doctor, list_
from tokbench.bench.cli.report import anchors, report
from tokbench.bench.cli.run import conform, pin, plan, run, schema, validate
from tokbench.bench.cli.text import inspect, which
from tokbench.bench.cli.train import train


class _Group(click.Group):
    """Turns tokbench's errors into one message and an exit code."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands group by group, each with its first sentence."""
        width = max(len(name) for name in self.commands)
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(f"{c.name or '':{width}}", c.get_short_help_str(100)) for c in commands]
                )

    def invoke(self, ctx: click.Context) -> Any:
        from tokbench.bench.console import make_safe, message

        make_safe()
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except KeyboardInterrupt as exc:
            message("interrupted; run the same command again to go on from the finished cells")
            ctx.exit(getattr(exc, "exit_code", 130))
        except BrokenPipeError:
            sys.stderr.close()  # the reader has gone: nothing is left to say
            ctx.exit(141)  # as of a program that the system ends for it
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
        """Run the program; an error that nobody foresaw is exit code 3 there."""
        if args is None:
            sys.excepthook = _unforeseen
        return super().main(args, *rest, **options)


def _unforeseen(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """Print one line, or the whole traceback where asked to; exit code 1 would say "gate failed"."""
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
            "TOKBENCH_TRACEBACK=1 to see where it comes from, and report it"
        )
    raise SystemExit(3)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokbench", prog_name="tokbench")
def main() -> None:
    """Measure tokenizers: size, what each language pays, fidelity and speed.

    Exit codes: 0 fine; 1 a gate, comparison, match, conformance or health check failed, and
    nothing else; 2 wrong usage or config; 3 some cells failed, an input is missing or damaged, or
    tokbench itself failed.
    """


GROUPS = {
    "Measure": (run, plan, validate),
    "Look": (report, inspect, which),
    "Gate": (compare, baseline, speed, conform, import_benchmark),
    "Train": (train,),
    "Manage": (list_, schema, pin, doctor, anchors, completion),
}
"""The commands as `tokbench --help` shows them."""

for command in (command for commands in GROUPS.values() for command in commands):
    main.add_command(command)
