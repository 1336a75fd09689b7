"""The search: its form, and passages with what answers, where it is and why it was found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import orjson
from markupsafe import Markup

from crx.errors import CrxError
from crx.ingest.formats import LANGUAGES
from crx.retrieve.excerpt import find_excerpt
from crx.retrieve.query_terms import terms_for
from crx.serve.page.facets import Facets
from crx.serve.page.form import PASSAGES, SearchForm, document_url
from crx.serve.page.locations import cite, describe_location, shorten_path, text_lang
from crx.serve.page.templates import render
from crx.serve.page.text_pieces import Piece, split_words
from crx.serve.requests import MAX_HITS
from crx.serve.responses import FoundPassage, SearchResults
from crx.serve.service import SearchService
from crx.types import Hit, Passage

# Rows of an excerpt, and the columns of one: about four lines of the page.
_ROWS = 5
_COLUMNS = 92

_STAGES = {"bm25": "Words (BM25)", "dense": "Meaning (dense)", "rerank": "Reranker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownPassage:
    """A passage as `results.html` shows it; `index` is "" if there is one index."""

    url: str
    title: str
    index: str
    path: str
    location: str
    trail: Sequence[str]
    lang: str | None
    is_code: bool
    excerpt: Sequence[Piece]
    hits: Sequence[Hit]
    citation: str


def render_form(
    form: SearchForm, facets: Facets, *, indexes: Sequence[str], can_answer: bool
) -> Markup:
    """Return the form of a search with its filters."""
    values = {"form": form, "facets": facets, "indexes": indexes, "can_answer": can_answer}
    return render("form.html", values)


def render_results(
    form: SearchForm,
    found: SearchResults | None,
    *,
    service: SearchService,
    folder: str,
    is_quick: bool = False,
) -> Markup:
    """Return the passages of a search; None is no search.

    Those of a quick one are marked, so that the script asks for the reranked ones.
    """
    passages = [
        _show_passage(each, form=form, service=service, folder=folder)
        for each in (found.passages if found else ())
    ]
    values = {
        "form": form,
        "where": msgspec.json.encode(form.where).decode(),
        "is_quick": is_quick,
        "found": found,
        "passages": passages,
        "ms": sum(found.timings_ms.values()) if found else 0,
        "stages": _STAGES,
        "more_url": _more_url(form, count=len(passages)),
    }
    return render("results.html", values)


def _more_url(form: SearchForm, *, count: int) -> str:
    """Return the URL of more passages, "" if there are none."""
    if count < form.count or form.count >= MAX_HITS:
        return ""
    return form.with_count(form.count + PASSAGES).url()


def _show_passage(
    found: FoundPassage,
    *,
    form: SearchForm,
    service: SearchService,
    folder: str,
) -> _ShownPassage:
    lang, format_ = _lang_and_format(service, found.id)
    return _ShownPassage(
        url=document_url(found.id, start=found.start, end=found.end, query=form.query),
        title=found.title or shorten_path(found.uri, folder),
        index=found.index if len(service.names) > 1 else "",
        path=shorten_path(found.uri, folder),
        location=describe_location(found),
        trail=[each for each in found.headings if each != found.title],
        lang=text_lang(found.text, document_lang=lang),
        is_code=format_ in LANGUAGES.values(),
        excerpt=list(_excerpt(found, form.query)),
        hits=found.hits,
        citation=cite(found),
    )


def _lang_and_format(service: SearchService, document_id: str) -> tuple[str, str]:
    # A document that was removed since the search is found no more.
    with contextlib.suppress(CrxError):
        _, _, row = service.find_document(document_id)
        return row.lang, str(orjson.loads(row.metadata).get("format", ""))
    return "", ""


def _excerpt(found: FoundPassage, query: str) -> Iterator[Piece]:
    terms = terms_for(query, found.text)
    passage = Passage(
        uri=found.uri,
        title=found.title,
        start=found.start,
        end=found.end,
        text=found.text,
        score=found.score,
        tokens=found.tokens,
        hits=found.hits,
    )
    excerpt = find_excerpt(passage, query=query, counts=(_ROWS,), width=_COLUMNS, visible=str)
    if excerpt.cut_before:
        yield Piece("… ", "cut")
    for number, fragment in enumerate(excerpt.fragments):
        if number:
            yield Piece(" …\n", "cut")
        for at, row in enumerate(fragment):
            if at:
                yield Piece("\n" if row.line != fragment[at - 1].line else " ")
            yield from split_words(row.text, terms)
    if excerpt.cut_after:
        yield Piece(" …", "cut")
