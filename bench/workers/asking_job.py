"""Jobs that ask tokenizers through `Calls`, and how they go on when a call costs their process.

A job is tried again with that call made item by item; when its process is lost at an item, without
that item. `limits.lost_documents` bounds how many may be left out.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

from tokbench.bench.markup import plural
from tokbench.bench.workers.guarded_calls import Calls
from tokbench.bench.workers.job import Answer, Died, GiveUp, Job

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class AskingJob(Job[T]):
    """A job whose calls are numbered, so that the one that costs a process can be found."""

    careful: frozenset[int] = frozenset()
    lost_items: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    @abstractmethod
    def keys(self) -> tuple[str, ...]:
        """The tokenizers that are asked."""

    @property
    def group(self) -> str:
        """The worker process that counted with the tokenizer; one of its own for several."""
        return ", ".join(self.keys)

    def calls(self) -> Calls:
        """Return the calls of this attempt."""
        return Calls(seconds=self.limits.seconds, careful=self.careful, lost=self.lost_items)

    def lost(self, died: Died) -> Self | GiveUp:
        """Continue without the item that crashed a worker; find it first if need be."""
        match died.step:
            case ("call", _, int(call)) if len(self.careful) < 2 * self.limits.lost_documents:
                return replace(self, careful=self.careful | {call})
            case ("item", str(key), int(call), int(item)):
                lost = {**self.lost_items, (call, item): died.reason}
                if len(lost) < self.limits.lost_documents:
                    return replace(self, lost_items=lost)
                why = f"{plural(len(lost), 'text')} crashed its worker, the limit"
                return self._ended(f"{why} (limits.lost_documents)", key, died)
            case _ if died.kind == "died" and not self.tries:
                return replace(self, tries=1)
            case ("call", str(key), int()):
                return self._ended("too many of its calls crashed a worker", key, died)
        return self._ended("it could not be loaded", self.keys[0], died)

    def _ended(self, why: str, key: str, died: Died) -> GiveUp:
        last = f"last, with {key}" if len(self.keys) > 1 else "last"
        return GiveUp(answer=self.ended(f"{why}; {last}: {died.reason}"))

    def ended(self, reason: str) -> Answer[T]:
        """Return the answer of a job that is not tried again."""
        return Answer(reason=reason)
