"""Reader of Markdown: headings, and the front matter of static site generators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crx.ingest.readers.decode import decode
from crx.ingest.readers.front_matter import front_matter
from crx.ingest.readers.headings import Heading, sections
from crx.types import Document, Mark

extensions = (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd")

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
# A line at which another block begins or ends: it is not the text of an underlined heading.
_BLOCK = re.compile(
    r"[ \t]*$| {4}|\t| {0,3}(?:[>|]|[-+*][ \t]|\d{1,9}[.)][ \t]|(?:[-*_][ \t]*){3,}$)"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_LONGEST = 1000  # characters; a longer line is no heading, and is given to no regular expression
_DEPTH = {"=": 1, "-": 2}


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document: its text as written, including front matter."""
    decoded = decode(data)
    front, body = front_matter(decoded.text)
    marks = headings(decoded.text, start=body)
    title = str(front.pop("title", "")) or next((mark.label for mark in marks), "")
    lang = str(front.pop("lang", ""))
    yield Document(
        uri=name,
        text=decoded.text,
        title=title,
        lang=lang,
        metadata={**front, **decoded.metadata(), "format": "markdown"},
        marks=marks,
    )


def headings(text: str, *, start: int = 0) -> tuple[Mark, ...]:
    """Return the sections of ATX and setext headings, ignoring `#` lines in fenced code."""
    found: list[Heading] = []
    fence = ""
    paragraph: list[tuple[int, str]] = []  # its lines: an underline makes a single one a heading
    offset = start
    for line in text[start:].split("\n"):
        here, offset = offset, offset + len(line) + 1
        if len(line) > _LONGEST:
            paragraph.append((here, ""))
        elif fence or _FENCE.match(line):
            fence, paragraph = _next_fence(fence, line), []
        elif atx := _ATX.match(line):
            found.append(Heading(here, _strip_markup(_atx_label(line[atx.end() :])), len(atx[1])))
            paragraph = []
        elif len(paragraph) == 1 and (under := _UNDERLINE.match(line)):
            found.append(
                Heading(paragraph[0][0], _strip_markup(paragraph[0][1]), _DEPTH[under[1][0]])
            )
            paragraph = []
        elif _BLOCK.match(line):
            paragraph = []
        else:
            paragraph.append((here, line))
    return sections([heading for heading in found if heading.label], end=len(text))


def _atx_label(written: str) -> str:
    """Return the text behind the marks of a heading, without the marks that may close it."""
    text = written.strip(" \t")
    rest = text.rstrip("#")
    return rest.rstrip(" \t") if rest.endswith((" ", "\t")) else text


def _next_fence(fence: str, line: str) -> str:
    """Return the fence that is open after a line, or ""."""
    if not (match := _FENCE.match(line)):
        return fence
    run, info = match.groups()
    if not fence:
        return "" if run[0] == "`" and "`" in info else run
    closes = run[0] == fence[0] and len(run) >= len(fence) and not info.strip()
    return "" if closes else fence


def _strip_markup(inline: str) -> str:
    """Return a heading's text without the markup of emphasis, code and links."""
    return re.sub(r"[*`]|(?<!\w)_+|(?<!_)_+(?!\w)", "", _LINK.sub(r"\1", inline)).strip()
