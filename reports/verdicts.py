"""The sentences that a report opens with: what the numbers of a run say, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tokbench.bench.markup import listed, percent, plural, word_for
from tokbench.reports.view import Row, TokenizerSummary, View, has_place, summarize, trained_on


def verdicts(view: View) -> list[str]:
    """Return the sentences a report opens with: what the numbers say, per corpus."""
    sentences = [*_failures(view), *_breaches(view)]
    for corpus in view.ordered_corpora:
        sentences += _verdict(view, corpus, summarize(view, corpus))
    bundled = [name for name in view.ordered_corpora if view.is_bundled(name)]
    if bundled:
        sentences.append(
            f"{listed(bundled)} {word_for(len(bundled), 'is', 'are')} bundled text, meant for a first "
            "look and for tests: too small to choose a tokenizer by."
        )
    return sentences


def _failures(view: View) -> Iterator[str]:
    """Yield what could not be read or loaded, each once."""
    for name, why in view.failed_corpora.items():
        yield f"Corpus {name} could not be read: {why}"
    for corpus in view.corpora:
        failed = {k: why for (name, k), why in view.failed_languages.items() if name == corpus}
        if failed:
            why = next(iter(failed.values()))
            yield f"Of corpus {corpus}, {listed(list(failed), most=5)} could not be read: {why}"
    for name, why in view.failed_tokenizers.items():
        yield f"Tokenizer {name} could not be loaded: {why}"


def _breaches(view: View) -> Iterator[str]:
    """Yield the tokenizers whose token bytes do not add up to the text."""
    for name in view.tokenizers:
        n = sum(
            round(row["value"] or 0)
            for corpus in view.corpora
            for language in view.languages(corpus)
            for row in view.rows_at("byte_sum_breaches", name, corpus, language)
        )
        if n:
            yield (
                f"Token bytes of {name} do not add up to the text in {plural(n, 'document')}: its "
                "bytes per token are wrong, and it is not ranked there."
            )


def _the_same(view: View, lines: Sequence[TokenizerSummary]) -> Iterator[str]:
    """Yield a sentence for each tokenizer that stands under several keys."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        fingerprint = view.run["tokenizers"][line.tokenizer]["fingerprint"]
        groups.setdefault(fingerprint, []).append(line.tokenizer)
    for names in groups.values():
        if len(names) > 1:
            yield f"{listed(names)} are the same tokenizer under {plural(len(names), 'key')}."


def _different(view: View, lines: Sequence[TokenizerSummary]) -> int:
    return len({view.run["tokenizers"][line.tokenizer]["fingerprint"] for line in lines})


def _verdict(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> list[str]:
    if not view.ranks:
        return [f"On {corpus}, nothing was ranked: no suite of this run computes ranks."]
    languages = view.languages(corpus)
    ranked = [line for line in lines if line.ranked_in]
    contested = max((line.contested_in for line in ranked), default=0)
    if not ranked:
        sentences = [f"On {corpus}, no tokenizer could be ranked."]
    elif not contested and _different(view, ranked) > 1:
        sentences = [f"On {corpus}, no language has two tokenizers that could be ranked."]
    elif _different(view, ranked) == 1:
        only = listed([line.tokenizer for line in ranked])
        has = word_for(len(ranked), "has", "have")
        sentences = [f"On {corpus}, {only} {has} nothing to be compared with."]
        if len(lines) > len(ranked):
            sentences = [f"On {corpus}, only {only} could be ranked."]
    elif all(line.first_in == contested for line in ranked):
        sentences = [
            f"On {corpus}, no ranked tokenizer is significantly better than another: "
            f"{view.documents(corpus)} for each language cannot separate them."
        ]
    elif len(languages) == 1:
        fewest = [line.tokenizer for line in ranked if line.tokens == ranked[0].tokens]
        near = [n for line in ranked if line.first_in and (n := line.tokenizer) not in fewest]
        sentences = [
            f"On {corpus}, {listed(fewest)} {word_for(len(fewest), 'needs', 'need')} the fewest tokens"
            + (
                f"; {listed(near)} {word_for(len(near), 'is', 'are')} not worse beyond the interval."
                if near
                else "."
            )
        ]
    else:
        best = [line for line in ranked if line.first_in == ranked[0].first_in]
        names = [line.tokenizer for line in best]
        sentences = [
            f"On {corpus}, {listed(names)} {word_for(len(names), 'ranks', 'rank')} first in "
            f"{best[0].first_in} of "
            f"{len(languages)} languages (a first place can be shared)."
        ]
    trained = [line.tokenizer for line in lines if corpus in trained_on(view, line.tokenizer)]
    if trained:
        sentences.append(
            f"{listed(trained)} {word_for(len(trained), 'was', 'were')} trained on {corpus} itself and "
            f"{word_for(len(trained), 'is', 'are')} not ranked there."
        )
    sentences += _the_same(view, lines)
    sentences += _special_matches(view, corpus, lines)
    for reason, unranked in _unranked(view, corpus, lines).items():
        sentences.append(f"On {corpus}, not ranked because {reason}: {'; '.join(unranked)}.")
    return sentences


def _special_matches(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> Iterator[str]:
    """Name the tokenizers that read special tokens out of this text, which others spell out."""
    for name in (line.tokenizer for line in lines):
        spelled = view.values("documents_spelling_special_tokens", name, corpus)
        if n := round(sum(value for _, value in spelled)) if matched_special(view, name) else 0:
            yield (
                f"On {corpus}, {name} reads special tokens that the text spells as special tokens, "
                f"in {plural(n, 'document')}."
            )


def matched_special(view: View, tokenizer: str) -> int:
    """Return the number of special tokens whose spelling in a text is read as the token."""
    return int(view.run["tokenizers"].get(tokenizer, {}).get("matched_special", 0))


def _unranked(view: View, corpus: str, lines: Sequence[TokenizerSummary]) -> dict[str, list[str]]:
    """Return who is not ranked in how many languages, by reason."""
    languages = view.languages(corpus)
    found: dict[str, list[str]] = {}
    for line in lines:
        rows = [view.row("rank", line.tokenizer, corpus, language) for language in languages]
        codes = [_code(row) for row in rows if row is None or not has_place(row)]
        words = [_UNRANKED.get(c, "documents failed") for c in codes if c != "trained_on_text"]
        for why, n in Counter(words).items():
            told = f"{line.tokenizer} in {n} of {len(languages)}"
            if why == _UNRANKED["lossy"] and line.lost_share is not None:
                told += f" ({percent(line.lost_share)} of all bytes)"
            found.setdefault(why, []).append(told)
    return found


def _code(row: Row | None) -> str:
    if row is not None and row["status"] == "ok" and row["reason"] is None:
        return "lossy"  # schema 1 stored no code
    return (row["reason"] if row else None) or "documents_failed"


_UNRANKED = {
    "lost_text": "text is lost",
    "lossy": "text is lost",
    "never_exact": "no document comes back",
    "byte_sum_breached": "token bytes do not add up",
    "no_tokens": "there are no tokens",
}
"""Why a tokenizer has no place, by the code of its row."""
