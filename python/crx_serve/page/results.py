"""The passages of a search by document, with what answers, where it is and why it was found."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import reduce

import msgspec
import orjson
from markupsafe import Markup

from crx import _native
from crx._show.excerpt import ExcerptRow, find_excerpt
from crx._text.query_terms import marked_terms
from crx.errors import NotFound
from crx.ingest.formats import LANGUAGES
from crx.types import Hit, Note
from crx_serve.facets import Facets, count_documents, merge_facets
from crx_serve.page.chips import list_filters
from crx_serve.page.form import CHUNKS, SearchForm, document_url
from crx_serve.page.locations import cite, describe_location, shorten_path, text_lang
from crx_serve.page.markdown_rows import read_markdown
from crx_serve.page.original import original_url
from crx_serve.page.templates import render
from crx_serve.page.text_pieces import Piece, split_words
from crx_serve.passages import as_passage
from crx_serve.requests import MAX_HITS
from crx_serve.responses import FoundPassage, SearchResults
from crx_serve.service import SearchService

# Rows of the passages of a document, and of the best passage of all; the columns of a row.
_ROWS = 2
_FIRST_ROWS = 5
_COLUMNS = 92
# Columns of a line that is taken for one that its author wrapped.
_WRAPPED_COLUMNS = 60
# Passages of a document that are shown; the others are folded.
_OPEN_PASSAGES = 2
# Values of a filter that are shown.
_SHOWN_CHIPS = 6
# Words of a query without passages that are offered alone.
_SUGGESTED = 3
_STAGES = {
    "bm25": "Words (BM25)",
    "dense": "Meaning (dense)",
    "fuse": "Words and meaning",
    "unknown_words": "Unknown words",
    "letters": "Letters",
    "code": "Source code",
    "recency": "Recency",
    "copies": "Copies",
    "late_interaction": "Late interaction",
    "rerank": "Reranker",
    "verbatim": "Exact match",
    "definitions": "Definition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownPassage:
    """A passage as `results.html` shows it."""

    url: str
    like_url: str
    location: str
    copies: int
    trail: Sequence[str]
    lang: str | None
    excerpt: Sequence[Piece]
    hits: Sequence[Hit]
    citation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownDocument:
    """A document with its passages, best first; `path` is "" if it is the title.

    `index` is "" if there is one index, `changed` the day of the file, "" if it is not known.
    `others` are the passages that are folded. One that is `less_relevant` has less relevant
    passages alone.
    """

    title: str
    path: str
    index: str
    format: str
    changed: str
    original_url: str
    is_code: bool
    passages: Sequence[_ShownPassage]
    others: Sequence[_ShownPassage]
    less_relevant: bool


def render_form(
    form: SearchForm, facets: Facets, *, indexes: Sequence[str], can_answer: bool
) -> Markup:
    """Return the form of a search with its filters."""
    values = {"form": form, "facets": facets, "indexes": indexes, "can_answer": can_answer}
    return render("form.html", values)


def render_results(
    form: SearchForm,
    found: SearchResults,
    *,
    service: SearchService,
    is_quick: bool = False,
) -> Markup:
    """Return the passages of a search.

    Those of a quick one are marked, so that the script asks for the reranked ones.
    """
    rows = _read_rows(service, {each.id for each in found.passages})
    grouped = _by_document(found.passages)
    documents = [
        _show_document(
            passages,
            row=rows.get(passages[0].id),
            form=form,
            query=found.query,
            names_index=len(service.names) > 1,
            first_rows=_FIRST_ROWS if not rank else _ROWS,
        )
        for rank, passages in enumerate(grouped)
    ]
    facets = _count(grouped, rows)
    chunks = sum(len(each.hits) for each in found.passages)
    values = {
        "form": form,
        "where": msgspec.json.encode(form.where).decode(),
        "is_quick": is_quick,
        "notes": [each for each in found.notes if Note.of(each).kind not in ("state", "limit")],
        "documents": documents,
        "far_count": sum(each.less_relevant for each in documents),
        "fewer": [] if documents else _fewer_words(form.text),
        "passage_count": len(found.passages),
        "filters": list_filters(form, facets),
        "shown_chips": _SHOWN_CHIPS,
        "ms": sum(found.timings_ms.values()),
        "stages": _STAGES,
        "more_url": _more_url(form, chunks=chunks),
    }
    return render("results.html", values)


def _more_url(form: SearchForm, *, chunks: int) -> str:
    """Return the URL of more passages, "" if there are none."""
    if chunks < form.count or form.count >= MAX_HITS:
        return ""
    return form.with_count(form.count + CHUNKS).url()


def _by_document(passages: Sequence[FoundPassage]) -> list[list[FoundPassage]]:
    """Return the passages of each document, the document with the best one first."""
    found: dict[tuple[str, str], list[FoundPassage]] = {}
    for each in passages:
        found.setdefault((each.index, each.uri), []).append(each)
    return list(found.values())


def _read_rows(service: SearchService, ids: set[str]) -> Mapping[str, _native.DocumentRow]:
    """Return the rows of documents; one that was removed since the search has none."""
    rows = {}
    for each in ids:
        with contextlib.suppress(NotFound):
            rows[each] = service.find_document(each)[2]
    return rows


def _count(
    grouped: Sequence[Sequence[FoundPassage]], rows: Mapping[str, _native.DocumentRow]
) -> Facets:
    """Return the facets of the documents that were found."""
    by_index: dict[str, list[_native.DocumentRow]] = {}
    for first, *_ in grouped:
        if first.id in rows:
            by_index.setdefault(first.index, []).append(rows[first.id])
    counted = [count_documents(index, found) for index, found in by_index.items()]
    return reduce(merge_facets, counted, Facets())


def _show_document(
    passages: Sequence[FoundPassage],
    *,
    row: _native.DocumentRow | None,
    form: SearchForm,
    query: str,
    names_index: bool,
    first_rows: int,
) -> _ShownDocument:
    best = passages[0]
    path = shorten_path(best.uri, form.here)
    lang = row.lang if row else ""
    format_ = str(orjson.loads(row.metadata).get("format", "")) if row else ""
    shown = [
        _show_passage(
            each,
            form=form,
            query=query,
            lang=lang,
            rows=_ROWS if at else first_rows,
            is_markdown=format_ == "markdown",
        )
        for at, each in enumerate(passages)
    ]
    return _ShownDocument(
        title=best.title or path,
        path=path if best.title else "",
        index=best.index if names_index else "",
        format=format_,
        changed=_day(row.source_mtime_ns) if row else "",
        original_url=original_url(best.id, row) if row else "",
        is_code=format_ in LANGUAGES.values(),
        passages=shown[:_OPEN_PASSAGES],
        others=shown[_OPEN_PASSAGES:],
        less_relevant=all(each.less_relevant for each in passages),
    )


def _day(changed_ns: int) -> str:
    """Return the day of a time in nanoseconds since 1970, "" for none."""
    if changed_ns <= 0:
        return ""
    return datetime.fromtimestamp(changed_ns / 1e9, timezone.utc).date().isoformat()


def _fewer_words(query: str) -> list[str]:
    """Return the longest words of a query of several, which may be found alone."""
    words = list(dict.fromkeys(re.findall(r"\w{4,}", query)))
    return sorted(words, key=len, reverse=True)[:_SUGGESTED] if len(words) > 1 else []


def _show_passage(
    found: FoundPassage, *, form: SearchForm, query: str, lang: str, rows: int, is_markdown: bool
) -> _ShownPassage:
    best = found.hits[0]
    return _ShownPassage(
        # The chunk that answers, without the text around it that the passage has besides.
        url=document_url(found.id, start=best.start, end=best.end, query=form.text),
        like_url=form.with_like(found.id, best.start, best.end).url(),
        location=describe_location(found),
        copies=found.copies,
        trail=_trail(found),
        lang=text_lang(found.text, document_lang=lang),
        excerpt=list(_excerpt(found, query, rows=rows, is_markdown=is_markdown)),
        hits=found.hits,
        citation=cite(found),
    )


def _trail(found: FoundPassage) -> list[str]:
    """Return the description of the folder and the headings, without the title."""
    headings = [each for each in found.headings if each != found.title]
    return [found.folder, *headings] if found.folder else headings


def _goes_on(row: ExcerptRow, following: ExcerptRow) -> bool:
    """Return whether a row goes on in the following one: the browser wraps them elsewhere.

    They are rows of one line or paragraph, or of lines of prose that their author wrapped.
    """
    if following.line <= row.last_line:
        return True
    is_full = len(row.text) >= _WRAPPED_COLUMNS and not row.text[:1].isspace()
    return is_full and following.text[:1].islower()


def _excerpt(found: FoundPassage, query: str, *, rows: int, is_markdown: bool) -> Iterator[Piece]:
    terms = marked_terms(query, found.text)
    excerpt = find_excerpt(
        as_passage(found), query=query, counts=(rows,), width=_COLUMNS, visible=str, reflow=True
    )
    if excerpt.cut_before:
        yield Piece("… ", "cut")
    for number, fragment in enumerate(excerpt.fragments):
        if number:
            yield Piece(" …\n", "cut")
        read = list(read_markdown(found.text, fragment) if is_markdown else fragment)
        for at, row in enumerate(read):
            text = row.text
            if at:
                is_wrapped = _goes_on(read[at - 1], row)
                yield Piece(" " if is_wrapped else "\n")
                text = text.lstrip() if is_wrapped else text
            yield from split_words(text, terms)
    if excerpt.cut_after:
        yield Piece(" …", "cut")
