"""Operators of a query: words and phrases that it excludes, and patterns.

`-draft` and `-"first draft"` leave out passages with that word or phrase; `re:ERR-[0-9]+` searches
for a regular expression. A question has no operators: in "what does -rf mean?" the dash is a part
of the word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

from crx import _native

Match: TypeAlias = Literal["words", "regex", "literal"]
MATCHES: tuple[Match, ...] = ("words", "regex", "literal")

_PATTERN = "re:"
# What is quoted without a dash before it is left as it is. A number may be negative, and a single
# letter is an option of a command.
_TOKEN = re.compile(
    r"(?<!\S)-[\"“«](?P<phrase>[^\"“”«»]+)[\"”»](?!\S)"
    r"|[\"“«][^\"“”«»]*[\"”»]"
    r"|(?<!\S)-(?P<word>[^\W\d_]\w[^\s\"]*)"
)
_PUNCTUATION = ".,;:!"
# Characters of the matched texts that stand for a pattern where words of a query are looked for,
# and the most texts that they are taken from.
_SHOWN_CHARS = 1000
_SHOWN_TEXTS = 20


class QueryWords(NamedTuple):
    """The words to search for, and the words and phrases to leave out."""

    text: str
    excluded: tuple[str, ...] = ()


class QueryPattern(NamedTuple):
    """A pattern to search for."""

    source: str
    kind: Literal["regex", "literal"]


def parse_words(query: str) -> QueryWords:
    """Return a query without what it excludes."""
    if "-" not in query or query.rstrip().endswith(("?", "？")):
        return QueryWords(query)
    excluded: dict[str, None] = {}

    def take(token: re.Match[str]) -> str:
        found = token["phrase"] or (token["word"] or "").rstrip(_PUNCTUATION)
        if not found.strip():
            return token[0]
        excluded[" ".join(found.split())] = None
        return ""

    text = _TOKEN.sub(take, query)
    return QueryWords(" ".join(text.split()), tuple(excluded)) if excluded else QueryWords(query)


def parse_pattern(query: str, *, match: Match) -> QueryPattern | None:
    """Return the pattern that a query is, None if it consists of words."""
    if match != "words":
        return QueryPattern(query, match)
    if query.startswith(_PATTERN):
        return QueryPattern(query.removeprefix(_PATTERN), "regex")
    return None


def compile_pattern(pattern: QueryPattern) -> _native.Pattern:
    """Return a pattern in its compiled form; raises `ValueError` for one that is not valid."""
    if pattern.kind == "literal":
        return _native.Pattern.literal(pattern.source)
    return _native.Pattern.regex(pattern.source)


def matched_text(pattern: QueryPattern, texts: Iterable[str]) -> str:
    """Return the distinct texts that a pattern matches in the first texts, some, as a query."""
    compiled = compile_pattern(pattern)
    found: dict[str, None] = {}
    for text in islice(texts, _SHOWN_TEXTS):
        found |= dict.fromkeys(text[start:end] for start, end in compiled.spans(text))
        if sum(map(len, found)) >= _SHOWN_CHARS:
            break
    return " ".join(found)[:_SHOWN_CHARS]
