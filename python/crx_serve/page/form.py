"""The fields of the search form: read from a URL, written to one, and as a search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from crx.errors import UsageError
from crx.retrieve.query_fields import split_fields
from crx_serve.requests import MAX_HITS, MAX_QUERY_CHARS, AskQuery, Filter, SearchQuery

# Chunks that a search of the page finds at first, and how many more at a time.
CHUNKS = 20

_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?")
_SPAN = re.compile(r"(.{1,200}):([0-9]{1,9})-([0-9]{1,9})")
_WILDCARD = re.compile(r"[*?\[]")
_SPECIAL = re.compile(r"[*?\[\]\\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchForm:
    """A query and its filters as they stand in the form; "" is a filter that is not set.

    A relative path in the query starts in the folder `here`. `like` is a passage, as ID:START-END,
    whose like is searched for instead of a query.
    """

    query: str = ""
    like: str = ""
    index: str = ""
    path: str = ""
    format: str = ""
    lang: str = ""
    since: str = ""
    until: str = ""
    count: int = CHUNKS
    here: str = ""

    @property
    def text(self) -> str:
        """The query without its fields."""
        return split_fields(self.query).text

    @property
    def has_filters(self) -> bool:
        """Whether any filter is set."""
        return bool(self.index or self.where)

    @property
    def where(self) -> Filter:
        """The filter of documents: what the fields of the form and of the query say."""
        found: Filter = {**split_fields(self.query).where(here=self.here)}
        if self.path:
            has_wildcard = _WILDCARD.search(self.path)
            found["uri"] = {"glob": self.path if has_wildcard else f"**{self.path}**"}
        if self.format:
            found["format"] = self.format
        if self.lang:
            found["lang"] = self.lang
        # A day is before its own hours: "2024-05-01" is up to "2024-05-01T23:59".
        dates = {">=": self.since, "<=": f"{self.until}~" if self.until else ""}
        if set_dates := {sign: date for sign, date in dates.items() if date}:
            found["date"] = set_dates
        return found

    def search(self, *, rerank: bool | None = None) -> SearchQuery:
        """Return the search for the query of the form; `rerank` is as for `Index.search`."""
        return SearchQuery(
            query=self.text,
            index=self.index,
            where=self.where or None,
            k=None if self.count == CHUNKS else self.count,
            rerank=rerank,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is searched for."""
        return not (self.query or self.like)

    def liked(self) -> tuple[str, int, int]:
        """Return the document and the span of the passage of `like`."""
        found = _SPAN.fullmatch(self.like)
        assert found, "the form was read"
        return found[1], int(found[2]), int(found[3])

    def question(self) -> AskQuery:
        """Return the question that the form asks."""
        return AskQuery(question=self.text, index=self.index, where=self.where or None)

    def url(self, path: str = "/") -> str:
        """Return the URL of this form."""
        return _with_query(
            path,
            {
                "q": self.query,
                "like": self.like,
                "index": self.index,
                "path": self.path,
                "type": self.format,
                "lang": self.lang,
                "from": self.since,
                "to": self.until,
                "n": "" if self.count == CHUNKS else str(self.count),
            },
        )

    def with_count(self, count: int) -> SearchForm:
        """Return the same form for another number of chunks."""
        return replace(self, count=min(count, MAX_HITS))

    def with_query(self, query: str) -> SearchForm:
        """Return the same filters with another query."""
        return replace(self, query=query, like="", count=CHUNKS)

    def with_like(self, document_id: str, start: int, end: int) -> SearchForm:
        """Return the same filters for what is like a passage."""
        return replace(self, query="", like=f"{document_id}:{start}-{end}", count=CHUNKS)

    def without_filters(self) -> SearchForm:
        """Return the form with its query alone."""
        return SearchForm(query=self.query, like=self.like)

    def with_filter(self, name: str, value: str) -> SearchForm:
        """Return the form with a value of a filter, named as its field; "" takes it away."""
        return replace(self, **{"count": CHUNKS, name: value})  # type: ignore[arg-type]


def folder_pattern(folder: str) -> str:
    """Return the path filter of all documents below a folder."""
    return _SPECIAL.sub("?", folder.rstrip("/")) + "/**"


def read_form(given: Mapping[str, str]) -> SearchForm:
    """Return the form of the parameters of a URL; raises `UsageError` for a bad one."""
    count = given.get("n", "") or str(CHUNKS)
    is_number = count.isascii() and count.isdigit() and len(count) <= 9
    if not (is_number and 0 < int(count) <= MAX_HITS):
        raise UsageError(f"n={count[:20]}: want a number from 1 to {MAX_HITS}")
    for name in ("from", "to"):
        date = given.get(name, "")
        if date and not _DATE.fullmatch(date):
            raise UsageError(f"{name}={date[:20]}: want a date such as 2024-05-31")
    query = given.get("q", "").strip()
    if len(query) > MAX_QUERY_CHARS:
        raise UsageError(f"the query has {len(query):,} characters; at most {MAX_QUERY_CHARS:,}")
    like = given.get("like", "") if not query else ""
    if like and not _SPAN.fullmatch(like):
        raise UsageError(f"like={like[:60]}: want the passage of a link, as ID:START-END")
    return SearchForm(
        query=query,
        like=like,
        index=given.get("index", ""),
        path=given.get("path", "").strip(),
        format=given.get("type", ""),
        lang=given.get("lang", ""),
        since=given.get("from", ""),
        until=given.get("to", ""),
        count=int(count),
    )


def document_url(
    document_id: str,
    *,
    start: int | None = None,
    end: int | None = None,
    query: str = "",
    view: str = "",
) -> str:
    """Return the URL of a document on the page, scrolled to a span if one is given."""
    span = {} if start is None or end is None else {"start": str(start), "end": str(end)}
    url = _with_query(f"/documents/{document_id}", {**span, "q": query, "view": view})
    return f"{url}#passage" if span else url


def _with_query(path: str, fields: Mapping[str, str]) -> str:
    query = urlencode({name: value for name, value in fields.items() if value}, errors="replace")
    return f"{path}?{query}" if query else path
