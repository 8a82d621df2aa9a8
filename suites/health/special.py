"""Special tokens: spelled in a text, doubled, spelled like words, and the markers of chats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokbench.bench.markup import listed, plural, word_for
from tokbench.bench.model import HasSpecialTokens
from tokbench.bench.run.probe import Subject
from tokbench.suites.health.verdict import HealthFinding, quoted

MOST = 300
"""Special tokens that are asked about, the first in order of the alphabet."""

CHAT_MARKERS = (
    "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
    "<|endoftext|>", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "<<SYS>>", "<s>",
    "</s>", "<|user|>", "<|assistant|>", "<|system|>", "<think>", "</think>", "<tool_call>",
    "<｜User｜>", "<｜Assistant｜>", "[CLS]", "[SEP]",
)  # fmt: skip
"""What templates of chat models write around turns."""

_PAGE = "docs/method.md, special tokens"


def checks(subject: Subject) -> Iterator[HealthFinding]:
    """Return what is odd about special tokens, and which markers of chats exist."""
    yield _spelled(subject)
    yield _doubled(subject)
    yield _words(subject)
    yield _markers(subject)


def _spelled(subject: Subject) -> HealthFinding:
    """Find the special tokens that are matched though ordinary text is asked for."""
    vocabulary, spelled = subject.tokenizer.vocabulary, _spelled_ids(subject)
    known = sorted(subject.spellings)[:MOST]
    answers = subject.ids([f"a {one} b" for one in known])
    read = [
        one
        for one, ids in zip(known, answers, strict=True)
        if isinstance(ids, tuple)
        and spelled[one] in ids
        and spelled[one] in vocabulary.special_ids - vocabulary.unknown_ids
    ]
    failed = [one for one, ids in zip(known, answers, strict=True) if isinstance(ids, str)]
    if failed:
        return HealthFinding(
            name="special tokens in text",
            verdict="fail",
            text=f"the library fails on {plural(len(failed), 'spelling')}: {listed(failed, 4)}",
            cost="a user who types it stops the service",
            page=_PAGE,
        )
    if read:
        return HealthFinding(
            name="special tokens in text",
            verdict="warn",
            text=f"{len(read)} of {len(known)} are read as control tokens when a text spells them, "
            f"also where that is switched off: {listed([quoted(one) for one in read], 4)}",
            cost="writing it into a prompt inserts a control token; escape it first",
            page=_PAGE,
        )
    text = f"the spellings of {plural(len(known), 'special token')} are ordinary text"
    return HealthFinding(name="special tokens in text", verdict="pass", text=text)


def _doubled(subject: Subject) -> HealthFinding:
    """Find spellings that two ids share: then which one is meant is a matter of luck."""
    vocabulary = subject.tokenizer.vocabulary
    spelled = _spelled_ids(subject)
    contents: dict[bytes, list[int]] = {}
    for i, content in enumerate(vocabulary.token_bytes):
        if content and i not in vocabulary.special_ids:
            contents.setdefault(content, []).append(i)
    twice = {one: [i, *contents.get(one.encode(), ())] for one, i in spelled.items()}
    twice = {one: ids for one, ids in twice.items() if len(set(ids)) > 1}
    if not twice:
        return HealthFinding(
            name="doubled", verdict="pass", text="no special token is an entry as well"
        )
    shown = [f"{quoted(one)} (ids {', '.join(map(str, ids))})" for one, ids in twice.items()]
    return HealthFinding(
        name="doubled",
        verdict="warn",
        text=f"{plural(len(twice), 'special token')} {word_for(len(twice), 'is', 'are')} an "
        f"ordinary entry too: {listed(shown, 3)}",
        cost="text and control token look alike; a template may write the one and mean the other",
        page=_PAGE,
    )


def _spelled_ids(subject: Subject) -> dict[str, int]:
    tokenizer = subject.tokenizer
    return dict(tokenizer.special_tokens) if isinstance(tokenizer, HasSpecialTokens) else {}


def _words(subject: Subject) -> HealthFinding:
    """Find special tokens that a text may spell without meaning them."""
    words = [one for one in sorted(subject.spellings) if one.strip("▁ Ġ").isalnum()]
    if not words:
        return HealthFinding(
            name="spelled like words", verdict="pass", text="no special token is a word"
        )
    return HealthFinding(
        name="spelled like words",
        verdict="warn",
        text=f"{plural(len(words), 'special token')} {word_for(len(words), 'is', 'are')} spelled "
        f"like ordinary text: {listed([quoted(one) for one in words], 4)}",
        cost="where matching is on, such words in a text become control tokens",
        page=_PAGE,
    )


def _markers(subject: Subject) -> HealthFinding:
    """Say of each usual marker whether it is special, an added token, or cut as text."""
    vocabulary = subject.tokenizer.vocabulary
    special = [one for one in CHAT_MARKERS if one in subject.spellings]
    contents = {(vocabulary.token_bytes[i] or b"").decode("utf-8", "replace") for i in
                vocabulary.added_ids}  # fmt: skip
    added = [one for one in CHAT_MARKERS if one in contents and one not in special]
    parts = [f"special: {_all(special)}"] + ([f"added tokens: {_all(added)}"] if added else [])
    if special or added:
        text = f"{'; '.join(parts)}; all others are cut as text"
    else:
        text = "no usual marker of chats is a token of its own: this is a vocabulary for text alone"
    return HealthFinding(name="chat markers", verdict="pass", text=text)


def _all(markers: Sequence[str]) -> str:
    return ", ".join(markers) or "none"
