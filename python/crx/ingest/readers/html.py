"""Reader of HTML: the visible text of a page.

A block is a line of its own, a list item begins with its bullet or number, a row of a table is a
line with its cells separated by tabs, and `<pre>` is kept as it is. Scripts, styles, hidden
elements and boilerplate (see `boilerplate`) are left out; a page that has nothing else keeps its
boilerplate.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crx.errors import InputError
from crx.ingest.readers.boilerplate import find_boilerplate, find_main
from crx.ingest.readers.decode import Decoded, decode, normalize
from crx.ingest.readers.headings import Heading, sections
from crx.types import Document, Scalar

extensions = (".html", ".htm", ".xhtml")

_DROPPED = frozenset((
    "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas",
    "audio", "video", "button", "select", "input", "textarea", "head",
))  # fmt: skip
# Elements between blank lines, and elements on a line of their own.
_BLOCKS = frozenset((
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "table", "pre", "blockquote",
    "figure", "section", "article", "main", "header", "footer", "aside", "hr",
))  # fmt: skip
_LINES = frozenset((
    "div", "li", "tr", "dt", "dd", "br", "caption", "figcaption", "address", "form",
    "fieldset", "details", "summary", "option",
))  # fmt: skip
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_HIDDEN = "[hidden], [aria-hidden=true]"
_STYLED = "[style*=display], [style*=visibility]"
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CHARSET = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE
)
_META = frozenset(("description", "keywords", "author", "date"))
# Titles that editors and servers write if the author gave none.
_NO_TITLE = re.compile(
    r"untitled(?: document| page)?|new (?:document|page)|document|index|home(?: ?page)?|title|\W*",
    re.IGNORECASE,
)
_LAYOUT = "table, h1, h2, h3, h4, h5, h6, ul, ol, dl, pre, p + p"
_SPACE = re.compile(r"[ \t\n\r\f\v]+")


@dataclass(frozen=True, slots=True)
class PageText:
    """The text of a page, which may be empty, and its headings."""

    text: str
    headings: tuple[Heading, ...]


def read_page(data: bytes) -> PageText:
    """Return the text and the headings of a page that is part of a document, such as a book."""
    if not data.strip():
        return PageText("", ())
    text, headings = _content(LexborHTMLParser(_decode(data).text))
    return PageText(text, tuple(headings))


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the page's text, with its title, language, headings and description."""
    decoded = _decode(data)
    parser = LexborHTMLParser(decoded.text)
    text, headings = _content(parser)
    if not text:
        raise InputError("has no text besides its markup")
    metadata: dict[str, Scalar | list[Scalar]] = dict(_read_meta(parser))
    yield Document(
        uri=name,
        text=text,
        title=_title(parser, headings),
        lang=_lang(parser),
        metadata={**metadata, **decoded.metadata(), "format": "html"},
        marks=sections(headings, end=len(text)),
    )


def _decode(data: bytes) -> Decoded:
    charset = _CHARSET.search(data[:4096])
    return decode(data, declared=charset[1].decode("ascii", "replace") if charset else "")


def _content(parser: LexborHTMLParser) -> tuple[str, list[Heading]]:
    """Return the main text of a page and its headings; all text of a page without a main one."""
    root, whole = find_main(parser), parser.body or parser.root
    if root is None or whole is None:
        return "", []
    hidden = _find_hidden(whole)
    text, headings = _walk(root, hidden | find_boilerplate(root)).finish()
    if len(text) > sum(len(heading.label) + 2 for heading in headings):
        return text, headings
    return _walk(whole, hidden).finish()


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


@dataclass(slots=True)
class _Page:
    """The text so far, and the separator before the next piece: newlines, a bullet, a space."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    newlines: int = 0
    prefix: str = ""
    space: bool = False
    cells: int = 0
    headings: list[Heading] = field(default_factory=list)

    def add_words(self, text: str) -> None:
        """Add running text; a run of white space becomes one space."""
        squeezed = _SPACE.sub(" ", text)
        if squeezed.startswith(" "):
            self.space = True
        if core := squeezed.strip(" "):
            self.add_verbatim(core)
            self.space = squeezed.endswith(" ")

    def add_verbatim(self, text: str) -> None:
        """Add text as it is."""
        if self.length and self.newlines:
            self._put("\n" * self.newlines)
        if self.prefix:
            self._put(self.prefix)
        elif self.space and self.length and not self.newlines:
            self._put(" ")
        self._put(text)
        self.newlines, self.prefix, self.space = 0, "", False

    def break_line(self, newlines: int) -> None:
        """Start the next piece on a new line (`newlines` = 1) or after a blank one (2).

        Nothing changes directly after a bullet, nor within a table's cell, which stays on the line
        of its row.
        """
        if self.cells or self.prefix:
            self.space = True
        else:
            self.newlines = max(self.newlines, newlines)

    def next_start(self) -> int:
        """Return the offset at which the next piece will start."""
        return self.length + (self.newlines if self.length else 0)

    def finish(self) -> tuple[str, list[Heading]]:
        """Return the text, without white space at its end, and its headings in order."""
        text = "".join(self.parts).rstrip()
        labelled = [
            heading for heading in self.headings if heading.label and heading.start < len(text)
        ]
        return text, sorted(labelled, key=lambda heading: heading.start)

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)


def _walk(root: LexborNode, dropped: Container[int]) -> _Page:
    """Return a node's text without the elements whose ids are `dropped`.

    Not recursive, since a page may nest deeper than Python's stack.
    """
    page = _Page()
    preformatted = 0
    counters: list[int] = []  # of the enclosing lists: the last number, or -1 for bullets
    opened: list[tuple[int, int]] = []  # headings: the offset, and the number of parts before
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    while stack:
        node, closing = stack.pop()
        tag = node.tag or ""
        if tag == "-text":
            text = normalize(node.text(deep=False) or "")
            if preformatted and text:
                page.add_verbatim(text)
            else:
                page.add_words(text)
            continue
        if not closing and (tag.startswith("-") or tag in _DROPPED or node.mem_id in dropped):
            continue
        if closing:
            preformatted -= tag == "pre"
            _close(tag, node, page, counters, opened)
        if newlines := 2 if tag in _BLOCKS else 1 if tag in _LINES else 0:
            page.break_line(newlines)
        if not closing:
            preformatted += tag == "pre"
            _open(tag, node, page, counters, opened)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
    return page


def _open(
    tag: str, node: LexborNode, page: _Page, counters: list[int], opened: list[tuple[int, int]]
) -> None:
    if tag in ("td", "th"):
        if not _is_cell(node):
            page.break_line(1)
            return
        if _follows_cell(node):
            page.newlines, page.prefix = 0, page.prefix + "\t"
        page.cells += 1
    elif tag == "li":
        counters[-1:] = [number + (number >= 0) for number in counters[-1:]]
        page.prefix = f"{counters[-1]}. " if counters and counters[-1] > 0 else "- "
    elif tag in ("ul", "ol"):
        counters.append(0 if tag == "ol" else -1)
    elif tag in _LEVELS:
        opened.append((page.next_start(), len(page.parts)))


def _close(
    tag: str, node: LexborNode, page: _Page, counters: list[int], opened: list[tuple[int, int]]
) -> None:
    if tag in ("td", "th"):
        page.cells -= _is_cell(node)
    elif tag == "li":
        page.prefix = ""  # of an empty item
    elif tag in ("ul", "ol"):
        counters.pop()
    elif tag == "tr":
        page.prefix = ""  # of empty cells at a row's end
    elif tag in _LEVELS:
        start, parts = opened.pop()
        label = _squeeze("".join(page.parts[parts:]))
        page.headings.append(Heading(start, label, _LEVELS[tag]))


def _is_cell(node: LexborNode) -> bool:
    """Return True for a cell of data, False for part of a page that a table lays out."""
    return node.css_first(_LAYOUT) is None


def _follows_cell(node: LexborNode) -> bool:
    before = node.prev
    while before is not None and before.tag not in ("td", "th"):
        before = before.prev
    return before is not None


def _find_hidden(root: LexborNode) -> set[int]:
    """Return the ids of the elements that a browser does not show, as far as attributes say so."""
    hidden = {node.mem_id for node in root.css(_HIDDEN)}
    styled = (node for node in root.css(_STYLED))
    hidden.update(n.mem_id for n in styled if _HIDDEN_STYLE.search(n.attributes["style"] or ""))
    return hidden


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
