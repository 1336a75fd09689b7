"""Reader of HTML: the visible text of a page.

The page is parsed here; the core takes the text from the body's markup as the parser serializes
it (`page_text`). Scripts, styles, hidden elements and boilerplate are left out; a page that has
nothing else keeps its boilerplate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.parsers.expat import ExpatError, ParserCreate

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crx._native import bounded_page, page_text
from crx.errors import NothingToRead
from crx.ingest.readers.decode import Decoded, decode
from crx.ingest.readers.headings import Heading, sections
from crx.ingest.readers.left_out import LEFT_OUT, LEFT_OUT_REASONS
from crx.ingest.readers.normal_text import normalize
from crx.types import Document, Scalar

extensions = (".html", ".htm", ".xhtml")

# A parsed page, and an element of one.
Page: TypeAlias = LexborHTMLParser
Element: TypeAlias = LexborNode

_CHARSET = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_XHTML = re.compile(rb"<\?xml\s|<!doctype[^>]*xhtml|<html[^>]*\sxmlns\s*=", re.IGNORECASE)
# An empty element of XHTML that HTML takes for a start tag.
_EMPTY = re.compile(
    rb"<((?!(?:br|hr|img|meta|link|input|col|area|base|source|wbr)\b)[a-zA-Z][\w:-]*)"
    rb"((?:\s[^<>]*)?)/>"
)
_META = frozenset(("description", "keywords", "author", "date"))
# Titles that editors and servers write if the author gave none.
_NO_TITLE = re.compile(
    r"untitled(?: document| page)?|new (?:document|page)|document|index|home(?: ?page)?|title|\W*",
    re.IGNORECASE,
)
# What the metadata says of a page whose body has no text.
_SCRIPTED: dict[str, Scalar | list[Scalar]] = {
    LEFT_OUT: ["body"],
    LEFT_OUT_REASONS: ["it has no text; scripts may make it"],
}
_SPACE = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True, slots=True)
class _PageText:
    """The text of a page, which may be empty, and its headings."""

    text: str
    headings: tuple[Heading, ...]


def read_page(data: bytes) -> _PageText:
    """Return the text and the headings of a page that is part of a document, such as a book."""
    if not data.strip():
        return _PageText("", ())
    text, headings = _content(parse_page(decode_page(data).text))
    return _PageText(text, tuple(headings))


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the page's text, with its title, language, headings and description."""
    decoded = decode_page(data)
    parser = parse_page(decoded.text)
    text, headings = _content(parser)
    title = _title(parser, headings)
    metadata: dict[str, Scalar | list[Scalar]] = dict(_read_meta(parser))
    if not text:  # scripts make that of the body
        text = "\n\n".join(filter(None, (title, str(metadata.get("description", "")))))
        metadata |= _SCRIPTED
    if not text:
        raise NothingToRead("has no text besides its markup")
    yield Document(
        uri=name,
        text=text,
        title=title,
        lang=_lang(parser),
        metadata={**metadata, **decoded.metadata(), "format": "html"},
        marks=sections(headings, end=len(text)),
    )


def decode_page(data: bytes) -> Decoded:
    """Return the markup of a page in the encoding that it declares, or that its bytes show."""
    charset = _CHARSET.search(data[:4096])
    if _XHTML.search(data[:4096]) and _is_well_formed(data):
        data = close_empty(data)
    return decode(data, declared=charset[1].decode("ascii", "replace") if charset else "")


def close_empty(data: bytes) -> bytes:
    """Return XHTML with an end tag for each empty element, as HTML needs it."""
    return _EMPTY.sub(rb"<\1\2></\1>", data)


def _is_well_formed(data: bytes) -> bool:
    if b"<!ENTITY" in data:
        return False
    try:
        ParserCreate().Parse(data.strip(), True)  # noqa: FBT003 - the parser has no keyword for it
    except (ExpatError, LookupError, ValueError):
        return False
    return True


def parse_page(markup: str) -> LexborHTMLParser:
    """Return the tree of a page, as deep at most as in a browser: parsing takes linear time."""
    return LexborHTMLParser(bounded_page(markup) or markup)


def _content(parser: LexborHTMLParser) -> tuple[str, list[Heading]]:
    """Return the main text of a page and its headings; all text of a page without a main one."""
    body = parser.body or parser.root
    markup = body.html if body else None
    text, headings = page_text(markup or "", ignore_case=_has_quirks(parser))
    return text, [Heading(*heading) for heading in headings]


def _has_quirks(parser: LexborHTMLParser) -> bool:
    """Return True if the page's type lets classes and ids be compared without case."""
    node = parser.create_node("p")
    node.attrs["class"] = "A"
    return node.css_matches(".a")


def _title(parser: LexborHTMLParser, headings: Sequence[Heading]) -> str:
    """Return the title of `<title>` or of the metadata, or the first heading of level 1."""
    titled = parser.css_first("head > title")
    shared = parser.css_first('meta[property="og:title"][content]')
    written = (
        _squeeze(titled.text()) if titled else "",
        _squeeze(shared.attributes["content"] or "") if shared else "",
    )
    for title in written:
        if title and not _NO_TITLE.fullmatch(title):
            return title
    return next((h.label for h in headings if h.level == 1), "")


def _read_meta(parser: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    found: dict[str, list[str]] = {}
    for node in parser.css("meta[content]"):
        written = node.attributes.get("name") or node.attributes.get("itemprop") or ""
        name, content = written.lower(), _squeeze(node.attributes["content"] or "")
        if name in _META and content:
            found.setdefault(name, []).append(content)
    for name, contents in found.items():
        yield name, ", ".join(dict.fromkeys(contents)) if name == "keywords" else contents[-1]
    if part_of := _part_of(parser):
        yield "part_of", part_of


def _part_of(parser: LexborHTMLParser) -> str:
    """Return the book and the chapter, or the site, that a page says it belongs to."""
    named = [parser.css_first(f"link[rel={rel}][title]") for rel in ("home", "up")]
    titles = [_squeeze(node.attributes["title"] or "") for node in named if node]
    if not titles:
        site = parser.css_first('meta[property="og:site_name"][content]')
        titles = [_squeeze(site.attributes["content"] or "")] if site else []
    return " > ".join(dict.fromkeys(t for t in titles if t and not t.startswith("(")))


def _lang(parser: LexborHTMLParser) -> str:
    """Return the page's declared language as ISO 639-1, or ""."""
    html = parser.css_first("html")
    attributes = html.attributes if html else {}
    written = (attributes.get("lang") or attributes.get("xml:lang") or "").strip().lower()
    code = re.split(r"[-_]", written)[0]
    return code if len(code) == 2 and code.isascii() and code.isalpha() else ""


def _squeeze(text: str) -> str:
    return _SPACE.sub(" ", normalize(text)).strip()
