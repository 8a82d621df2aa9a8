"""A model of events as a tokenizer that tokbench measures, and as a plug-in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from pydantic import Field

from tokbench.bench.errors import TokenizerError
from tokbench.bench.markup import plural
from tokbench.bench.model import Fingerprint, Ids, Vocabulary
from tokbench.bench.plugins import LoadContext, TokenizerPlugin
from tokbench.tokenizers_impl.convert import as_list
from tokbench.tokenizers_impl.picky.events import DropEvent, EventModel, encoded
from tokbench.tokenizers_impl.utf8 import utf8


class EventTokenizer:
    """Encodes by carrying out events; pieces that came before are remembered."""

    byte_exact = True
    prefix_space = False

    def __init__(self, model: EventModel) -> None:
        self.model = model
        n = sum(isinstance(event, DropEvent) for event in model.events)
        gone = plural(len(model.dropped), "entry", "entries")
        self.notes: Sequence[str] = (
            f"{plural(n, 'drop')} among {plural(len(model.events), 'event')}; "
            f"{gone} needed on the way and never given out",
        )
        self._ids_of = lru_cache(maxsize=1 << 16)(self._encode_piece)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of each id, and which ids are special or missing."""
        special = frozenset(self.model.special_tokens.values())
        contents = self._contents
        n_ids = 1 + max((*contents, *special))
        return Vocabulary(
            token_bytes=[contents.get(i) for i in range(n_ids)],
            special_ids=special,
            hole_ids=frozenset(range(n_ids)) - special.union(contents),
        )

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Hashes of the vocabulary, events, pre-tokenization and special tokens."""
        rows = [
            [event.token, *event.parts, "drop"]
            if isinstance(event, DropEvent)
            else [event.left, event.right, event.token]
            for event in self.model.events
        ]
        return Fingerprint.of(
            vocabulary=self.vocabulary.token_bytes,
            merges=rows,
            pre_tokenizer=self.model.pre_tokenization.pattern,
            special_tokens=dict(self.model.special_tokens),
        )

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        """Return one list of ids for each text."""
        return self.encode_batch_in_pre_tokens(texts)[0]

    def encode_batch_in_pre_tokens(self, texts: Sequence[str]) -> tuple[list[Ids], list[list[int]]]:
        """Return the ids, and for each token which piece of the text it lies in."""
        ids: list[Ids] = []
        numbers: list[list[int]] = []
        for text in texts:
            pieces = [self._ids_of(utf8(p)) for p in self.model.pre_tokenization.split(text)]
            ids.append([token for piece in pieces for token in piece])
            numbers.append([n for n, piece in enumerate(pieces) for _ in piece])
        return ids, numbers

    def decode_batch(self, ids: Sequence[Ids]) -> list[str]:
        """Return the text of each list of ids; bytes that are not UTF-8 become U+FFFD."""
        names = {i: name.encode() for name, i in self.model.special_tokens.items()}
        contents = {**self._contents, **names}
        try:
            return [
                b"".join(contents[i] for i in as_list(one)).decode("utf-8", "replace")
                for one in ids
            ]
        except KeyError as exc:
            raise TokenizerError(f"id {exc.args[0]} is not in the vocabulary") from exc

    def _encode_piece(self, piece: bytes) -> tuple[int, ...]:
        return tuple(map(self.model.ids.__getitem__, encoded(self.model, piece)))

    @cached_property
    def _contents(self) -> dict[int, bytes]:
        return {i: self.model.token_bytes[n] for n, i in self.model.ids.items()}


class EventBPE(TokenizerPlugin):
    """Byte-level BPE with entries that were dropped: PickyBPE and trimmed vocabularies."""

    file: str = Field(description="JSON that `picky_bpe` or `trimmed_bpe` has written.")

    def load(self, context: LoadContext) -> EventTokenizer:
        """Read the file; raise `TokenizerError` when it is missing or not of this kind."""
        from tokbench.tokenizers_impl.picky.files import read_events

        return EventTokenizer(read_events(context.resolve(self.file)))
