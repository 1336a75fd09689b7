"""The step that answers: passages and a question to a generator, its citations checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict

from crx.answer.citations import Checker
from crx.answer.prompt import NOT_HERE, QuotedPassages
from crx.errors import ModelError
from crx.protocols import Annotated, Generator, Metered
from crx.types import Answer, Citation, Passage

# Escapes, backspaces and marks of direction could change what a terminal shows of an answer.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class AnswerStream:
    """A question being answered: iterate for the text as it comes.

    `answer` is what came so far, also after a failure. `load` gives the generator; where there is
    no passage it is not asked for. Raises `ModelError` where the answer does not come to its end,
    after what came of it.
    """

    def __init__(
        self,
        quoted: QuotedPassages,
        load: Callable[[], AbstractContextManager[Generator]],
    ) -> None:
        self._quoted = quoted
        self._load = load
        self._notes = quoted.notes
        self._checker = Checker(len(quoted.passages))
        self._text = ""
        self._model = ""
        self._usage: Mapping[str, int | float | None] = {}

    def __iter__(self) -> Iterator[str]:
        if not self._quoted.passages:
            self._text = NOT_HERE
            yield NOT_HERE
            return
        with self._load() as generator:
            self._model = generator.fingerprint
            self._notes += generator.notes if isinstance(generator, Annotated) else ()
            try:
                for piece in _asked(generator, self._quoted):
                    yield from self._told(self._checker.feed(_CONTROL.sub("", piece)))
            except ModelError:
                yield from self._told(self._checker.close())
                raise
            finally:
                self._usage = _usage(generator)
            yield from self._told(self._checker.close())
        if not self._text.strip():
            raise ModelError(f"{self._model}: gave no answer; ask again, or another model")

    @property
    def answer(self) -> Answer:
        """What came so far."""
        passages = self._quoted.passages
        return Answer(
            text=self._text,
            citations=tuple(_citation(n, passages[n - 1]) for n in self._checker.cited),
            removed=self._checker.removed,
            found=not _is_absence(self._text),
            model=self._model,
            usage=self._usage,
            notes=self._notes,
        )

    def _told(self, text: str) -> Iterator[str]:
        if text:
            self._text += text
            yield text


def _asked(generator: Generator, quoted: QuotedPassages) -> Iterator[str]:
    # A prefix that no other question shares would be written to a cache for nothing.
    if quoted.shared:
        return generator.generate(quoted.question, prefix=quoted.head)
    return generator.generate(quoted.text)


def _usage(generator: Generator) -> Mapping[str, int | float | None]:
    return asdict(generator.usage) if isinstance(generator, Metered) else {}


def _is_absence(text: str) -> bool:
    """Is it the sentence asked for where the documents do not say, give or take its dress?"""
    bare = text.strip().strip("\"'“”*_`.。 ")
    return bare.casefold() == NOT_HERE.rstrip(".").casefold()


def _citation(number: int, passage: Passage) -> Citation:
    return Citation(
        number=number,
        uri=passage.uri,
        title=passage.title,
        start=passage.start,
        end=passage.end,
        lines=passage.lines,
        pages=passage.pages,
    )
