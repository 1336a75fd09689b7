"""Contexts in windows of chunks: a digest of the document, a line for each chunk, second tries."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from crx.context.chunk_prompt import Ask, ChunkPrompt
from crx.context.line_counts import LineCounts
from crx.context.ordering import Answers
from crx.context.outline import Outliner
from crx.context.validate import ContextValidator
from crx.context.window_prompt import (
    OPENING_CHARS,
    WindowPrompt,
    digest_grammar,
    format_chunks,
    lines_grammar,
    parse_lines,
    split_windows,
)
from crx.types import Chunk, Context, Document

# Tokens of an answer: six lines of 220 characters, three characters a token, and their numbers.
WINDOW_ANSWER_TOKENS = 480
# Windows that llama.cpp decodes together. On processors a token takes longest with few sequences:
# in milliseconds of SmolLM2-135M behind 1,300 tokens, with two threads, 14 alone, 11 beside one and
# 6 beside 7.
WINDOWS_TOGETHER = 8

Count = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class WindowContextualizer:
    """Contexts of a window of chunks at a time.

    A context is the document's digest and the chunk's line. A line that is missing or rejected is
    asked for once more, alone and before further windows, while `counts` say that this pays.
    `count` returns the tokens of each text. At most `together` prompts wait for their answers at a
    time, or the second tries of as many windows.
    """

    ask: Ask
    prompt: WindowPrompt
    count: Count
    counts: LineCounts = field(default_factory=LineCounts)
    together: int = WINDOWS_TOGETHER

    def situate(self, document: Document, chunks: Sequence[Chunk]) -> Answers:
        """Yield (position, context) of every chunk, a window's together as soon as it is read."""
        validator = ContextValidator(document, prompt=self.prompt.window)
        digest = self._write_digest(document, chunks[0])
        prefix = self.prompt.window.prefix(digest or _head(document, chunks[0]))
        waiting = deque(self.windows(chunks))
        prompts: list[ChunkPrompt] = []
        # Of each prompt, the window, or the chunk that is asked for again.
        subjects: list[range | int] = []

        def ask_windows(answered: int) -> None:
            while waiting and len(prompts) - answered < self.together:
                window = waiting.popleft()
                prompts.append(self._window_prompt(chunks[window.start : window.stop]))
                subjects.append(window)

        ask_windows(0)
        with contextlib.closing(self.ask(prefix, prompts)) as answers:
            for answered, (number, answer) in enumerate(answers, 1):
                subject = subjects[number]
                contexts: list[tuple[int, Context]] = []
                if isinstance(subject, int):
                    self.counts.count_second(answer)
                    contexts.append((subject, _mark_retried(answer)))
                else:
                    for at, context in self._read_lines(answer, chunks, subject, validator):
                        if context.status == "rejected" and self.counts.second_try_pays:
                            prompts.append(self._line_prompt(chunks[at], validator))
                            subjects.append(at)
                        else:
                            contexts.append((at, context))
                ask_windows(answered)
                for at, context in contexts:
                    yield at, _join(digest, context)

    def windows(self, chunks: Sequence[Chunk]) -> list[range]:
        """Return the positions of the chunks of each window."""
        return split_windows(chunks, self.count([chunk.text for chunk in chunks]))

    def window_text(self, chunks: Sequence[Chunk]) -> str:
        """Return what follows the prefix for the chunks of a window."""
        return self.prompt.window.suffix(format_chunks([chunk.text for chunk in chunks]))

    def line_text(self, chunk: Chunk) -> str:
        """Return what follows the prefix for a chunk that is asked for alone."""
        return self.prompt.window.suffix(format_chunks([chunk.text]), firmer=True)

    def digest_prompt(self, document: Document, chunk: Chunk) -> tuple[str, str]:
        """Return the prefix and the rest of the prompt for a document's digest."""
        opening = document.text[:OPENING_CHARS]
        head = _head(document, chunk)
        return self.prompt.digest.prefix(head), self.prompt.digest.suffix(opening)

    def _write_digest(self, document: Document, chunk: Chunk) -> str:
        """Return the digest of a document, "" if the model's two answers were rejected."""
        validator = ContextValidator(document, prompt=self.prompt.digest)
        opening = document.text[:OPENING_CHARS]
        subject = Chunk(0, 0, len(opening), 0, 0, 0, opening)
        prefix, suffix = self.digest_prompt(document, chunk)
        ask = ChunkPrompt(
            suffix,
            self.prompt.digest.suffix(opening, firmer=True),
            lambda answer, finished: validator.validate(answer, chunk=subject, finished=finished),
            grammar=digest_grammar(),
        )
        ((_, context),) = self.ask(prefix, [ask])
        self.counts.count_digest(context)
        return context.text

    def _read_lines(
        self,
        answer: Context,
        chunks: Sequence[Chunk],
        window: range,
        validator: ContextValidator,
    ) -> list[tuple[int, Context]]:
        """Return (position, context) of the chunks of a window; all of them are counted."""
        lines = parse_lines(answer.text)
        contexts: list[tuple[int, Context]] = []
        for nth, at in enumerate(window, 1):
            if answer.status == "failed":
                context = answer
            elif nth not in lines:
                context = Context.rejected("missing line")
            else:
                context = validator.validate(lines[nth], chunk=chunks[at])
            self.counts.count_first(context)
            contexts.append((at, context))
        return contexts

    def _window_prompt(self, chunks: Sequence[Chunk]) -> ChunkPrompt:
        grammar = lines_grammar(len(chunks))
        return ChunkPrompt(self.window_text(chunks), None, _accept_lines, grammar)

    def _line_prompt(self, chunk: Chunk, validator: ContextValidator) -> ChunkPrompt:
        def validate(answer: str, finished: bool) -> Context:  # noqa: FBT001
            return validator.validate(answer, chunk=chunk, finished=finished, number=1)

        return ChunkPrompt(self.line_text(chunk), None, validate, lines_grammar(1))


def _accept_lines(answer: str, finished: bool) -> Context:  # noqa: FBT001
    """Return the lines of a window's answer; one that was stopped at its limit loses the last."""
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
