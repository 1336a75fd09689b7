"""An answer as HTML, sent while a model writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

from markupsafe import Markup

from crx_serve.answering import AnswerEvents
from crx_serve.failures import EXPECTED
from crx_serve.page.form import document_url
from crx_serve.page.locations import describe_location
from crx_serve.page.templates import escape_text, render
from crx_serve.responses import AnswerCitation
from crx_serve.threads import RequestThreads


async def stream_answer(
    query: str, ask: Callable[[], AnswerEvents], *, threads: RequestThreads
) -> AsyncIterator[Markup]:
    """Yield the section of an answer: its text as it comes, then the passages it cites.

    A failure ends the section with its message.
    """
    yield render("answer_start.html", {})
    citations: Sequence[AnswerCitation] = ()
    failure = ""
    try:
        events = await threads.run(ask)
        try:
            while (item := await threads.run(next, events, None)) is not None:
                if isinstance(item, str):
                    yield escape_text(item)
            citations = events.finished.citations
        finally:
            await threads.run(events.close)
    except EXPECTED as error:
        failure = str(error)
    listed = [
        {
            "number": each.number,
            "url": document_url(each.id, start=each.start, end=each.end, query=query),
            "title": each.title or each.uri,
            "location": describe_location(each),
        }
        for each in citations
    ]
    yield render("answer_end.html", {"failure": failure, "citations": listed})
