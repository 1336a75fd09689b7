"""Names of the fields that a filter can use, to explain a filter on a field that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from crx import _native

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


def _describe(name: str, fields: list[str]) -> str:
    import difflib  # not imported for every search

    near = difflib.get_close_matches(name, fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the fields are {', '.join(fields)}"
    return f'nothing found: no document has the field "{name}"; {hint}'
