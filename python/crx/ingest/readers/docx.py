"""Reader of Word documents (Office Open XML): paragraphs, headings, lists, tables and notes.

Headings are paragraphs with an outline level, of their own or by their style. Headings and items
of lists have the numbers that Word shows. A row of a table is a line with tabs between its cells.
The texts of charts and diagrams and the descriptions of pictures follow their paragraph, footnotes
follow the text. Headers, footers, comments, hidden text and tracked deletions are left out. Pages
are those of the last layout that Word saved, if it saved any; a page begins at the first paragraph
that begins on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from xml.etree.ElementTree import Element

from crx.errors import InputError, NothingToRead
from crx.ingest.formats import suffix
from crx.ingest.readers import reader_for
from crx.ingest.readers.docx_numbering import DocxNumbering, read_numbering
from crx.ingest.readers.drawings import description, linked_lines, paragraphs
from crx.ingest.readers.headings import Heading
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.list_numbers import format_count, prefixed
from crx.ingest.readers.text_builder import OpenTables, TextBuilder
from crx.ingest.readers.xml_package import (
    NOT_TEXT,
    Archive,
    Relationship,
    attribute,
    children,
    find,
    local_name,
    number,
    properties,
    related,
    relationships,
    walk,
)
from crx.types import Document, Scalar

extensions = (".docx", ".docm", ".dotx", ".dotm")

_MAIN = "word/document.xml"
_SPACES = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "den": "/"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
# The formats of their numbers, unless a document sets others.
_NOTE_FORMATS = {"footnotes": "decimal", "endnotes": "lowerRoman"}
_BODY_LEVEL = 9  # an outline level of 9 is that of text that is no heading
# And the readings of ruby, and what a run was before a tracked change.
_HIDDEN = NOT_TEXT | {"rt", "rPrChange"}
_OFF = frozenset(("0", "false", "off"))
# The elements of a paragraph that stand for another part, and the attribute with the link to it.
_EMBEDDED = {"chart": "id", "relIds": "dm"}
_DEEPEST = 3  # of documents within documents


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its headings and pages."""
    archive = Archive(data)
    left_out = LeftOut()
    text = TextBuilder()
    title = _add_document(archive, text, left_out)
    if not text:
        if left_out:
            raise InputError(left_out.lines()[0])
        raise NothingToRead("has no text")
    nothing: tuple[str, dict[str, Scalar | list[Scalar]]] = ("", {})
    own_title, metadata = left_out.attempt(
        "properties", partial(properties, archive), plain=nothing
    )
    yield text.build(
        name,
        title=own_title or title,
        metadata={**metadata, **left_out.metadata(), "format": "docx"},
    )


def _add_document(archive: Archive, text: TextBuilder, left_out: LeftOut, depth: int = 0) -> str:
    """Add a document to the text; return the title that it shows."""
    part = related(archive, "", "officeDocument") or _MAIN
    links = {link.id: link for link in relationships(archive, part)}
    paths = {link.type: link.path for link in reversed(links.values())}
    styles: dict[str, _Style] = left_out.attempt(
        "styles", lambda: _read_styles(archive, paths.get("styles", "")), plain={}
    )
    numbering = left_out.attempt(
        "list numbers",
        lambda: read_numbering(archive, paths.get("numbering", "")),
        plain=DocxNumbering({}),
    )
    reading = _BodyReader(archive, text, styles, numbering, links, left_out, depth)
    reading.read(archive.read_xml(part))
    for notes in _NOTES.values():
        if (path := paths.get(notes, "")) in archive:
            left_out.attempt(notes, partial(reading.add_notes, path, notes), plain=None)
    return reading.title


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style sets: an outline level from 0, a list, the document's title."""

    level: int | None = None
    list_id: str = ""
    list_level: int | None = None  # None for that which the list gives the style
    is_title: bool = False
    id: str = ""


@dataclass(slots=True)
class _Paragraph:
    """A paragraph while it is read: its number, its text and what follows it."""

    style: _Style
    number: str
    parts: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_hidden: bool = False  # the run that is being read


class _BodyReader:
    """The state of reading a document's body."""

    def __init__(
        self,
        archive: Archive,
        text: TextBuilder,
        styles: dict[str, _Style],
        numbering: DocxNumbering,
        links: Mapping[str, Relationship],
        left_out: LeftOut,
        depth: int,
    ) -> None:
        self.title = ""
        self._archive = archive
        self._text = text
        self._styles = styles
        self._numbering = numbering
        self._links = links
        self._left_out = left_out
        self._depth = depth
        self._paragraphs: list[_Paragraph] = []
        self._tables = OpenTables()
        self._page = 0
        self._breaks = 0  # page breaks within the block that is being read
        self._labels: dict[str, dict[str, str]] = {notes: {} for notes in _NOTES.values()}

    def read(self, root: Element) -> None:
        """Add the text of a part."""
        if (
            next(root.iter(f"{root.tag.rpartition('}')[0]}}}lastRenderedPageBreak"), None)
            is not None
        ):
            self._turn_page()
        for element, closing in walk(root, skip=_HIDDEN):
            name = local_name(element)
            if closing:
                self._close(name)
            else:
                self._open(name, element)

    def add_notes(self, path: str, notes: str) -> None:
        """Add the notes of a part that the text refers to, in the order of its references."""
        by_id = {attribute(note, "id"): note for note in self._archive.read_xml(path)}
        for id_, label in self._labels[notes].items():
            if (note := by_id.get(id_)) is not None:
                self._text.add(f"[{label}] " + "\n".join(paragraphs(note, skip=_HIDDEN)))

    def _open(self, name: str, element: Element) -> None:
        if name == "p":
            style = self._style_of(element)
            is_deleted = find(element, "pPr", "rPr", "del") is not None  # its mark, at least
            self._paragraphs.append(_Paragraph(style, "" if is_deleted else self._number(style)))
        elif name == "tbl":
            self._tables.open_table()
        elif name == "tr":
            self._tables.open_row()
        elif name == "tc":
            self._tables.open_cell()
        elif name == "altChunk":
            self._add_embedded(attribute(element, "id"))
        elif name == "lastRenderedPageBreak":
            self._break_page()
        elif self._paragraphs:
            self._add_run(name, element)

    def _add_run(self, name: str, element: Element) -> None:
        *around, paragraph = self._paragraphs
        parts = paragraph.parts
        if name == "r":
            paragraph.is_hidden = any(each.is_hidden for each in around)
        elif name == "vanish":
            paragraph.is_hidden = _is_on(element)
        elif paragraph.is_hidden:
            return
        elif name == "t":
            parts.append(element.text or "")
        elif name in ("ddList", "checkBox"):
            parts.append(_value_of_field(name, element))
        elif name in _SPACES:
            parts.append(_SPACES[name])
        elif name in _NOTES:
            parts.append(f"[{self._label_of_note(_NOTES[name], attribute(element, 'id'))}]")
        elif name in _EMBEDDED:
            paragraph.lines += self._linked_lines(attribute(element, _EMBEDDED[name]))
        elif text := description(element):
            paragraph.lines.append(text)

    def _label_of_note(self, notes: str, id_: str) -> str:
        """Return the number of a note, counted in the order of the references."""
        labels = self._labels[notes]
        return labels.setdefault(id_, format_count(len(labels) + 1, _NOTE_FORMATS[notes]))

    def _close(self, name: str) -> None:
        if name == "p" and self._paragraphs:
            self._add_paragraph(self._paragraphs.pop())
        elif name == "tbl":
            self._tables.close_table(self._text)
        else:
            return
        while self._breaks and not self._tables and not self._paragraphs:
            self._breaks -= 1
            self._turn_page()

    def _add_paragraph(self, paragraph: _Paragraph) -> None:
        style = paragraph.style
        is_bullet = paragraph.number == "-"
        text = "".join(paragraph.parts).strip("\n")
        numbered = prefixed("" if is_bullet else paragraph.number, text)
        if self._tables:
            self._tables.add("\n".join((numbered, *paragraph.lines)))
            return
        if style.level is not None and style.level < _BODY_LEVEL:
            self._text.add_heading(numbered, level=style.level + 1)
        elif style.list_id:
            self._text.add(prefixed(paragraph.number, text), gap="\n")
        else:
            self._text.add(text)
            if style.is_title and not self.title:
                self.title = " ".join(text.split())
        self._text.add("\n".join(paragraph.lines))

    def _linked_lines(self, link_id: str) -> list[str]:
        """Return the texts of a chart or a diagram."""
        link = self._links.get(link_id)
        if link is None:
            return []
        return self._left_out.attempt(
            link.path, lambda: linked_lines(self._archive, link.type, link.path), plain=[]
        )

    def _add_embedded(self, link_id: str) -> None:
        """Add a document that stands within this one (an altChunk), of whatever format."""
        link = self._links.get(link_id)
        if link is not None and link.path in self._archive:
            self._left_out.attempt(link.path, lambda: self._add_file(link.path), plain=None)

    def _add_file(self, path: str) -> None:
        if self._depth == _DEEPEST:
            raise InputError(f"is within {_DEEPEST} other documents")
        data = self._archive.read(path)
        if suffix(path) in extensions:
            _add_document(Archive(data), self._text, self._left_out, self._depth + 1)
        elif reader := reader_for(suffix(path)):
            for document in reader.read(data, name=path):
                marks = (mark for mark in document.marks if mark.kind == "heading")
                headings = [Heading(mark.start, mark.label, mark.level) for mark in marks]
                self._text.add_part(document.text, headings)

    def _break_page(self) -> None:
        inside = self._tables or any("".join(p.parts).strip() for p in self._paragraphs)
        if inside:
            self._breaks += 1
        else:
            self._turn_page()

    def _turn_page(self) -> None:
        self._page += 1
        self._text.begin("page", str(self._page))

    def _style_of(self, paragraph: Element) -> _Style:
        if (own := find(paragraph, "pPr")) is None:
            return self._styles.get("", _Style())
        named = find(own, "pStyle")
        style = self._styles.get(attribute(named, "val") if named is not None else "", _Style())
        return _with_properties(style, own)

    def _number(self, style: _Style) -> str:
        """Return the number of the next paragraph of a style, "-" for a bullet."""
        if not style.list_id:
            return ""
        level = style.list_level
        if level is None:
            level = self._numbering.level_of_style(style.list_id, style.id)
        return self._numbering.number_next(style.list_id, level)


def _is_on(element: Element) -> bool:
    return attribute(element, "val") not in _OFF


def _value_of_field(name: str, field: Element) -> str:
    """Return the choice of a drop-down list of a form, or a box that is checked or not."""
    if name == "checkBox":
        set_ = find(field, "checked")
        set_ = find(field, "default") if set_ is None else set_
        return "☒" if set_ is not None and _is_on(set_) else "☐"
    chosen = find(field, "result")
    at = 0 if chosen is None else number(attribute(chosen, "val"))
    return next((attribute(e, "val") for e in list(children(field, "listEntry"))[at:]), "")


def _with_properties(style: _Style, own: Element) -> _Style:
    """Return a style with what paragraph properties set over it."""
    if (outline := find(own, "outlineLvl")) is not None:
        style = replace(style, level=number(attribute(outline, "val"), default=_BODY_LEVEL))
    if (listed := find(own, "numPr", "numId")) is not None:
        id_ = attribute(listed, "val")
        style = replace(style, list_id="" if id_ == "0" else id_, list_level=None)
    if (level := find(own, "numPr", "ilvl")) is not None:
        style = replace(style, list_level=number(attribute(level, "val")))
    return style


def _read_styles(archive: Archive, path: str) -> dict[str, _Style]:
    """Return the paragraph styles by id, each with what it takes over; "" is the default one."""
    if path not in archive:
        return {}
    elements = list(children(archive.read_xml(path), "style"))
    by_id = {attribute(element, "styleId"): element for element in elements}
    styles = {id_: _resolve(id_, by_id) for id_ in by_id}
    for id_, element in by_id.items():
        if attribute(element, "default") and attribute(element, "type") == "paragraph":
            styles[""] = styles[id_]
    return styles


def _resolve(id_: str, by_id: dict[str, Element]) -> _Style:
    chain: list[str] = []
    while id_ in by_id and id_ not in chain:
        chain.append(id_)
        above = find(by_id[id_], "basedOn")
        id_ = attribute(above, "val") if above is not None else ""
    style = _Style()
    for link in reversed(chain):
        element = by_id[link]
        style = replace(style, id=link)
        named = find(element, "name")
        name = attribute(named, "val").lower() if named is not None else ""
        if name.startswith("heading ") and name[8:].isdecimal():
            style = replace(style, level=number(name[8:]) - 1)
        elif name == "title":
            style = replace(style, is_title=True)
        if (own := find(element, "pPr")) is not None:
            style = _with_properties(style, own)
    return style
