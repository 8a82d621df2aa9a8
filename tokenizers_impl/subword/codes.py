"""BPE of machine translation: the code files of subword-nmt and fastBPE, with ``</w>``.

A text is words between spaces. A word is its characters, the last one marked as the end of a word.
Of the pairs side by side the one that was learned first is joined, everywhere in the word; then
the next, until no pair is known (Sennrich, Haddow and Birch 2016):

>>> ranks = {("l", "o"): 0, ("e", "r</w>"): 1}
>>> segmented(["l", "o", "l", "o", "w", "e", "r</w>"], ranks)
['lo', 'lo', 'w', 'er</w>']

Three kinds of file differ in their head and in how a word ends:

- ``#version: 0.2`` (subword-nmt): the mark sticks to the last character, ``r</w>``;
- no head, two columns (subword-nmt 0.1): the mark is a symbol of its own, ``r </w>``;
- no head, three columns, the last a count (fastBPE): as 0.2.

The files hold merges only. The entries here are the characters and joined parts that the merges
name, each with and without the mark; a character that no merge names is unknown, where the tools
would hand it on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from pydantic import Field

from tokbench.bench.errors import TokenizerError
from tokbench.bench.model import Fingerprint, Ids, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.convert import as_list
from tokbench.tokenizers_impl.files import read_file, text_of

END = "</w>"
UNKNOWN = "<unk>"
Pair = tuple[str, str]


def segmented(word: Sequence[str], ranks: Mapping[Pair, int]) -> list[str]:
    """Return the parts of a word: in each round the pair of lowest rank is joined everywhere."""
    parts = list(word)
    while True:
        known = [(ranks[pair], pair) for pair in pairwise(parts) if pair in ranks]
        if not known:
            return parts
        _, pair = min(known)
        joined: list[str] = []
        at = 0
        while at < len(parts):
            both = tuple(parts[at : at + 2]) == pair
            joined.append("".join(pair) if both else parts[at])
            at += 2 if both else 1
        parts = joined


@dataclass(frozen=True, kw_only=True)
class Codes:
    """The merges of a code file."""

    ranks: Mapping[Pair, int]
    """Of a pair that is listed twice, the first place counts."""
    end_apart: bool
    """Whether the end of a word is a symbol of its own (version 0.1)."""

    def symbols(self, word: str) -> list[str]:
        """Return what merging starts from.

        >>> Codes(ranks={}, end_apart=False).symbols("low")
        ['l', 'o', 'w</w>']
        """
        if self.end_apart:
            return [*word, END]
        return [*word[:-1], word[-1] + END]


def read_codes(text: str, source: str) -> Codes:
    """Read a code file; raise `TokenizerError` with the line that is not a merge.

    >>> read_codes("#version: 0.2\\nl o\\ne r</w>\\n", "codes").ranks
    {('l', 'o'): 0, ('e', 'r</w>'): 1}
    >>> read_codes("l o 12\\n", "codes").end_apart
    False
    """
    lines = text.rstrip("\n").split("\n")
    versioned = lines[0].startswith("#version:")
    version = lines[0].partition(":")[2].strip() if versioned else None
    if version not in (None, "0.1", "0.2"):
        raise TokenizerError(
            f"{source}: version {version} of code files is not known; 0.1 and 0.2 are"
        )
    ranks: dict[Pair, int] = {}
    columns = set()
    for number, line in enumerate(lines[1:] if versioned else lines, start=1 + versioned):
        cells = line.strip("\r\n ").split(" ")
        if len(cells) not in (2, 3) or (len(cells) == 3 and not cells[2].isdigit()):
            raise TokenizerError(
                f"{source}, line {number}: {line!r:.60} is not a merge: two symbols with a space "
                "between them, and in files of fastBPE a count"
            )
        columns.add(len(cells))
        ranks.setdefault((cells[0], cells[1]), len(ranks))
    if len(columns) > 1:
        raise TokenizerError(f"{source}: some lines have a count and some have none")
    return Codes(ranks=ranks, end_apart=version == "0.1" or (version is None and columns == {2}))


class CodesTokenizer:
    """A code file as a tokenizer that tokbench can measure."""

    byte_exact = False
    prefix_space = False

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.notes: Sequence[str] = (
            "not byte-exact: words are cut at spaces, and several spaces become one",
            "code files have no vocabulary: entries are what the merges name, with and without the "
            "end of a word; other characters are unknown",
        )
        self._segmented = lru_cache(maxsize=1 << 16)(self._segment)

    @cached_property
    def entries(self) -> list[str]:
        """All entries in the order of their ids: unknown, characters, then joined parts."""
        found = {UNKNOWN: None}
        named = [part for pair in self.codes.ranks for part in pair]
        characters = sorted({c for part in named for c in part.removesuffix(END)})
        found |= dict.fromkeys([*characters, *(c + END for c in characters)])
        if self.codes.end_apart:
            found[END] = None
        for left, right in self.codes.ranks:
            found |= dict.fromkeys([left, right, left + right])
        return list(found)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each entry."""
        return {entry: i for i, entry in enumerate(self.entries)}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each id; the end of a word is a space."""
        content: list[bytes | None] = [
            entry.removesuffix(END).encode() + (b" " if entry.endswith(END) else b"")
            for entry in self.entries
        ]
        content[0] = None
        ending = frozenset(i for i, entry in enumerate(self.entries) if entry.endswith(END))
        return Vocabulary(token_bytes=content, unknown_ids=frozenset({0}), ending_ids=ending)

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Hashes of the entries and merges."""
        return Fingerprint.of(
            vocabulary=self.entries,
            merges=list(self.codes.ranks),
            options={"end_apart": self.codes.end_apart},
        )

    def segment(self, text: str) -> list[str]:
        """Return the parts of a text as the tools print them: ``@@`` where a word goes on.

        >>> codes = Codes(ranks={("l", "o"): 0}, end_apart=False)
        >>> CodesTokenizer(codes).segment("lo low")
        ['l@@', 'o', 'lo@@', 'w']
        """
        printed: list[str] = []
        for word in _words(text):
            parts = [part.removesuffix(END) for part in self._segmented(word)]
            parts = parts if parts[-1] else parts[:-1]
            printed += [*(f"{part}@@" for part in parts[:-1]), parts[-1]]
        return printed

    def spelling(self, ids: Sequence[int]) -> list[str]:
        """Return the entries as the file has them."""
        return [self.entries[int(i)] for i in ids]

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one list of ids for each text."""
        return [
            [self.ids.get(part, 0) for word in _words(text) for part in self._segmented(word)]
            for text in texts
        ]

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the words of each list of ids with single spaces between them."""
        return ["".join(self.spelling(as_list(one))).replace(END, " ").rstrip(" ") for one in ids]

    def _segment(self, word: str) -> tuple[str, ...]:
        return tuple(segmented(self.codes.symbols(word), self.codes.ranks))


def _words(text: str) -> list[str]:
    return [word for line in text.split("\n") for word in line.strip("\r\n ").split(" ") if word]


class SubwordCodes(TokenizerPlugin):
    """A code file of subword-nmt or fastBPE: BPE over words, with ``</w>`` at their ends."""

    file: str = Field(description="A code file of subword-nmt or fastBPE.")

    def load(self, context: LoadContext) -> CodesTokenizer:
        """Read the file; raise `TokenizerError` when it is missing or not of this kind."""
        content = read_file(context.resolve(self.file), self.file)
        return CodesTokenizer(read_codes(text_of(content, self.file, ""), self.file))
