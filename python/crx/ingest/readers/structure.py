"""Format and structure (headings, definitions) of a text."""

from __future__ import annotations

import re

from crx.ingest.readers import markdown, text
from crx.ingest.readers.markdown import extensions as markdown_extensions
from crx.types import Mark

# What Markdown has and comments of shell scripts or settings files have not.
_MARKUP = re.compile(r"^```|\]\((?:https?:|[\w./#-]+\))|\*\*\w[^*\n]*\*\*", re.MULTILINE)
_ATX = re.compile(r"(?:\A|\n\n)#{1,6} \S")
_SEEN = 200_000


def structure(source: str, *, name: str = "") -> tuple[str, tuple[Mark, ...]]:
    """Return a text's format and its marks.

    The format is told by the name's extension where that is known, else by the content: a
    programming language, "markdown" or "text". A source that cannot be parsed is "text" without
    marks.
    """
    extension = suffix(name)
    if extension in markdown_extensions:
        return "markdown", markdown.headings(source)
    if extension in text.extensions:
        return "text", text.headings(source)
    from crx.ingest.readers import (  # tree-sitter, only where a text may be code
        code,
        detect_language,
    )

    language = code.LANGUAGES.get(extension) or detect_language.guess(source)
    if language:
        try:
            return language, code.definitions(source, language=language)
        except code.Unparsed:
            return "text", ()
    if _is_markdown(source):
        return "markdown", markdown.headings(source)
    return "text", text.headings(source)


def suffix(name: str) -> str:
    """Return the extension of a path or URI, lower case with its dot, or ""."""
    last = name.rpartition("/")[2]
    stem, dot, extension = last.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""


def _is_markdown(source: str) -> bool:
    seen = source[:_SEEN]
    return len(_ATX.findall(seen)) >= 2 and bool(_MARKUP.search(seen))
