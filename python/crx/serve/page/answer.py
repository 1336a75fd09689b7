"""An answer as HTML, sent while a model writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from crx.serve.answering import AnswerEvents
from crx.serve.failures import EXPECTED
from crx.serve.page.form import SearchForm, document_url
from crx.serve.page.markup import Markup, join, tag
from crx.serve.page.places import describe_place
from crx.serve.responses import AnswerCitation
from crx.serve.workers import Workers


async def stream_answer(
    form: SearchForm, ask: Callable[[], AnswerEvents], *, workers: Workers
) -> AsyncIterator[Markup]:
    """Yield the section of an answer: its text as it comes, then the passages it cites.

    A failure ends the section with its message.
    """
    yield Markup('<section id="answer" aria-label="Answer"><div class="said" dir="auto">')
    citations: Sequence[AnswerCitation] = ()
    failure: Markup | str = ""
    try:
        events = await workers.run(ask)
        try:
            while (item := await workers.run(next, events, None)) is not None:
                if isinstance(item, str):
                    yield join(item)
            citations = events.finished.citations
        finally:
            await workers.run(events.close)
    except EXPECTED as error:
        failure = tag("p", {"class": "note"}, str(error))
    yield join(Markup("</div>"), failure, render_citations(citations, query=form.query))
    yield Markup("</section>")


def render_citations(citations: Sequence[AnswerCitation], *, query: str) -> Markup:
    """Return the list of the passages that an answer cites; `[2]` is the item with the value 2."""
    items = [
        tag(
            "li",
            {"id": f"cite{each.number}", "value": each.number},
            tag(
                "a",
                {
                    "href": document_url(each.id, start=each.start, end=each.end, query=query),
                    "dir": "auto",
                },
                each.title or each.uri,
            ),
            f" {describe_place(each)}",
        )
        for each in citations
    ]
    return tag("ol", {"class": "citations"}, *items) if items else Markup("")
