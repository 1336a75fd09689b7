"""Operators of a query: words and phrases that it excludes, and patterns.

`-draft` and `-"first draft"` leave out passages with that word or phrase; `re:ERR-[0-9]+` searches
for a regular expression. A question has no operators: in "what does -rf mean?" the dash is a part
of the word. So it is in a word that no other comes before, and in an option that documents hold.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
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
_WORD = re.compile(r"\w")
# Characters of the matched texts that stand for a pattern where words of a query are looked for,
# and the most texts that they are taken from.
_SHOWN_CHARS = 1000
_SHOWN_TEXTS = 20


class QueryWords(NamedTuple):
    """The words to search for, and the words and phrases to leave out.

    `options` are the excluded ones without quotes, each of which may be an option of a command.
    """

    text: str
    excluded: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class QueryPattern(NamedTuple):
    """A pattern to search for."""

    source: str
    kind: Literal["regex", "literal"]


def parse_words(query: str, *, kept: Collection[str] = ()) -> QueryWords:
    """Return a query without what it excludes; `kept` are options that it searches for."""
    if "-" not in query or query.rstrip().endswith(("?", "？")):
        return QueryWords(query)
    excluded: dict[str, bool] = {}

    def take(token: re.Match[str]) -> str:
        option = (token["word"] or "").rstrip(_PUNCTUATION)
        found = token["phrase"] or option
        is_first = option and not _WORD.search(_TOKEN.sub("", query[: token.start()]))
        if not found.strip() or option in kept or is_first:
            return token[0]
        excluded[" ".join(found.split())] = bool(option)
        return ""

    text = _TOKEN.sub(take, query)
    if not excluded:
        return QueryWords(query)
    options = tuple(word for word, is_option in excluded.items() if is_option)
    return QueryWords(" ".join(text.split()), tuple(excluded), options)


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
