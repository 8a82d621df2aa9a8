"""The report of one run, as Markdown that GitHub and any other reader shows alike.

The answer first, then each corpus, what does not survive, speed, what failed, and how to reproduce
it. Each fact is said once, tokenizers stand in one order; `detail.md` has every other table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokbench.bench.markup import escape
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports import detail
from tokbench.reports.brief.closing import failed_section, link_line, reproduce_section
from tokbench.reports.brief.corpus import corpus_section
from tokbench.reports.brief.pictures import pictures
from tokbench.reports.brief.speed import speed_section
from tokbench.reports.brief.survival import survival_section
from tokbench.reports.sections import survival
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import View, view_of


class Markdown(ReportPlugin):
    """`report.md` with its pictures, and `detail.md`."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `report.md`, `detail.md` and the files of `figures/`."""
        view = view_of(results)
        drawn = {picture.path: picture.content for picture in pictures(view)}
        return {"report.md": page(view), "detail.md": detail.page(view), **drawn}


def page(view: View) -> str:
    """Return the page."""
    blocks = [
        *_opening(view),
        *(block for corpus in view.ordered_corpora for block in corpus_section(view, corpus)),
        *survival_section(view),
        *speed_section(view),
        *failed_section(view),
        *reproduce_section(view),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _opening(view: View) -> Iterator[str]:
    yield f"# {escape(view.run['name'])}: tokenizers compared"
    if description := view.run["config"].get("description"):
        yield escape(description)
    sentences = [*verdicts(view), *survival.verdicts(view)]
    yield "\n".join(f"- {escape(sentence)}" for sentence in sentences)
    yield link_line(view)
