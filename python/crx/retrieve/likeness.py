"""Search for passages like a given one: its words and its meaning are the query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from crx.ingest.paths import operators_of

if TYPE_CHECKING:
    from crx.retrieve.request import Where

# Characters of the longest query; a chunk is shorter.
_CHARS = 4000
# What would be read as an operator: a dash before a word, and a pattern.
_OPERATOR = re.compile(r"^re:|(?<!\S)-+(?=\S)")
# Steps and rules for words that a person chose.
_WITHOUT = (
    "spelling", "document_name", "unknown_words", "letters", "code", "verbatim", "definitions"
)  # fmt: skip


class Likeness(NamedTuple):
    """The query, filter and left out rules of a search for passages like a text of a document."""

    query: str
    where: Where
    without: tuple[str, ...]


def search_like(text: str, *, uri: str, where: Where | None) -> Likeness:
    """Return what a search asks for that finds passages like a text in other documents."""
    query = " ".join(_OPERATOR.sub(" ", " ".join(text.split())).split())[:_CHARS]
    given = dict(where or {})
    own = operators_of(given["uri"]) if "uri" in given else {}
    return Likeness(query, {**given, "uri": {**own, "!=": uri}}, _WITHOUT)
