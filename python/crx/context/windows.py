"""Contexts in windows of chunks: a digest of the document, a line for each chunk, second tries."""

from __future__ import annotations

import contextlib
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
# Windows that are asked for together, before their rejected lines are asked for again. On
# processors a token takes longest with few sequences: in milliseconds of SmolLM2-135M behind 1,000
# tokens, with two threads, 20 alone, 14 beside one and 8 beside 7.
WINDOWS_TOGETHER = 8

Count = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class WindowContextualizer:
    """Contexts of a window of chunks at a time.

    A context is the document's digest and the chunk's line. A line that is missing or rejected is
    asked for once more, alone, while `counts` say that this pays. `count` returns the tokens of
    each text. `together` windows are asked for at a time.
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
        windows = self.windows(chunks)
        for first in range(0, len(windows), self.together):
            group = windows[first : first + self.together]
            again: list[int] = []
            with contextlib.closing(
                self._write_lines(prefix, chunks, group, validator)
            ) as contexts:
                for at, context in contexts:
                    if context.status == "rejected" and self.counts.second_try_pays:
                        again.append(at)
                    else:
                        yield at, _join(digest, context)
            prompts = [self._line_prompt(chunks[at], validator) for at in again]
            with contextlib.closing(self.ask(prefix, prompts)) as contexts:
                for number, context in contexts:
                    self.counts.count_second(context)
                    yield again[number], _join(digest, _mark_retried(context))

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

    def _write_lines(
        self,
        prefix: str,
        chunks: Sequence[Chunk],
        windows: Sequence[range],
        validator: ContextValidator,
    ) -> Answers:
        """Yield (position, context) of every chunk of some windows; count a window's together."""
        prompts = [self._window_prompt(chunks[w.start : w.stop]) for w in windows]
        with contextlib.closing(self.ask(prefix, prompts)) as answers:
            for number, answer in answers:
                lines = parse_lines(answer.text)
                written: list[Context] = []
                for nth, at in enumerate(windows[number], 1):
                    if answer.status == "failed":
                        written.append(answer)
                    elif nth not in lines:
                        written.append(Context.rejected("missing line"))
                    else:
                        written.append(validator.validate(lines[nth], chunk=chunks[at]))
                    self.counts.count_first(written[-1])
                yield from zip(windows[number], written, strict=True)

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
