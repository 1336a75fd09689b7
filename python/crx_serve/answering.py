"""Answers to questions: the model, which is loaded once, and the events of each answer."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import fields

from crx import protocols, registry
from crx._answer.prompt import QuotedPassages
from crx._answer.stream import AnswerStream
from crx.errors import Busy, UsageError
from crx.types import Citation
from crx_serve.responses import AnswerCitation, FinishedAnswer, FoundPassage

# Answers that a model writes at a time: a local one has one context, a service has its own queue.
LOCAL_ANSWERS = 1
REMOTE_ANSWERS = 4

_CITATION_FIELDS = tuple(each.name for each in fields(Citation))


class Answerer:
    """The model that answers, loaded at the first question; any thread may ask."""

    def __init__(self, generator: str | protocols.Generator) -> None:
        """`generator` is a generator or a specification of one, "" for none."""
        self._given = generator
        self._loading = threading.Lock()
        self._loaded: protocols.Generator | None = None
        self._slots: threading.Semaphore | None = None

    @property
    def name(self) -> str:
        """The specification or fingerprint of the model, "" if there is none."""
        return self._given if isinstance(self._given, str) else self._given.fingerprint

    def require(self) -> None:
        """Raise `UsageError` if there is no model."""
        if not self._given:
            raise UsageError(
                "no model answers questions here; start the server with --with MODEL, or set the "
                "setting generator"
            )

    def answer(self, quoted: QuotedPassages, passages: Sequence[FoundPassage]) -> AnswerEvents:
        """Return the answer to a prompt that quotes these passages.

        It must be closed. Raises `Busy` if the model answers as many questions as it can.
        """
        generator, slots = self._load()
        if not slots.acquire(blocking=False):
            raise Busy("the model is answering another question; try again")
        delays = DelayedLines()
        stream = AnswerStream(
            quoted, lambda: contextlib.nullcontext(generator), on_delay=delays.tell
        )
        return AnswerEvents(stream, passages, delays=delays, on_close=slots.release)

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            if isinstance(self._loaded, protocols.Closeable):
                self._loaded.close()
            self._loaded = None

    def _load(self) -> tuple[protocols.Generator, threading.Semaphore]:
        with self._loading:
            if self._loaded is None or self._slots is None:
                given = self._given
                self._loaded = registry.load_generator(given) if isinstance(given, str) else given
                remote = isinstance(self._loaded, protocols.Remote)
                self._slots = threading.Semaphore(REMOTE_ANSWERS if remote else LOCAL_ANSWERS)
            return self._loaded, self._slots


class DelayedLines:
    """Hands lines on what delays an answer to whoever listens; any thread may tell one."""

    def __init__(self) -> None:
        self.listen: Callable[[str], None] = lambda line: None

    def tell(self, line: str) -> None:
        """Hand on a line."""
        self.listen(line)


class AnswerEvents:
    """An answer in progress: iterating yields its text and each citation when it is first made.

    After the last item, `finished` is the whole answer. `passages` are those that it is made from,
    best first, and `delays` tells what delays it, while an item is waited for. Any thread may take
    the next item, and close the answer.
    """

    def __init__(
        self,
        stream: AnswerStream,
        passages: Sequence[FoundPassage],
        *,
        delays: DelayedLines,
        on_close: Callable[[], None],
    ) -> None:
        self._stream = stream
        self.passages = passages
        self.delays = delays
        self._on_close: Callable[[], None] | None = on_close
        self._items = self._iterate()
        self._lock = threading.Lock()

    def __iter__(self) -> AnswerEvents:
        return self

    def __next__(self) -> str | AnswerCitation:
        with self._lock:
            return next(self._items)

    def close(self) -> None:
        """Stop the model if it still answers, after the item that it is at."""
        with self._lock:
            self._items.close()
            if self._on_close is not None:
                self._on_close()
                self._on_close = None

    def _iterate(self) -> Generator[str | AnswerCitation, None, None]:
        cited = 0
        for text in self._stream:
            yield text
            citations = self._stream.answer.citations
            for citation in citations[cited:]:
                yield self._describe(citation)
            cited = len(citations)

    @property
    def finished(self) -> FinishedAnswer:
        """The answer as far as it was received."""
        answer = self._stream.answer
        return FinishedAnswer(
            text=answer.text,
            found=answer.found,
            citations=tuple(map(self._describe, answer.citations)),
            removed=answer.removed,
            model=answer.model,
            usage=answer.usage,
            notes=answer.notes,
        )

    def _describe(self, citation: Citation) -> AnswerCitation:
        passage = self.passages[citation.number - 1]
        values = {each: getattr(citation, each) for each in _CITATION_FIELDS}
        return AnswerCitation(index=passage.index, id=passage.id, url=passage.url, **values)
