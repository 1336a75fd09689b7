"""The search: its form, and passages with what answers, where it is and why it was found."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import orjson

from crx import _native
from crx.errors import CrxError
from crx.ingest.formats import LANGUAGES
from crx.retrieve.excerpt import find_excerpt, split_matches
from crx.serve.page.facets import Facets
from crx.serve.page.form import PASSAGES, SearchForm, document_url
from crx.serve.page.markup import Attribute, Markup, Node, join, tag
from crx.serve.page.places import cite, describe_place, shorten_path, text_lang
from crx.serve.requests import MAX_HITS
from crx.serve.responses import FoundPassage, SearchResults
from crx.serve.service import SearchService
from crx.types import Hit, Passage

# Rows of an excerpt, and the columns of one: about four lines of the page.
_ROWS = 5
_COLUMNS = 92

_STAGES = {"bm25": "Words (BM25)", "dense": "Meaning (dense)", "rerank": "Reranker"}


def render_form(
    form: SearchForm, facets: Facets, *, indexes: Sequence[str], can_answer: bool
) -> Markup:
    """Return the form of a search with its filters."""
    query = tag(
        "div",
        {"class": "query"},
        tag("label", {"class": "hidden", "for": "q"}, "Search the documents"),
        tag(
            "input",
            {
                "id": "q",
                "name": "q",
                "type": "search",
                "value": form.query,
                "placeholder": "Words, an identifier, or a question",
                "autocomplete": "off",
                "spellcheck": "false",
                "dir": "auto",
                "autofocus": not form.query,
            },
        ),
        tag("button", {"type": "submit"}, "Search"),
        tag("button", {"type": "submit", "id": "ask", "formaction": "/ask"}, "Answer")
        if can_answer
        else "",
    )
    return tag(
        "form",
        {"id": "search", "role": "search", "action": "/", "method": "get"},
        tag("h1", {"class": "hidden"}, "Search"),
        query,
        tag(
            "details",
            {"class": "filters", "open": form.has_filters},
            tag("summary", {}, "Filters"),
            tag("div", {"class": "fields"}, *_filters(form, facets, indexes)),
        ),
    )


def _filters(form: SearchForm, facets: Facets, indexes: Sequence[str]) -> Iterator[Markup]:
    if len(indexes) > 1:
        yield _choice("index", "Index", form.index, indexes)
    yield _field("path", "Path", form.path, "docs or *.md")
    yield _choice("type", "Type", form.format, facets.formats)
    yield _choice("lang", "Language", form.lang, facets.languages)
    if facets.has_dates or form.since or form.until:
        yield _field("from", "Dated from", form.since, "2024-01-31")
        yield _field("to", "to", form.until, "2024-12-31")


def _field(name: str, label: str, value: str, example: str) -> Markup:
    attributes = {"name": name, "value": value, "placeholder": example, "autocomplete": "off"}
    return tag("label", {}, tag("span", {}, label), tag("input", attributes))


def _choice(name: str, label: str, value: str, values: Sequence[str]) -> Markup:
    offered = values if not value or value in values else (*values, value)
    options = [tag("option", {"value": ""}, "any")]
    options += [tag("option", {"value": v, "selected": v == value}, v) for v in offered]
    return tag("label", {}, tag("span", {}, label), tag("select", {"name": name}, *options))


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
    where = msgspec.json.encode(form.where).decode()
    attributes: dict[str, Attribute] = {
        "id": "results",
        "data-index": form.index,
        "data-where": where,
        "data-quick": is_quick,
    }
    if found is None:
        return tag("section", {**attributes, "aria-label": "Passages"}, _invitation())
    terms = set(_native.analyze(form.query))
    passages = [
        _passage(rank, each, form=form, terms=terms, service=service, folder=folder)
        for rank, each in enumerate(found.passages, start=1)
    ]
    return tag(
        "section",
        {**attributes, "aria-label": "Passages"},
        tag("p", {"class": "summary", "role": "status"}, _summary(found)),
        *(tag("p", {"class": "note"}, note) for note in found.notes),
        tag("ol", {"class": "passages"}, *passages) if passages else _nothing(form),
        _more(form, found),
    )


def _invitation() -> Markup:
    return tag("p", {"class": "empty"}, "Search by words, by meaning, or both at once.")


def _nothing(form: SearchForm) -> Markup:
    hint = " Take a filter away, or use other words." if form.has_filters else " Use other words."
    return tag("p", {"class": "empty"}, f"No passage matches.{hint}")


def _summary(found: SearchResults) -> str:
    count = len(found.passages)
    ms = sum(found.timings_ms.values())
    return f"{count} passage{'s' * (count != 1)} in {ms:.0f} ms"


def _more(form: SearchForm, found: SearchResults) -> Node:
    if len(found.passages) < form.count or form.count >= MAX_HITS:
        return ""
    url = form.with_count(form.count + PASSAGES).url()
    return tag("p", {"class": "more"}, tag("a", {"href": url}, "More passages"))


def _passage(
    rank: int,
    found: FoundPassage,
    *,
    form: SearchForm,
    terms: set[str],
    service: SearchService,
    folder: str,
) -> Markup:
    url = document_url(found.id, start=found.start, end=found.end, query=form.query)
    lang, format_ = _lang_and_format(service, found.id)
    kind = "excerpt code" if format_ in LANGUAGES.values() else "excerpt"
    title = found.title or shorten_path(found.uri, folder)
    place = describe_place(found)
    return tag(
        "li",
        {"class": "passage", "id": f"p{rank}"},
        tag("h2", {}, tag("a", {"href": url, "class": "open", "dir": "auto"}, title)),
        tag(
            "p",
            {"class": "place"},
            tag("span", {"class": "index"}, found.index) if len(service.names) > 1 else "",
            tag("bdi", {"class": "path"}, shorten_path(found.uri, folder)),
            tag("a", {"href": url, "class": "anchor"}, place) if place else "",
            _trail(found),
        ),
        tag(
            "div",
            {"class": kind, "lang": text_lang(found.text, document_lang=lang), "dir": "auto"},
            *_excerpt(found, form, terms),
        ),
        tag(
            "div",
            {"class": "tools"},
            _why(found),
            tag(
                "button",
                {"type": "button", "class": "copy", "data-copy": cite(found)},
                "Copy citation",
            ),
        ),
    )


def _lang_and_format(service: SearchService, document_id: str) -> tuple[str, str]:
    # A document that was removed since the search is found no more.
    with contextlib.suppress(CrxError):
        _, _, row = service.find_document(document_id)
        return row.lang, str(orjson.loads(row.metadata).get("format", ""))
    return "", ""


def _trail(found: FoundPassage) -> Node:
    headings = [each for each in found.headings if each != found.title]
    if not headings:
        return ""
    return tag("bdi", {"class": "trail"}, " › ".join(headings))


def _excerpt(found: FoundPassage, form: SearchForm, terms: set[str]) -> Iterator[Node]:
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
    excerpt = find_excerpt(passage, query=form.query, count=_ROWS, width=_COLUMNS, visible=str)
    if excerpt.cut_before:
        yield tag("span", {"class": "cut"}, "… ")
    for number, fragment in enumerate(excerpt.fragments):
        if number:
            yield tag("span", {"class": "cut"}, " …\n")
        for at, row in enumerate(fragment):
            if at:
                yield "\n" if row.line != fragment[at - 1].line else " "
            yield mark_words(row.text, terms)
    if excerpt.cut_after:
        yield tag("span", {"class": "cut"}, " …")


def mark_words(text: str, terms: set[str]) -> Markup:
    """Return a text with the words of the query marked; `terms` are as `analyze` gives them."""
    return join(
        *(
            tag("mark", {}, piece) if matches else piece
            for piece, matches in split_matches(text, terms)
        )
    )


def _why(found: FoundPassage) -> Markup:
    return tag(
        "details",
        {"class": "why"},
        tag("summary", {}, "Why this hit"),
        *(_hit(each) for each in found.hits),
        tag("p", {"class": "cite"}, "Cite as: ", tag("bdi", {}, cite(found))),
    )


def _hit(hit: Hit) -> Markup:
    rows = [
        (_STAGES.get(name, name), str(stage.rank), f"{stage.score:.4f}")
        for name, stage in hit.stages.items()
    ]
    table = tag(
        "table",
        {},
        tag("caption", {}, f"Chunk {hit.ordinal + 1}, score {hit.score:.4f}"),
        tag("thead", {}, _row("th", ("Stage", "Rank", "Score"))),
        tag("tbody", {}, *(_row("td", each) for each in rows)),
    )
    return join(table, render_context(outline=hit.outline, context=hit.context))


def _row(cell: str, values: Sequence[str]) -> Markup:
    scope: Mapping[str, str] = {"scope": "col"} if cell == "th" else {}
    return tag("tr", {}, *(tag(cell, scope, value) for value in values))


def render_context(*, outline: str, context: str) -> Markup:
    """Return what situates a chunk, apart from its text and labelled with its origin."""
    return join(
        _situated("outline", "Outline, taken from the document", outline) if outline else "",
        _situated("context", "Context, generated by a model; not in the document", context)
        if context
        else "",
    )


def _situated(kind: str, label: str, text: str) -> Markup:
    return tag(
        "div",
        {"class": f"situated {kind}"},
        tag("span", {"class": "label"}, label),
        tag("p", {"dir": "auto"}, text),
    )
