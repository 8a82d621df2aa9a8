"""All tables of a run, as Markdown: what `report.md` leaves out.

What every suite found, then each corpus, what survives, vocabularies, probes, speed, what was
skipped and why, slices and fingerprints, and the definitions. A suite that did not run has no
section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tokbench.bench.markup import escape, markdown_table
from tokbench.bench.results.report import ReportPlugin
from tokbench.bench.results.run_folder import Results
from tokbench.reports.sections import inequality, pairs, probing, survival, usage, vocabularies
from tokbench.reports.sections.closing import (
    estimate_section,
    method_section,
    reproduce_section,
    skipped_section,
)
from tokbench.reports.sections.conformance import conformance_section
from tokbench.reports.sections.corpora import corpus_sections
from tokbench.reports.sections.growth import growth_section
from tokbench.reports.sections.long_tables import long_tables
from tokbench.reports.sections.morphology import morphology_section
from tokbench.reports.sections.robustness import robustness_section
from tokbench.reports.sections.speed import speed_section
from tokbench.reports.sections.usage_of_entries import entry_usage_section
from tokbench.reports.verdicts import verdicts
from tokbench.reports.view import View, view_of


class Detail(ReportPlugin):
    """`detail.md`: every table of a run."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `detail.md`."""
        return {"detail.md": page(view_of(results))}


def page(view: View) -> str:
    """Return the page."""
    blocks = [
        *_opening(view),
        *(block for corpus in view.ordered_corpora for block in _corpus(view, corpus)),
        *survival.survival_section(view),
        *pairs.pairs_section(view),
        *vocabularies.vocabulary_section(view),
        *entry_usage_section(view),
        *probing.probe_section(view),
        *morphology_section(view),
        *robustness_section(view),
        *conformance_section(view),
        *speed_section(view),
        *growth_section(view),
        *skipped_section(view),
        *estimate_section(view),
        *reproduce_section(view),
        *method_section(view),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _opening(view: View) -> Iterator[str]:
    yield f"# {escape(view.run['name'])}, in detail"
    if description := view.run["config"].get("description"):
        yield escape(description)
    sentences = [*verdicts(view)]
    for section in (inequality, usage, survival, pairs, vocabularies, probing):
        sentences += section.verdicts(view)
    yield "\n".join(f"- {escape(sentence)}" for sentence in sentences)
    failed = [("corpus", *one) for one in view.failed_corpora.items()]
    failed += [("language", " ".join(place), why) for place, why in view.failed_languages.items()]
    failed += [("tokenizer", *one) for one in view.failed_tokenizers.items()]
    if failed:
        rows = [[escape(cell) for cell in line] for line in failed]
        yield markdown_table(["failed", "name", "why"], rows, left=3)


def _corpus(view: View, corpus: str) -> Iterator[str]:
    yield from corpus_sections(view, corpus)
    yield from inequality.inequality_sections(view, corpus)
    yield from probing.code_section(view, corpus)
    yield from usage.usage_sections(view, corpus)
    yield from long_tables(view, corpus)
