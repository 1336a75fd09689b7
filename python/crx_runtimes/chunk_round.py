"""The state of the chunks that share a prefix, while a child process answers their prompts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from crx.types import Context
from crx_contexts.chunk_prompt import ChunkPrompt


@dataclass(slots=True)
class ChunkRound:
    """The chunks that share a prefix, by their position; further ones may be added to `prompts`.

    `waiting` chunks are to be sent; `sent` chunks are with the child, and those of them that it is
    decoding are `admitted`. `retried` chunks have had an answer rejected. A chunk is among the
    `suspects` if it, or one decoded beside it, made the child fail: suspects are sent alone.
    `results` are not yet yielded. The first `known` prompts have been counted as waiting.
    """

    prompts: Sequence[ChunkPrompt]
    waiting: deque[int] = field(default_factory=deque)
    sent: set[int] = field(default_factory=set)
    admitted: set[int] = field(default_factory=set)
    retried: set[int] = field(default_factory=set)
    suspects: deque[int] = field(default_factory=deque)
    done: set[int] = field(default_factory=set)
    results: deque[tuple[int, Context]] = field(default_factory=deque)
    losses_without_chunk: int = 0
    known: int = 0

    @property
    def complete(self) -> bool:
        """Whether every chunk has a result."""
        return len(self.done) == len(self.prompts)

    def next_to_send(self) -> list[int]:
        """Return the chunks to be sent now and count them as sent: one suspect, or all others."""
        self._note_added()
        if self.suspects:
            chunks = [] if self.sent else [self.suspects[0]]
        else:
            chunks = list(self.waiting)
            self.waiting.clear()
        self.sent.update(chunks)
        return chunks

    def text_of(self, number: int) -> str:
        """Return the text to be sent for a chunk."""
        prompt = self.prompts[number]
        return prompt.firmer if prompt.firmer and number in self.retried else prompt.suffix

    def accept_answer(self, number: int, text: str, *, finished: bool) -> None:
        """Validate an answer: the chunk is done, or sent once more if it was rejected."""
        prompt = self.prompts[number]
        context = prompt.validate(text, finished)
        if context.status == "ok" and number in self.retried:
            context = Context(context.text, "retried")
        if context.text or number in self.retried or prompt.firmer is None:
            self.settle(number, context)
        else:
            self._retry(number)

    def settle(self, number: int, context: Context) -> None:
        """Record a chunk's result."""
        self.sent.discard(number)
        self.admitted.discard(number)
        self.done.add(number)
        self.results.append((number, context))
        if self.suspects and self.suspects[0] == number:
            self.suspects.popleft()

    def fail_all(self, why: str) -> None:
        """Fail every chunk that has no result yet."""
        self._note_added()
        self.waiting.clear()
        self.suspects.clear()
        for number in sorted(set(range(len(self.prompts))) - self.done):
            self.settle(number, Context.failed(why))

    def suspect(self, number: int) -> None:
        """Have a chunk sent alone: it, or one decoded beside it, made the child fail."""
        self.sent.discard(number)
        self.admitted.discard(number)
        self.suspects.append(number)

    def recover(self, why: str) -> None:
        """Decide which chunks a loss of the child costs.

        One admitted chunk: that chunk. Several: each becomes a suspect. None: the prefix is at
        fault, and the second such loss fails all chunks.
        """
        if len(self.admitted) == 1:
            self.settle(self.admitted.pop(), Context.failed(why))
        elif self.admitted:
            self.suspects.extend(sorted(self.admitted))
        else:
            self.losses_without_chunk += 1
            if self.losses_without_chunk > 1:
                self.fail_all(why)
        self.admitted.clear()
        self.waiting = deque(sorted((self.sent | set(self.waiting)) - set(self.suspects)))
        self.sent.clear()

    def _note_added(self) -> None:
        """Have the chunks sent whose prompts were added since the last call."""
        self.waiting.extend(range(self.known, len(self.prompts)))
        self.known = len(self.prompts)

    def _retry(self, number: int) -> None:
        """Have a chunk sent once more, with the firmer prompt; a suspect stays first in line."""
        self.retried.add(number)
        self.sent.discard(number)
        self.admitted.discard(number)
        if number not in self.suspects:
            self.waiting.append(number)
