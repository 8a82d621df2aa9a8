"""How a report ends: what is missing and why, how to reproduce it, and the definitions."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokbench.bench.config.yaml_file import MAPPING
from tokbench.bench.markup import count, escape, listed, percent, plural, word_for
from tokbench.bench.markup import markdown_table as table
from tokbench.reports.mix import order
from tokbench.reports.sections.speed import untimed
from tokbench.reports.tables import folded
from tokbench.reports.verdicts import matched_special
from tokbench.reports.view import Row, View


def skipped_section(view: View) -> Iterator[str]:
    """Yield what has no value, and why."""
    yield "## What was skipped, refused or failed"
    lines = [
        *failed_cells(view),
        *refusals(view),
        *_refused_premiums(view),
        *_refused_headroom(view),
        *untimed(view),
        *_skipped_rows(view),
        *_undefined_words(view),
        *_spellings(view),
    ]
    yield "\n".join(f"- {line}" for line in lines) if lines else "Nothing."


def estimate_section(view: View) -> Iterator[str]:
    """Yield what `plan --estimate` said beside what the run took, where it was asked."""
    told = view.results.environment.get("estimate") or {}
    if not told:
        return
    yield "## Estimate and truth"
    yield "Before the reports were written; a run that went on measured its last part only."
    rows = [
        [name, _shown(told["estimated"].get(key), per), _shown(told["measured"].get(key), per)]
        for key, name, per in (
            ("bytes", "text, MB", 1e6),
            ("cpu_seconds", "CPU, s", 1.0),
            ("seconds", f"clock, s (estimated for {told['estimated'].get('jobs')} workers)", 1.0),
            ("memory", "memory of a worker, MB", 1e6),
            ("disk", "disk, MB", 1e6),
        )
    ]
    yield table(["quantity", "estimated", "measured"], rows)


def _shown(value: float | None, per: float) -> str:
    return "unknown" if value is None else f"{value / per:,.1f}"


def refusals(view: View, most: int | None = None) -> Iterator[str]:
    """Yield refusals, and what stopped a suite: equal messages once.

    Of more than `most` of a tokenizer, corpus and reason, only the first and their number. Failures
    of the run itself are those of its cells; those of timing have lines of their own.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for finding in view.findings:
        stopped = finding["kind"] in ("warning", "failure") and finding["suite"] not in _ELSEWHERE
        if stopped or finding["kind"] == "refusal":
            key = finding["tokenizer"] or "", finding["message"]
            groups.setdefault(key, []).append(finding)
    kinds: dict[tuple[str, ...], list[list[Row]]] = {}
    for alike in groups.values():
        kind = tuple(str(alike[0][name]) for name in ("suite", "tokenizer", "corpus", "reason"))
        kinds.setdefault(kind, []).append(alike)
    for lines in kinds.values():
        if most is None or len(lines) <= most:
            yield from map(_refusal, lines)
        else:
            more = plural(len(lines) - 1, "more line")
            yield f"{_refusal(lines[0])} ({more} of this kind in `detail.md`)"


def _refusal(alike: Sequence[Row]) -> str:
    """Write one message, and where it was said."""
    places = [
        " ".join(filter(None, (one["corpus"], one["language"]))) or f"suite {one['suite']}"
        for one in alike
    ]
    where = " on ".join(filter(None, (alike[0]["tokenizer"], listed(places, most=3))))
    return f"{escape(where)}: {escape(alike[0]['message'])}"


_ELSEWHERE = ("run", "throughput")


def failed_cells(view: View) -> Iterator[str]:
    """Yield the cells without a whole count, equal reasons once."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for cell in view.run["cells"]:
        place = cell["corpus"], cell["language"]
        at_the_top = cell["corpus"] in view.failed_corpora or place in view.failed_languages
        if cell["status"] != "ok" and not at_the_top and cell["tokenizer"] in order(view):
            key = cell["tokenizer"], cell["status"], cell["detail"] or ""
            groups.setdefault(key, []).append(cell)
    for (corpus, language), why in view.failed_languages.items():
        yield f"{escape(corpus)} {escape(language)}: **failed**: {escape(why)}"
    for (tokenizer, status, detail), cells in groups.items():
        where = ", ".join(f"{c['corpus']} {c['language']}" for c in cells[:3])
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        yield f"{escape(tokenizer)} on {escape(where)}{more}: **{status}**: {escape(detail)}"


def _refused_premiums(view: View) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    limit = percent(view.run["policy"]["lost_limit"], 0)
    lost = f"more than {limit} of the text's bytes are lost, there or in the pivot"
    for row in view.rows:
        if row["status"] == "refused" and row["metric"] in ("premium", "program_premium"):
            reason = lost if row["reason"] == "lost_text" else row["detail"]
            groups.setdefault((row["tokenizer"], row["corpus"], reason), []).append(row["language"])
    for (tokenizer, corpus, reason), languages in groups.items():
        yield (
            f"{escape(tokenizer)} on {escape(corpus)}: no premium for "
            f"{escape(', '.join(languages))}: {escape(reason)}"
        )


def _refused_headroom(view: View) -> Iterator[str]:
    refused = [
        row
        for row in view.rows
        if row["metric"] == "segmentation_headroom" and row["status"] == "refused"
    ]
    for tokenizer, detail in {(row["tokenizer"], row["detail"]): None for row in refused}:
        yield f"{escape(tokenizer)}: no headroom: {escape(detail)}"


def _skipped_rows(view: View) -> Iterator[str]:
    for corpus, metas in view.corpora.items():
        for language, meta in metas.items():
            for reason, n in meta["rows_skipped"].items():
                yield f"{escape(corpus)}, {escape(language)}: {plural(n, 'row')} skipped: {escape(reason)}"
            for note in meta["notes"]:
                yield f"{escape(corpus)}, {escape(language)}: {escape(note)}"


def _undefined_words(view: View) -> Iterator[str]:
    for corpus, metas in view.corpora.items():
        groups: dict[str, list[str]] = {}
        for language, meta in metas.items():
            if meta["words_reason"]:
                groups.setdefault(meta["words_reason"], []).append(language)
        for reason, languages in groups.items():
            yield f"{escape(corpus)}: no word metrics for {escape(', '.join(languages))}: {escape(reason)}"


def _spellings(view: View) -> Iterator[str]:
    for corpus in view.corpora:
        for name in order(view):
            n = sum(v for _, v in view.values("documents_spelling_special_tokens", name, corpus))
            if n:
                matched = matched_special(view, name)
                read = (
                    f"it was read as the special token ({matched} of them can be matched)"
                    if matched
                    else "it was read as ordinary text"
                )
                documents = (
                    f"{plural(round(n), 'document')} {word_for(round(n), 'spells', 'spell')}"
                )
                yield (f"{escape(name)} on {escape(corpus)}: {documents} a special token; {read}")


def command(run: Mapping[str, Any]) -> str:
    """Return the command of a run on one line, safe within a fence and to paste into a shell."""
    settings = [part for override in run["overrides"] for part in ("--set", override)]
    command = shlex.join(["tokbench", "run", run["config_path"], *settings])
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in command)


def reproduce_section(view: View) -> Iterator[str]:
    """Yield the command, versions, fingerprints and slices."""
    run = view.run
    yield "## How to reproduce"
    if run["config_path"] == MAPPING:
        yield (
            "This run was started from Python. Its config is in `run.json`, and "
            '`tokbench.run(results.run["config"])` runs it again.'
        )
    else:
        yield f"```\n{command(run)}\n```"
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    yield (
        f"Seed {run['intervals']['seed']}, {run['intervals']['resamples']:,} resamples. {versions}. "
        f"Digest of all exact results: `{run['digest'][:16]}`; the whole config is in `run.json`."
    )
    rows = [
        [
            escape(name),
            f"`{facts['fingerprint'][:16]}`",
            count(facts["n_entries"]),
            count(facts["n_ids"]),
            count(facts["n_special"]),
            escape("; ".join([*_training(facts), *_call(facts), *facts["notes"]])) or "–",
        ]
        for name, facts in ((name, run["tokenizers"][name]) for name in order(view))
    ]
    yield table(["tokenizer", "fingerprint", "entries", "ids", "special", "notes"], rows)
    slices = [
        [
            escape(corpus),
            escape(language),
            f"`{meta['sha256'][:16]}`",
            count(meta["documents"]),
            count(meta["bytes"]),
        ]
        for corpus, metas in view.corpora.items()
        for language, meta in metas.items()
    ]
    yield folded(
        "Slices", table(["corpus", "language", "SHA-256", "documents", "bytes"], slices, left=3)
    )


def _call(facts: Mapping[str, Any]) -> Iterator[str]:
    if call := facts.get("encode_call"):
        yield f"encoded and timed by {call}"


def _training(facts: Mapping[str, Any]) -> Iterator[str]:
    trained = facts["trained"]
    if trained:
        yield (
            f"trained by {trained['trainer']} on {trained['corpus']}: {trained['documents']:,} documents, "
            f"{trained['bytes']:,} bytes; {trained['vocab_size_reached']:,} of "
            f"{trained['vocab_size_requested']:,} entries reached"
        )
        if how := trained.get("facts", {}).get("how"):
            yield how
        yield from trained["notes"]


def method_section(view: View) -> Iterator[str]:
    """Yield the definitions of the metrics shown."""
    metrics = view.run["metrics"]
    used = sorted({row["metric"] for row in view.rows} & set(metrics))
    lines = [
        f"- **{escape(name)}** ({escape(metrics[name]['unit'])}): {escape(metrics[name]['definition'])}"
        for name in used
    ]
    lines.append(
        "- **Intervals** are 95 %, pointwise, from a paired bootstrap over documents (over clusters "
        "where the corpus names them), seeded per corpus so that tokenizers share the draws; bias "
        "corrected and accelerated below 100 documents, percentiles above."
    )
    yield folded("Method and definitions", "\n".join(lines))
