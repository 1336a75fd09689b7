"""Reader of OpenDocument texts and presentations, zipped or as one flat XML file.

Headings have their outline level; they and the items of lists begin with their number, or a dash. A
row of a table is a line with tabs between its cells, and notes follow the text. Tables of contents,
comments and tracked changes are left out, as are dates, footers and numbers of slides. Each slide
is a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.drawings import plain_description
from crx.ingest.readers.file_title import squeeze, written_title
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.list_numbers import prefixed
from crx.ingest.readers.text_builder import OpenTables, TextBuilder
from crx.ingest.readers.xml_package import (
    Archive,
    all_text,
    attribute,
    find,
    local_name,
    number,
    parse_xml,
    walk,
)
from crx.types import Document, Scalar
from crx_formats.odf_numbering import OdfNumbering

extensions = (".odt", ".ott", ".fodt", ".odp", ".otp", ".fodp")

_CONTENT, _STYLES, _META = "content.xml", "styles.xml", "meta.xml"
_MANIFEST = "META-INF/manifest.xml"
_HIDDEN = frozenset((
    "annotation", "tracked-changes", "table-of-content", "illustration-index", "table-index",
    "alphabetical-index", "user-index", "sequence-decls", "forms", "event-listeners", "desc",
    "ruby-text", "footer-decl", "header-decl", "date-time-decl", "script",
    "number",
))  # fmt: skip
_SHAPES = frozenset(("frame", "custom-shape", "rect", "ellipse", "line", "connector", "polygon"))
_REPEATED = frozenset(("date-time", "footer", "header", "page-number"))
_ITEMS = frozenset(("list-item", "list-header"))
_CELLS = frozenset(("table-cell", "covered-table-cell"))
_SPACE = re.compile(r"[ \t\n\r]+")
_MOST_SPACES = 100  # that one element may stand for
_METADATA = {"creator": "author", "keyword": "keywords", "description": "description"}


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its headings or slides."""
    left_out = LeftOut()
    content, styles, meta = _parts(
        data, left_out, is_flat=name.lower().endswith((".fodt", ".fodp"))
    )
    body = find(content, "body")
    if body is None or not len(body):
        raise InputError("is damaged: has no body")
    kind = local_name(body[0])
    numbering = left_out.attempt(
        "list numbers", lambda: OdfNumbering([styles, content]), plain=OdfNumbering(())
    )
    reading = _OdfBodyReader(_title_styles(content), numbering)
    reading.read(body[0])
    if not reading.text:
        raise NothingToRead("has no text")
    title, metadata = _properties(meta)
    if kind == "presentation":
        metadata["slides"] = reading.slides
    metadata |= left_out.metadata()
    metadata["format"] = "odp" if kind == "presentation" else "odt"
    yield reading.text.build(name, title=title or reading.title, metadata=metadata)


def refuse_encrypted(archive: Archive) -> None:
    """Raise `InputError` if the parts of an OpenDocument file are encrypted."""
    if _MANIFEST in archive and b"encryption-data" in archive.read(_MANIFEST):
        raise InputError("is encrypted; save a copy without its password")


def properties(archive: Archive) -> tuple[str, dict[str, Scalar | list[Scalar]]]:
    """Return the title that the document's properties give, and its metadata."""
    return _properties(archive.read_xml(_META) if _META in archive else None)


def _parts(
    data: bytes, left_out: LeftOut, *, is_flat: bool
) -> tuple[Element, Element, Element | None]:
    """Return the elements that contain the content, the styles and the properties."""
    if is_flat:
        root = parse_xml(data, part="the file")
        return root, root, root
    archive = Archive(data)
    refuse_encrypted(archive)
    content = archive.read_xml(_CONTENT)
    styles, meta = content, None
    if _STYLES in archive:
        styles = left_out.attempt("styles", lambda: archive.read_xml(_STYLES), plain=content)
    if _META in archive:
        meta = left_out.attempt("properties", lambda: archive.read_xml(_META), plain=None)
    return content, styles, meta


class _OdfBodyReader:
    """The state of reading a body."""

    def __init__(self, title_styles: frozenset[str], numbering: OdfNumbering) -> None:
        self.text = TextBuilder()
        self.title = ""
        self.slides = 0
        self._title_styles = title_styles
        self._numbering = numbering
        self._tables = OpenTables()
        self._paragraphs: list[tuple[str, list[str]]] = []  # their numbers and texts
        self._hidden = 0
        self._classes: list[str] = []  # of the shapes around: their role in the presentation
        self._gap = "\n\n"
        self._notes: list[str] = []  # that follow the text
        self._note: list[str] | None = None  # the one that is being read
        self._descriptions: list[str] = []  # of pictures, which follow the paragraph

    def read(self, body: Element) -> None:
        """Add the text of a body, then its notes."""
        for element, closing in walk(body):
            name = local_name(element)
            if closing:
                self._close(name, element)
            else:
                self._open(name, element)
        for note in self._notes:
            self.text.add(note)

    def _open(self, name: str, element: Element) -> None:
        role = attribute(element, "class")
        if _is_description(name, element) and not self._hidden:
            self._descriptions.append(plain_description(all_text(element)))
        if _is_hidden(name, element, role):
            self._hidden += 1
        if self._hidden:
            return
        if name in ("p", "h"):
            self._paragraphs.append((self._number(name, element), []))
        elif name == "page":
            self.slides += 1
            self.text.begin("slide", str(self.slides))
        elif name in _SHAPES or name == "notes":
            self._classes.append(role or name)
            self._gap = "\n\n"
        elif name == "list":
            self._numbering.open_list(element)
        elif name in _ITEMS:
            self._numbering.open_item(element)
        elif name == "table":
            self._tables.open_table()
        elif name == "table-row":
            self._tables.open_row()
        elif name in _CELLS:
            self._tables.open_cell()
        elif name == "note":
            citation = find(element, "note-citation")
            self._note = [f"[{'' if citation is None else all_text(citation)}]"]
        self._add(_written(name, element))

    def _close(self, name: str, element: Element) -> None:
        if self._hidden:
            self._hidden -= _is_hidden(name, element, attribute(element, "class"))
        elif name in ("p", "h"):
            number, parts = self._paragraphs.pop()
            style = attribute(element, "style-name")
            self._add_paragraph(number, "".join(parts), _level(name, element), style)
        elif name in _SHAPES or name == "notes":
            self._classes.pop()
            self._add_descriptions()
        elif name == "list":
            self._numbering.close_list()
        elif name in _ITEMS:
            self._numbering.close_item()
        elif name == "table":
            self._tables.close_table(self.text)
        elif name == "note-citation":
            self._add("]")
        elif name == "note" and self._note is not None:
            self._notes.append(" ".join(self._note))
            self._note = None
        self._add(_SPACE.sub(" ", element.tail or ""))

    def _add(self, text: str) -> None:
        if self._paragraphs and not self._hidden:
            self._paragraphs[-1][1].append(text)

    def _number(self, name: str, element: Element) -> str:
        """Return the number of the paragraph that begins; on slides only digits and letters."""
        if name == "h":
            found = self._numbering.number_heading(element, _level(name, element))
        else:
            found = self._numbering.number_paragraph()
        return "" if found == "-" and (self.slides or self._tables) else found

    def _add_paragraph(self, number: str, text: str, level: int, style: str) -> None:
        text = prefixed(number, text.strip(" "))
        if not text:
            self._add_descriptions()
            return
        if self._note is not None:
            self._note.append(text)
        elif self._tables:
            self._tables.add(text)
        elif level or self._classes[-1:] == ["title"]:
            self.text.add_heading(text, level=level or 1)
        elif "notes" in self._classes:
            self.text.add(f"Notes: {text}" if self._gap == "\n\n" else text, gap=self._gap)
        elif number:
            self.text.add(text, gap="\n")
        else:
            self.text.add(text, gap=self._gap)
            if style in self._title_styles and not self.title:
                self.title = squeeze(text)
        self._gap = "\n" if self._classes else "\n\n"
        self._add_descriptions()

    def _add_descriptions(self) -> None:
        """Add the descriptions of pictures, unless a paragraph is open."""
        if self._paragraphs or not self._descriptions:
            return
        lines = "\n".join(filter(None, self._descriptions))
        self._descriptions = []
        if self._tables:
            self._tables.add(lines)
        else:
            self.text.add(lines)


def _level(name: str, element: Element) -> int:
    """Return the outline level of a heading, 0 for another paragraph."""
    return number(attribute(element, "outline-level"), default=1) if name == "h" else 0


def _is_hidden(name: str, element: Element, role: str) -> bool:
    return name in _HIDDEN or role in _REPEATED or _is_description(name, element)


def _is_description(name: str, element: Element) -> bool:
    """Return whether an element is the title or the description of a picture or shape."""
    return name in ("title", "desc") and "svg" in str(element.tag)


def _written(name: str, element: Element) -> str:
    """Return what an element's start stands for within a paragraph."""
    if name == "s":
        return " " * min(number(attribute(element, "c"), default=1), _MOST_SPACES)
    if name in ("tab", "line-break"):
        return "\t" if name == "tab" else "\n"
    text = _SPACE.sub(" ", element.text or "")
    return f"[{text}" if name == "note-citation" else text


def _title_styles(content: Element) -> frozenset[str]:
    """Return the names of the styles of a text's title."""
    styles = find(content, "automatic-styles")
    own = (
        attribute(style, "name")
        for style in (() if styles is None else styles)
        if attribute(style, "parent-style-name") == "Title"
    )
    return frozenset(("Title", *own))


def _properties(root: Element | None) -> tuple[str, dict[str, Scalar | list[Scalar]]]:
    """Return the title that the document's properties give, and its metadata."""
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    meta = find(root, "meta") if root is not None else None
    for element in () if meta is None else meta:
        name, value = local_name(element), all_text(element)
        if name == "title":
            title = written_title(value)
        elif name == "date" and value:
            metadata["date"] = value[:10]
        elif name in _METADATA and value:
            metadata[_METADATA[name]] = squeeze(value)
    return title, metadata
