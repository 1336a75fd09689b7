"""Detection of a text's format and structure: headings or definitions."""

from __future__ import annotations

import re

from crx.ingest.formats import LANGUAGES, MARKUP, suffix
from crx.ingest.readers import markdown, text
from crx.ingest.readers.markdown import extensions as markdown_extensions
from crx.plugins import load_format
from crx.types import Mark

# Markup that Markdown has, and comments of shell scripts and settings files do not.
_MARKUP = re.compile(r"^```|\]\((?:https?:|[\w./#-]+\))|\*\*\w[^*\n]*\*\*", re.MULTILINE)
_ATX = re.compile(r"(?:\A|\n\n)#{1,6} \S")
_SNIFFED_CHARS = 200_000


def structure(source: str, *, name: str = "") -> tuple[str, tuple[Mark, ...]]:
    """Return a text's format and its marks.

    The format is a programming language, "markdown" or "text", by the name's extension if that is
    known, else by the content. A source that cannot be parsed is "text" without marks.
    """
    extension = suffix(name)
    if extension in markdown_extensions:
        return "markdown", markdown.headings(source)
    if extension in MARKUP:
        format_ = MARKUP[extension]
        markup = load_format("crx.readers", "markup")
        return format_, markup.parse(source, format_=format_)[1]
    if extension in text.extensions:
        return "text", text.headings(source)
    # Imported here: tree-sitter is needed only if a text may be code.
    from crx.ingest.readers import code
    from crx.ingest.readers.detect_language import detect_language

    language = LANGUAGES.get(extension) or detect_language(source)
    if language:
        try:
            return language, code.definitions(source, language=language)
        except code.Unparsed:
            return "text", ()
    if _is_markdown(source):
        return "markdown", markdown.headings(source)
    return "text", text.headings(source)


def _is_markdown(source: str) -> bool:
    opening = source[:_SNIFFED_CHARS]
    return len(_ATX.findall(opening)) >= 2 and bool(_MARKUP.search(opening))
