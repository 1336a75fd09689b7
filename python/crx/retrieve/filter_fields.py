"""Explanations of a search that found nothing because of its filter."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import orjson

from crx import _native
from crx.ingest.path_filter import PATH_FIELDS, operators_of

# Fields that every document has, beside those of its metadata.
DOCUMENT_FIELDS = ("uri", "title", "lang", "source")


def describe_missing_fields(
    where: Mapping[str, object], documents: Iterable[_native.DocumentRow]
) -> list[str]:
    """Return a line for each field of a filter that no document has, with the nearest one.

    It reads the metadata of every document, so it is called only if a search found nothing.
    """
    unknown = where.keys() - DOCUMENT_FIELDS
    if not unknown:
        return []
    fields = set(DOCUMENT_FIELDS)
    for row in documents:
        fields |= orjson.loads(row.metadata).keys()
    return [_describe(name, sorted(fields)) for name in where if name not in fields]


def describe_unmet_filter(where: Mapping[str, object]) -> str:
    """Return the line on a filter that no document meets.

    A path is compared as a whole. One that a person would write, from the current folder, is
    equal to none.
    """
    for field in PATH_FIELDS:
        path = operators_of(where.get(field)).get("=")
        if isinstance(path, str) and path and not os.path.isabs(path) and "://" not in path:
            hint = f'{field} is an absolute path, or a glob such as "**/{path.strip("./")}/**"'
            return f"nothing found: no document meets the filter; {hint}"
    return "nothing found: no document meets the filter"


def _describe(name: str, fields: list[str]) -> str:
    import difflib  # not imported for every search

    near = difflib.get_close_matches(name, fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(fields)}"
    return f'nothing found: no document has the field "{name}"; {hint}'
