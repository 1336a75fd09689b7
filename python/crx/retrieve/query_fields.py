"""Fields in the query itself, such as `path:docs` and `after:2024`, as filters of documents."""

from __future__ import annotations

import re
from typing import NamedTuple

# A field and its value, which is quoted if it has blanks.
_FIELD = re.compile(r"(?<!\S)(path|ext|from|to|after|before):(?:\"([^\"]+)\"|([^\s\"]+))(?!\S)")


class FieldQuery(NamedTuple):
    """A query without its fields, and the fields in their order, each a name and a value."""

    text: str
    fields: tuple[tuple[str, str], ...] = ()


def split_fields(query: str) -> FieldQuery:
    """Return a query and its fields; a query of fields alone is one of words, as a pattern is."""
    if ":" not in query or query.startswith("re:"):
        return FieldQuery(query)
    found = tuple((name, quoted or plain) for name, quoted, plain in _FIELD.findall(query))
    text = " ".join(_FIELD.sub(" ", query).split())
    return FieldQuery(text, found) if found and text else FieldQuery(query)
