"""Search for passages like a given one: its words and its meaning are the query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crx.errors import UsageError
from crx.ingest.paths import operators_of

if TYPE_CHECKING:
    from crx.retrieve.request import Where

# Characters of the longest query; a chunk is shorter.
_CHARS = 4000
# What would be read as an operator: a pattern, and a dash before a word.
_OPERATOR = re.compile(r"^(?:re:|-|\s)+|(?<!\S)-+(?=\S)")
_WILDCARD = re.compile(r"[*?\[]")
# Steps and rules for words that a person chose.
_WITHOUT = (
    "spelling", "document_name", "unknown_words", "letters", "code", "verbatim", "definitions"
)  # fmt: skip
_RERANKING = ("late_interaction", "rerank")


class _Likeness(NamedTuple):
    """The query, filter and left out rules of a search for passages like a text of a document."""

    query: str
    where: Where
    without: tuple[str, ...]


def search_like(text: str, *, uri: str, where: Where | None, rerank: bool | None) -> _Likeness:
    """Return what a search asks for that finds passages like a text in other documents.

    It is reranked only if `rerank` is true. Raises `UsageError` for a text without a word.
    """
    query = " ".join(_OPERATOR.sub(" ", " ".join(text.split())).split())[:_CHARS]
    if not query:
        raise UsageError(f"{uri}: the passage has no words; search for others")
    given = dict(where or {})
    # One filter of a field says once what it is not.
    field = "source" if "!=" in operators_of(given.get("uri", {})) else "uri"
    name = uri.partition("#")[0] if field == "source" else uri
    other = {**operators_of(given.get(field, {})), "!=": _WILDCARD.sub(r"[\g<0>]", name)}
    return _Likeness(query, {**given, field: other}, _WITHOUT + (() if rerank else _RERANKING))
