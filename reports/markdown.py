"""The report of one run, as Markdown that GitHub and any other reader shows alike.

Verdict sentences first, then each corpus by tokenizer and by language, fidelity, speed, what was
skipped and why, how to reproduce, and the definitions.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bench.markup import count, escape, number, percent, visible
from bench.markup import markdown_table as table
from bench.plugins import ReportPlugin
from bench.results import Results
from reports.speed import speed, untimed
from reports.view import (
    Row,
    TokenizerSummary,
    View,
    median_premium,
    summarize,
    trained_on,
    verdicts,
)

UNRANKED = "†"
TRAINED = "‡"


class Markdown(ReportPlugin):
    """`report.md`: the whole run on one page."""

    def render(self, results: Results) -> Mapping[str, str]:
        """Return `report.md`."""
        view = View(results)
        blocks = [*_opening(view)]
        for corpus in view.ordered_corpora:
            blocks += _corpus(view, corpus)
        blocks += _fidelity(view)
        blocks += speed(view)
        blocks += _skipped(view)
        blocks += _reproduce(view)
        blocks += _method(view)
        return {"report.md": "\n\n".join(blocks) + "\n"}


def _opening(view: View) -> Iterator[str]:
    yield f"# {escape(view.run['name'])}: tokenizers compared"
    if description := view.run["config"].get("description"):
        yield escape(description)
    yield "\n".join(f"- {escape(sentence)}" for sentence in verdicts(view))


def _corpus(view: View, corpus: str) -> Iterator[str]:
    kind = "Code" if view.kind(corpus) == "code" else "Natural language"
    yield f"## {kind}: {escape(corpus)}"
    yield _about(view, corpus)
    lines = summarize(view, corpus)
    if not lines:
        yield "No tokenizer has results on this corpus; see below."
        return
    yield _by_tokenizer(view, corpus, lines)
    yield from _notes_to_table(view, corpus, lines)
    names = [line.tokenizer for line in lines]
    yield "### Bytes per token"
    yield (
        "Higher is better. Read along a row: it compares tokenizers within a language, never "
        "languages with each other. Bold: no other tokenizer surely does better (rank 1)."
    )
    yield _by_language(view, corpus, names, _bytes_per_token)
    yield _folded(
        "95 % intervals of bytes per token",
        _by_language(view, corpus, names, _interval_of("bytes_per_token")),
    )
    yield from _premiums(view, corpus, names)
    yield from _words(view, corpus, names)


def _about(view: View, corpus: str) -> str:
    metas = view.corpora[corpus]
    languages = view.languages(corpus)
    n_bytes = sum(meta["bytes"] for meta in metas.values())
    pivot = view.pivot(corpus)
    if pivot and view.refusal(corpus):
        aligned = f", declared parallel with pivot {escape(pivot)}, but its ids differ (see below)"
    else:
        aligned = f", parallel by id with pivot {escape(pivot)}" if pivot else ", not parallel"
    skipped = sum(sum(meta["rows_skipped"].values()) for meta in metas.values())
    lost = f" {skipped:,} rows were skipped (see below)." if skipped else ""
    many = "language" if len(languages) == 1 else "languages"
    unit = metas[languages[0]]["unit"]
    return (
        f"{len(languages)} {many}, {view.documents(corpus)} documents each{aligned}; {n_bytes:,} bytes of UTF-8 in all. "
        f"A document is one {escape(unit)}; rows: {escape(metas[languages[0]]['rows_asked'])}.{lost}"
    )


def _by_tokenizer(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> str:
    pivot = view.pivot(corpus)
    shown = pivot or view.languages(corpus)[0]
    header = ["tokenizer", "entries", "tokens", f"bytes/token, {escape(shown)}"]
    if pivot:
        header += ["median premium", "highest premium"]
    header += ["first in", "exact round trips", "UNK", "bytes lost"]
    rows = []
    for line in lines:
        row = view.row("bytes_per_token", line.tokenizer, corpus, shown)
        cells = [
            _marked(view, corpus, line),
            count(line.n_entries),
            count(line.tokens),
            _with_interval(row),
        ]
        if pivot:
            highest = line.highest_premium
            cells += [
                escape(median_premium(line)),
                f"{number(highest[1])} {escape(highest[0])}" if highest else "–",
            ]
        cells += [
            f"{line.first_in} of {line.ranked_in}" if line.ranked_in else "not ranked",
            percent(line.exact),
            percent(line.unk_rate),
            percent(line.lost_share),
        ]
        rows.append(cells)
    return table(header, rows)


def _marked(view: View, corpus: str, line: TokenizerSummary) -> str:
    name = escape(line.tokenizer)
    if view.ranks and line.ranked_in < len(view.languages(corpus)):
        name += f" {UNRANKED}"
    return f"{name} {TRAINED}" if corpus in trained_on(view, line.tokenizer) else name


def _notes_to_table(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> Iterator[str]:
    notes = []
    if view.ranks and any(line.ranked_in < len(view.languages(corpus)) for line in lines):
        limit = view.run["policy"]["lost_limit"]
        notes.append(
            f"{UNRANKED} not ranked in some languages: more than {percent(limit, 0)} of the bytes are "
            "lost there, or documents failed. Premiums are left out where text is lost; then the "
            "median is over the languages in brackets."
        )
    if any(corpus in trained_on(view, line.tokenizer) for line in lines):
        notes.append(
            f"{TRAINED} trained on this very text, which flatters it: not comparable with the others."
        )
    if notes:
        yield "  \n".join(notes)


def _by_language(
    view: View,
    corpus: str,
    names: Sequence[str],
    cell: Callable[[View, str, str, str], str],
) -> str:
    rows = [
        [escape(language), *(cell(view, name, corpus, language) for name in names)]
        for language in view.languages(corpus)
    ]
    return table(["language", *map(escape, names)], rows)


def _bytes_per_token(view: View, tokenizer: str, corpus: str, language: str) -> str:
    text = number(view.value("bytes_per_token", tokenizer, corpus, language))
    rank = view.row("rank", tokenizer, corpus, language)
    if rank is None or rank["value"] is None:
        return text if text == "–" or not view.ranks else f"{text} {UNRANKED}"
    return f"**{text}**" if rank["value"] == 1 else text


def _interval_of(metric: str) -> Callable[[View, str, str, str], str]:
    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        row = view.row(metric, tokenizer, corpus, language)
        if row is None or row["ci_low"] is None:
            return "–"
        return f"{number(row['ci_low'])} to {number(row['ci_high'])}"

    return cell


def _with_interval(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return "–"
    if row["ci_low"] is None:
        return number(row["value"])
    return f"{number(row['value'])} ({number(row['ci_low'])} to {number(row['ci_high'])})"


def _premiums(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    pivot = view.pivot(corpus)
    if pivot is None:
        return
    metric = "program_premium" if view.kind(corpus) == "code" else "premium"
    if metric == "premium":
        yield "### Premium"
        yield (
            f"Tokens of a language ÷ tokens of the same documents in {escape(pivot)}: "
            "1.50 means half as many tokens again for the same content. Lower is better."
        )
    else:
        yield "### Program premium"
        yield (
            f"Tokens of the same programs ÷ their tokens in {escape(pivot)}, beside the ratio of "
            "characters: a language that needs more text needs more tokens."
        )
    yield _premium_table(view, corpus, names, metric)
    yield _folded("95 % intervals", _by_language(view, corpus, names, _interval_of(metric)))


def _premium_table(view: View, corpus: str, names: Sequence[str], metric: str) -> str:
    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        row = view.row(metric, tokenizer, corpus, language)
        if row is not None and row["status"] == "refused":
            return "refused"
        return number(None if row is None else row["value"])

    if metric == "premium":
        return _by_language(view, corpus, names, cell)
    rows = []
    for language in view.languages(corpus):
        ratios = (view.value("characters_ratio", name, corpus, language) for name in names)
        characters = number(next((ratio for ratio in ratios if ratio is not None), None))
        values = (cell(view, name, corpus, language) for name in names)
        rows.append([escape(language), characters, *values])
    return table(["language", "characters", *map(escape, names)], rows)


def _words(view: View, corpus: str, names: Sequence[str]) -> Iterator[str]:
    metas = view.corpora[corpus]
    without = {k: m["words_reason"] for k, m in metas.items() if m["words_reason"]}
    if view.kind(corpus) == "code" or len(without) == len(metas):
        return

    def cell(view: View, tokenizer: str, corpus: str, language: str) -> str:
        return number(view.value("fertility", tokenizer, corpus, language))

    yield "### Fertility"
    yield (
        "Mean tokens that overlap a word (UAX #29). It does not compare languages, since what a "
        "word is differs; a dash stands where words are not defined."
    )
    yield _by_language(view, corpus, names, cell)


def _fidelity(view: View) -> Iterator[str]:
    yield "## Does the text survive?"
    yield (
        "Exact: decode(encode(text)) equals the text. Normalized: equal after NFC and after "
        "trimming and collapsing white space. Lossy: all else."
    )
    rows = []
    for corpus in view.corpora:
        rows += [
            row
            for name in view.tokenizers
            if (row := _fidelity_row(view, name, corpus)) is not None
        ]
    header = ["tokenizer", "corpus", "exact", "normalized", "lossy", "UNK", "bytes lost"]
    header += ["lost to", "byte fallback", "partial characters"]
    yield table(header, rows, left=2)
    witnesses = [f for f in view.findings if f["kind"] == "witness"]
    if witnesses:
        yield _folded(f"{len(witnesses)} witnesses", _witness_table(witnesses))


def _fidelity_row(view: View, tokenizer: str, corpus: str) -> list[str] | None:
    rounds = [
        _documents_of_class(view, tokenizer, corpus, name)
        for name in ("exact", "normalized", "lossy")
    ]
    if not any(rounds):
        return None
    line = next(s for s in summarize(view, corpus) if s.tokenizer == tokenizer)
    return [
        escape(tokenizer),
        escape(corpus),
        *map(count, rounds),
        percent(line.unk_rate),
        percent(line.lost_share),
        escape(_causes(view, tokenizer, corpus)) or "–",
        percent(view.pooled("byte_fallback_rate", tokenizer, corpus, over="tokens")),
        percent(view.pooled("partial_character_rate", tokenizer, corpus, over="tokens")),
    ]


def _documents_of_class(view: View, tokenizer: str, corpus: str, name: str) -> int:
    rows = [
        view.row("round_trip", tokenizer, corpus, language, **{"class": name})
        for language in view.languages(corpus)
    ]
    return sum(row["params"]["documents"] for row in rows if row is not None)


def _causes(view: View, tokenizer: str, corpus: str) -> str:
    """Return the causes of loss over all languages, the largest first."""
    lost: dict[str, float] = {}
    for language, meta in view.corpora[corpus].items():
        for cause in ("unknown", "marks", "case", "compatibility", "other"):
            share = view.value("lost_byte_share", tokenizer, corpus, language, cause=cause)
            lost[cause] = lost.get(cause, 0) + (share or 0) * meta["bytes"]
    total = sum(lost.values())
    ordered = sorted(((n, cause) for cause, n in lost.items() if n), reverse=True)
    return ", ".join(f"{cause} {percent(n / total, 0)}" for n, cause in ordered)


def _witness_table(witnesses: Sequence[Row]) -> str:
    header = ["tokenizer", "corpus", "language", "document", "what happened", "before", "after"]
    rows = [
        [
            escape(w["tokenizer"] or ""),
            escape(w["corpus"] or ""),
            escape(w["language"] or ""),
            escape(w["document_id"] or ""),
            escape(w["message"]),
            escape(visible(str(w["data"].get("expected_excerpt", "")))),
            escape(visible(str(w["data"].get("got_excerpt", "")))),
        ]
        for w in witnesses
    ]
    return table(header, rows, left=len(header))


def _skipped(view: View) -> Iterator[str]:
    yield "## What was skipped, refused or failed"
    lines = [
        *_failed_cells(view),
        *(f"{_where(f)}: {escape(f['message'])}" for f in view.findings if f["kind"] == "refusal"),
        *_refused_premiums(view),
        *untimed(view),
        *_skipped_rows(view),
        *_undefined_words(view),
        *_spellings(view),
    ]
    yield "\n".join(f"- {line}" for line in lines) if lines else "Nothing."


def _where(finding: Row) -> str:
    parts = (finding["tokenizer"], finding["corpus"], finding["language"])
    return escape(", ".join(part for part in parts if part))


def _failed_cells(view: View) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for cell in view.run["cells"]:
        if cell["status"] != "ok":
            place = cell["tokenizer"], cell["status"], cell["detail"] or ""
            groups.setdefault(place, []).append(cell)
    for (tokenizer, status, detail), cells in groups.items():
        where = ", ".join(f"{c['corpus']} {c['language']}" for c in cells[:3])
        more = f" and {len(cells) - 3} more" if len(cells) > 3 else ""
        yield f"{escape(tokenizer)} on {escape(where)}{more}: **{status}**: {escape(detail)}"


def _refused_premiums(view: View) -> Iterator[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for row in view.rows:
        if row["status"] == "refused" and row["metric"] in ("premium", "program_premium"):
            groups.setdefault((row["tokenizer"], row["corpus"]), []).append(row["language"])
    for (tokenizer, corpus), languages in groups.items():
        yield (
            f"{escape(tokenizer)} on {escape(corpus)}: no premium for "
            f"{escape(', '.join(languages))}: too much of the text is lost, or there is no pivot to "
            "compare with"
        )


def _skipped_rows(view: View) -> Iterator[str]:
    for corpus, metas in view.corpora.items():
        for language, meta in metas.items():
            for reason, n in meta["rows_skipped"].items():
                yield f"{escape(corpus)}, {escape(language)}: {n:,} rows skipped: {escape(reason)}"
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
        for name in view.tokenizers:
            n = sum(v for _, v in view.values("documents_spelling_special_tokens", name, corpus))
            if n:
                yield (
                    f"{escape(name)} on {escape(corpus)}: {n:,.0f} documents spell a special token; "
                    "it was read as ordinary text"
                )


def _command(run: Mapping[str, Any]) -> str:
    """Return the command of a run on one line, safe within a fence and to paste into a shell."""
    settings = [part for override in run["overrides"] for part in ("--set", override)]
    command = shlex.join(["tokbench", "run", run["config_path"], *settings])
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in command)


def _reproduce(view: View) -> Iterator[str]:
    run = view.run
    yield "## How to reproduce"
    yield f"```\n{_command(run)}\n```"
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
            escape("; ".join([*_training(facts), *facts["notes"]])) or "–",
        ]
        for name, facts in ((name, run["tokenizers"][name]) for name in view.tokenizers)
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
    yield _folded(
        "Slices", table(["corpus", "language", "SHA-256", "documents", "bytes"], slices, left=3)
    )


def _training(facts: Mapping[str, Any]) -> Iterator[str]:
    trained = facts["trained"]
    if trained:
        yield (
            f"trained by {trained['trainer']} on {trained['corpus']}: {trained['documents']:,} documents, "
            f"{trained['bytes']:,} bytes; {trained['vocab_size_reached']:,} of "
            f"{trained['vocab_size_requested']:,} entries reached"
        )
        yield from trained["notes"]


def _method(view: View) -> Iterator[str]:
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
    yield _folded("Method and definitions", "\n".join(lines))


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
