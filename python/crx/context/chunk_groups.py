"""Contexts in groups of chunks: a digest of the document, a line for each chunk, second tries."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

from crx.context.chunk_prompt import Ask, ChunkPrompt
from crx.context.group_prompt import (
    OPENING_CHARS,
    GroupPrompt,
    digest_grammar,
    format_chunks,
    lines_grammar,
    parse_lines,
    split_chunk_groups,
)
from crx.context.line_counts import LineCounts
from crx.context.ordering import Answers
from crx.context.outline import Outliner
from crx.context.validate import ContextValidator
from crx.types import Chunk, Context, Document

# Tokens of an answer: six lines of 220 characters, three characters a token, and their numbers.
GROUP_ANSWER_TOKENS = 480
# Groups that llama.cpp decodes together. On processors a token takes longest with few sequences:
# in milliseconds of SmolLM2-135M behind 1,300 tokens, with two threads, 14 alone, 11 beside one and
# 6 beside 7.
GROUPS_TOGETHER = 8

Count = Callable[[Sequence[str]], list[int]]
# A document's position, a chunk's position and its context.
Situated = tuple[int, int, Context]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A prompt, and what its answer gives: contexts, and further prompts for a queue."""

    prompt: ChunkPrompt
    accept: Callable[[Context], list[Situated]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document whose digest is written, and the prefix of the prompts of its groups."""

    position: int
    chunks: Sequence[Chunk]
    validator: ContextValidator
    digest: str
    prefix: str


@dataclass(frozen=True, slots=True)
class GroupContextualizer:
    """Contexts of a group of chunks at a time.

    A context is the document's digest and the chunk's line. A line that is missing or rejected is
    asked for once more, alone and before further groups, while `counts` say that this pays.
    `count` returns the tokens of each text. `together` prompts wait for their answers at a time,
    of one document after another.
    """

    ask: Ask
    prompt: GroupPrompt
    count: Count
    counts: LineCounts = field(default_factory=LineCounts)
    together: int = GROUPS_TOGETHER

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Answers:
        """Yield (position, context) of every chunk, a group's together as soon as it is read."""
        with contextlib.closing(self.situate_many([(document, chunks)])) as contexts:
            for _, at, context in contexts:
                yield at, context

    def situate_many(
        self, documents: Sequence[tuple[Document, Sequence[Chunk]]]
    ) -> Generator[Situated, None, None]:
        """Yield (document's position, chunk's position, context), likewise."""
        queue: deque[_Asked] = deque()
        # Tokens cannot be counted while answers are awaited.
        groups = [self.groups(chunks) for _, chunks in documents]
        unread = (at for at, found in enumerate(groups) if found)
        asked: list[_Asked] = []
        prompts: list[ChunkPrompt] = []

        def ask_more(answered: int) -> None:
            while len(asked) - answered < self.together:
                if not queue:
                    at = next(unread, -1)
                    if at < 0:
                        return
                    queue.append(self._ask_digest(at, *documents[at], groups[at], queue))
                asked.append(queue.popleft())
                prompts.append(asked[-1].prompt)

        ask_more(0)
        with contextlib.closing(self.ask(prompts)) as answers:
            for answered, (number, answer) in enumerate(answers, 1):
                contexts = asked[number].accept(answer)
                ask_more(answered)
                yield from contexts

    def groups(self, chunks: Sequence[Chunk]) -> list[range]:
        """Return the positions of the chunks of each group."""
        return split_chunk_groups(chunks, self.count([chunk.text for chunk in chunks]))

    def group_text(self, chunks: Sequence[Chunk]) -> str:
        """Return what follows the prefix for the chunks of a group."""
        return self.prompt.lines.suffix(format_chunks([chunk.text for chunk in chunks]))

    def line_text(self, chunk: Chunk) -> str:
        """Return what follows the prefix for a chunk that is asked for alone."""
        return self.prompt.lines.suffix(format_chunks([chunk.text]), firmer=True)

    def digest_prompt(self, document: Document, chunk: Chunk) -> tuple[str, str]:
        """Return the prefix and the rest of the prompt for a document's digest."""
        opening = document.text[:OPENING_CHARS]
        head = _head(document, chunk)
        return self.prompt.digest.prefix(head), self.prompt.digest.suffix(opening)

    def _ask_digest(
        self,
        at: int,
        document: Document,
        chunks: Sequence[Chunk],
        groups: Sequence[range],
        queue: deque[_Asked],
    ) -> _Asked:
        """Return the prompt for the digest of a document, whose groups are then put in `queue`.

        A digest that is rejected twice is replaced by the first line of the outline.
        """
        validator = ContextValidator(document, prompt=self.prompt.digest)
        opening = document.text[:OPENING_CHARS]
        subject = Chunk(0, 0, len(opening), 0, 0, 0, opening)
        prefix, suffix = self.digest_prompt(document, chunks[0])
        prompt = ChunkPrompt(
            prefix + suffix,
            prefix + self.prompt.digest.suffix(opening, firmer=True),
            lambda answer, finished: validator.validate(answer, chunk=subject, finished=finished),
            grammar=digest_grammar(),
        )

        def accept(digest: Context) -> list[Situated]:
            self.counts.count_digest(digest)
            prefix = self.prompt.lines.prefix(digest.text or _head(document, chunks[0]))
            validator = ContextValidator(document, prompt=self.prompt.lines)
            reading = _Reading(at, chunks, validator, digest.text, prefix)
            queue.extend(self._ask_group(reading, each, queue) for each in groups)
            return []

        return _Asked(prompt, accept)

    def _ask_group(self, reading: _Reading, group: range, queue: deque[_Asked]) -> _Asked:
        """Return the prompt for the lines of a group; rejected ones are put before `queue`."""
        chunks = reading.chunks[group.start : group.stop]
        text = reading.prefix + self.group_text(chunks)
        prompt = ChunkPrompt(text, None, _accept_lines, lines_grammar(len(chunks)))

        def accept(answer: Context) -> list[Situated]:
            found: list[Situated] = []
            again: list[_Asked] = []
            for at, context in self._read_lines(answer, reading, group):
                if context.status == "rejected" and self.counts.second_try_pays:
                    again.append(self._ask_line(reading, at))
                else:
                    found.append((reading.position, at, _join(reading.digest, context)))
            queue.extendleft(reversed(again))
            return found

        return _Asked(prompt, accept)

    def _ask_line(self, reading: _Reading, at: int) -> _Asked:
        """Return the prompt for the line of one chunk."""
        chunk = reading.chunks[at]

        def validate(answer: str, finished: bool) -> Context:  # noqa: FBT001
            return reading.validator.validate(answer, chunk=chunk, finished=finished, number=1)

        def accept(context: Context) -> list[Situated]:
            self.counts.count_second(context)
            return [(reading.position, at, _join(reading.digest, _mark_retried(context)))]

        text = reading.prefix + self.line_text(chunk)
        return _Asked(ChunkPrompt(text, None, validate, lines_grammar(1)), accept)

    def _read_lines(
        self, answer: Context, reading: _Reading, group: range
    ) -> list[tuple[int, Context]]:
        """Return (position, context) of the chunks of a group; all of them are counted."""
        lines = parse_lines(answer.text)
        contexts: list[tuple[int, Context]] = []
        for nth, at in enumerate(group, 1):
            if answer.status == "failed":
                context = answer
            elif nth not in lines:
                context = Context.rejected("missing line")
            else:
                context = reading.validator.validate(lines[nth], chunk=reading.chunks[at])
            self.counts.count_first(context)
            contexts.append((at, context))
        return contexts


def _accept_lines(answer: str, finished: bool) -> Context:  # noqa: FBT001
    """Return the lines of a group's answer; one that was stopped at its limit loses the last."""
    return Context(answer if finished else answer.rpartition("\n")[0])


def _head(document: Document, chunk: Chunk) -> str:
    """Return the first line of a chunk's outline."""
    return Outliner(document).outline(chunk).partition("\n")[0]


def _mark_retried(context: Context) -> Context:
    return replace(context, status="retried") if context.status == "ok" else context


def _join(digest: str, context: Context) -> Context:
    """Return a chunk's context with the digest before it."""
    if not (digest and context.text):
        return context
    return replace(context, text=f"{digest}\n{context.text}")
