"""Streamed answer of a generator to a question about passages, with validated citations."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict

from crx._answer.citations import CitationFilter
from crx._answer.prompt import NO_ANSWER, QuotedPassages
from crx.errors import ModelError
from crx.protocols import Annotated, Generator, Metered, Notifying
from crx.sending import sending_notice, text_bytes
from crx.types import Answer, Citation, Passage

# Control characters and direction marks, which could change what a terminal shows.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class AnswerStream:
    """An answer in progress: iterating yields its text, `answer` contains what was received so far.

    `load` opens the generator; it is not called if there are no passages. `on_notice` is called
    with the host and the size before texts are sent to another machine, `on_delay` with what
    delays the answer, by default `on_notice`. Iterating raises `ModelError` if the generator fails,
    after the text that it had produced.
    """

    def __init__(
        self,
        quoted: QuotedPassages,
        load: Callable[[], AbstractContextManager[Generator]],
        *,
        on_notice: Callable[[str], None] | None = None,
        on_delay: Callable[[str], None] | None = None,
    ) -> None:
        self._quoted = quoted
        self._load = load
        self._on_notice = on_notice or (lambda notice: None)
        self._on_delay = on_delay or self._on_notice
        self._notes = quoted.notes
        self._citations = CitationFilter(len(quoted.passages))
        self._text = ""
        self._model = ""
        self._usage: Mapping[str, int | float | None] = {}

    def __iter__(self) -> Iterator[str]:
        if not self._quoted.passages:
            self._text = NO_ANSWER
            yield NO_ANSWER
            return
        with self._load() as generator:
            self._model = generator.fingerprint
            self._notes += generator.notes if isinstance(generator, Annotated) else ()
            self._announce(generator)
            if isinstance(generator, Notifying):
                generator = copy.copy(generator)  # others may be asking it, too
                generator.notify(self._on_delay)
            try:
                for piece in _generate(generator, self._quoted):
                    yield from self._emit(self._citations.feed(_CONTROL.sub("", piece)))
            except ModelError:
                yield from self._emit(self._citations.close())
                raise
            finally:
                self._usage = _usage(generator)
            yield from self._emit(self._citations.close())
        if not self._text.strip():
            raise ModelError(f"{self._model}: the answer is empty; try again or use another model")

    @property
    def answer(self) -> Answer:
        """The answer as far as it was received."""
        passages = self._quoted.passages
        return Answer(
            text=self._text,
            citations=tuple(_citation(n, passages[n - 1]) for n in self._citations.cited),
            removed=self._citations.removed,
            found=not _is_no_answer(self._text, cites=bool(self._citations.cited)),
            model=self._model,
            usage=self._usage,
            notes=self._notes,
        )

    def _announce(self, generator: Generator) -> None:
        """Announce what will be sent off this machine, before the request."""
        what = {"question": 1, "passage": len(self._quoted.passages)}
        n_bytes = text_bytes(self._quoted.text)
        if notice := sending_notice(generator, what, n_bytes=n_bytes):
            self._notes += (notice,)
            self._on_notice(notice)

    def _emit(self, text: str) -> Iterator[str]:
        if text:
            self._text += text
            yield text


def _generate(generator: Generator, quoted: QuotedPassages) -> Iterator[str]:
    # A prefix that no other question shares is not worth caching.
    if quoted.shared:
        return generator.generate(quoted.question, prefix=quoted.head)
    return generator.generate(quoted.text)


def _usage(generator: Generator) -> Mapping[str, int | float | None]:
    return asdict(generator.usage) if isinstance(generator, Metered) else {}


def _is_no_answer(text: str, *, cites: bool) -> bool:
    """Return whether a text is `NO_ANSWER`, up to case, quotes and markup.

    So is one that cites nothing and contains its end, as in "The source is not in these documents."
    """
    bare = text.strip().strip("\"'“”*_`.。 ").casefold()
    whole = NO_ANSWER.rstrip(".").casefold()
    return bare == whole or (not cites and whole.removeprefix("this is ") in bare)


def _citation(number: int, passage: Passage) -> Citation:
    return Citation(
        number=number,
        uri=passage.uri,
        title=passage.title,
        start=passage.start,
        end=passage.end,
        lines=passage.lines,
        pages=passage.pages,
        fragment=passage.fragment,
        anchor=passage.anchor,
        line=passage.line,
    )
