"""An answer as HTML, sent while a model writes it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from markupsafe import Markup

from crx_serve.answer_events import Delay, follow_answer
from crx_serve.answering import AnswerEvents
from crx_serve.failures import EXPECTED
from crx_serve.page.form import document_url
from crx_serve.page.locations import describe_location
from crx_serve.page.templates import escape_text, render
from crx_serve.responses import AnswerCitation, FoundPassage
from crx_serve.threads import RequestThreads

# Passages that are named before an answer.
_SOURCES = 5


async def stream_answer(
    query: str, ask: Callable[[], AnswerEvents], *, threads: RequestThreads
) -> AsyncIterator[Markup]:
    """Yield the section of an answer: where it is from, its text as it comes, what it cites.

    A failure ends the section with its message.
    """
    citations: Sequence[AnswerCitation] = ()
    failure = ""
    try:
        events = await threads.run(ask)
    except EXPECTED as error:
        yield _render_start([], query)
        yield _render_end(citations, str(error), query)
        return
    try:
        yield _render_start(events.passages[:_SOURCES], query)
        async with contextlib.aclosing(follow_answer(events, threads)) as items:
            async for item in items:
                if isinstance(item, Delay):
                    yield render("answer_delay.html", {"line": item.text})
                elif isinstance(item, str):
                    yield escape_text(item)
        citations = events.finished.citations
    except EXPECTED as error:
        failure = str(error)
    finally:
        await threads.run(events.close)
    yield _render_end(citations, failure, query)


def _render_start(passages: Sequence[FoundPassage], query: str) -> Markup:
    return render("answer_start.html", {"sources": _list_sources(passages, query)})


def _render_end(citations: Sequence[AnswerCitation], failure: str, query: str) -> Markup:
    cited = [
        {"number": each.number, **source}
        for each, source in zip(citations, _list_sources(citations, query), strict=True)
    ]
    return render("answer_end.html", {"failure": failure, "citations": cited})


def _list_sources(
    passages: Sequence[FoundPassage | AnswerCitation], query: str
) -> list[dict[str, str]]:
    """Return links to passages."""
    return [
        {
            "url": document_url(each.id, start=each.start, end=each.end, query=query),
            "title": each.title or each.uri,
            "location": describe_location(each),
        }
        for each in passages
    ]
