"""Stage of the filter, and why a search found nothing because of it."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence

from crx.ingest.paths import PATH_FIELDS, operators_of
from crx.retrieve.search_state import Search
from crx.types import Note

# What fields are called elsewhere.
_SYNONYMS = {"mtime": "modified", "language": "lang", "extension": "ext"}
# Fields that every document has, beside those of its metadata.
_DOCUMENT_FIELDS = ("uri", "title", "lang", "kind", "source", "modified")


def filter_legs(search: Search) -> Search:
    """Return the search with its legs among the documents that meet its filter, if it has one."""
    where = search.request.where
    if not where:
        return search
    return search._replace(legs=search.searcher.legs(where))


def describe_filter(search: Search) -> list[str]:
    """Return lines on why no document meets the filter of a search that found nothing.

    They need the metadata of every document, which is read only then.
    """
    where = search.request.where
    if not where or search.passages:
        return []
    searcher = search.searcher
    if where.keys() <= set(_DOCUMENT_FIELDS):
        missing = []
    else:
        missing = _describe_missing_fields(where, searcher.documents.metadata_fields())
    if missing or searcher.has_document(where):
        return missing
    return [_describe_unmet_filter(where, langs=searcher.langs)]


def _describe_missing_fields(where: Mapping[str, object], fields: Iterable[str]) -> list[str]:
    """Return a line for each field of a filter that no document has, with the nearest one.

    `fields` are those of the metadata of all documents.
    """
    known = {*_DOCUMENT_FIELDS, *fields}
    known |= {"type"} if "format" in known else set()
    return [_describe(name, sorted(known)) for name in where if name not in known]


def _describe_unmet_filter(where: Mapping[str, object], *, langs: Sequence[str] = ()) -> str:
    """Return the line on a filter that no document meets; `langs` are those of the documents.

    A path is compared as a whole. One that a person would write, from the current folder, is
    equal to none.
    """
    lang = operators_of(where.get("lang")).get("=")
    known = [each for each in langs if each]
    if lang and known and lang not in known:
        there = ", ".join(known)
        return Note(f"nothing found: no document has lang={lang}; there are {there}", "nothing")
    for field in PATH_FIELDS:
        path = operators_of(where.get(field)).get("=")
        if isinstance(path, str) and path and not os.path.isabs(path) and "://" not in path:
            hint = f'{field} is an absolute path, or a glob such as "**/{path.strip("./")}/**"'
            return Note(f"nothing found: no document meets the filter; {hint}", "nothing")
    return Note("nothing found: no document meets the filter", "nothing")


def _describe(name: str, fields: list[str]) -> str:
    near = [_SYNONYMS[name]] if name in _SYNONYMS else difflib.get_close_matches(name, fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(fields)}"
    return Note(f'nothing found: no document has the field "{name}"; {hint}', "nothing")
