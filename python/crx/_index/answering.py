"""The handle for answers: prompts with the passages that a search finds, and their answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from crx import _answer, registry
from crx._index.reader import IndexReader
from crx._show.copies import describe_copies, leave_out_copies
from crx.protocols import Generator
from crx.retrieve.request import Where
from crx.types import Answer, Window

if TYPE_CHECKING:
    from crx._answer.prompt import QuotedPassages
    from crx._answer.stream import AnswerStream


class AnsweringIndex(IndexReader):
    """An index opened for reading whose passages a model answers from."""

    def prompt(
        self,
        question: str,
        *,
        k: int | None = None,
        window: Window = "auto",
        where: Where | None = None,
    ) -> QuotedPassages:
        """Return the prompt that asks for an answer from the passages that `search` finds."""
        result = self.search(question, k=k, window=window, where=where)
        passages = leave_out_copies(result.passages, query=question)
        notes = (*result.notes, *describe_copies(result.passages, passages))
        return _answer.prompt.quote(question, passages, notes=notes)

    def corpus_prompt(self, question: str, *, where: Where | None = None) -> QuotedPassages:
        """Return the prompt that asks for an answer from the whole corpus, in a fixed order.

        Raises `UsageError` if the corpus is too long for a prompt.
        """
        budget = self._settings.window_tokens
        passages = _answer.corpus.read_corpus(self.store, where=where, budget_tokens=budget)
        return _answer.prompt.quote(question, passages, shared=True)

    def ask(
        self,
        question: str | QuotedPassages,
        *,
        k: int | None = None,
        where: Where | None = None,
        with_: str | Generator = "",
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Return the answer to a question, or to a prompt of `prompt` or `corpus_prompt`.

        `k` and `where` are those of `search`, for a question. `with_` is a generator or a
        specification of one (see `crx.registry`), by default the setting `generator`. `on_text`
        receives the text as it is generated. Raises `UsageError` if no generator is named, and
        `ModelError` if its answer breaks off.
        """
        if isinstance(question, str):
            question = self.prompt(question, k=k, where=where)
        elif k is not None or where is not None:
            raise ValueError("k and where choose the passages of a question, not of a prompt")
        stream = self.stream_answer(question, with_=with_)
        for text in stream:
            if on_text is not None:
                on_text(text)
        return stream.answer

    def stream_answer(
        self,
        question: str | QuotedPassages,
        *,
        with_: str | Generator = "",
        on_notice: Callable[[str], None] | None = None,
        on_delay: Callable[[str], None] | None = None,
    ) -> AnswerStream:
        """Return the answer as an iterator over its text. See `ask`.

        `on_notice` is called with the host and the size before texts are sent to another machine;
        the notes of the answer repeat it. `on_delay` is called with what delays the answer: a
        failure that is retried, a service that is slow; by default that is `on_notice`.
        """
        generator = registry.require_named_generator(with_ or self._settings.generator)
        prompt = self.prompt(question) if isinstance(question, str) else question
        opened = partial(registry.open_generator, generator)
        return _answer.stream.AnswerStream(prompt, opened, on_notice=on_notice, on_delay=on_delay)
