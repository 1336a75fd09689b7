"""Reader of Word documents (Office Open XML): paragraphs, headings, lists, tables and notes.

Headings are paragraphs with an outline level, of their own or by their style. A row of a table is a
line with tabs between its cells. Footnotes follow the text. Headers, footers, comments and tracked
deletions are left out. Pages are those of the last layout that Word saved, if it saved any; a page
begins at the first paragraph that begins on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from crx.errors import NothingToRead
from crx.ingest.readers.text_builder import OpenTables, TextBuilder
from crx.ingest.readers.xml_package import (
    NOT_TEXT,
    Archive,
    attribute,
    children,
    find,
    local_name,
    number,
    properties,
    related,
    walk,
)
from crx.types import Document

extensions = (".docx", ".docm", ".dotx", ".dotm")

_MAIN = "word/document.xml"
_SPACES = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_BODY_LEVEL = 9  # an outline level of 9 is that of text that is no heading


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the document's text with its headings and pages."""
    archive = Archive(data)
    part = related(archive, "", "officeDocument") or _MAIN
    reading = _BodyReader(_read_styles(archive, related(archive, part, "styles")))
    reading.read(archive.read_xml(part))
    for notes in _NOTES.values():
        if path := related(archive, part, notes):
            reading.add_notes(archive.read_xml(path), notes)
    if not reading.text:
        raise NothingToRead("has no text")
    title, metadata = properties(archive)
    yield reading.text.build(
        name, title=title or reading.title, metadata={**metadata, "format": "docx"}
    )


@dataclass(frozen=True, slots=True)
class _Style:
    """What a paragraph style sets: an outline level from 0, a list, the document's title."""

    level: int | None = None
    is_list: bool = False
    is_title: bool = False


@dataclass(slots=True)
class _Paragraph:
    """A paragraph while it is read."""

    style: _Style
    parts: list[str] = field(default_factory=list)


class _BodyReader:
    """The state of reading a document's body."""

    def __init__(self, styles: dict[str, _Style]) -> None:
        self.text = TextBuilder()
        self.title = ""
        self._styles = styles
        self._paragraphs: list[_Paragraph] = []
        self._tables = OpenTables()
        self._page = 0
        self._breaks = 0  # page breaks within the block that is being read
        self._referenced: dict[str, list[str]] = {notes: [] for notes in _NOTES.values()}

    def read(self, root: Element) -> None:
        """Add the text of a part."""
        if (
            next(root.iter(f"{root.tag.rpartition('}')[0]}}}lastRenderedPageBreak"), None)
            is not None
        ):
            self._turn_page()
        for element, closing in walk(root, skip=NOT_TEXT):
            name = local_name(element)
            if closing:
                self._close(name)
            else:
                self._open(name, element)

    def add_notes(self, root: Element, notes: str) -> None:
        """Add the notes that the text refers to, in the order of its references."""
        by_id = {attribute(note, "id"): note for note in root}
        for id_ in self._referenced[notes]:
            if (note := by_id.get(id_)) is not None:
                parts = (e.text or "" for e in note.iter() if local_name(e) == "t")
                self.text.add(f"[{id_}] {''.join(parts).strip()}")

    def _open(self, name: str, element: Element) -> None:
        if name == "p":
            self._paragraphs.append(_Paragraph(self._style_of(element)))
        elif name == "tbl":
            self._tables.open_table()
        elif name == "tr":
            self._tables.open_row()
        elif name == "tc":
            self._tables.open_cell()
        elif name == "lastRenderedPageBreak":
            self._break_page()
        elif self._paragraphs:
            self._add_run(name, element)

    def _add_run(self, name: str, element: Element) -> None:
        parts = self._paragraphs[-1].parts
        if name == "t":
            parts.append(element.text or "")
        elif name in _SPACES and attribute(element, "type") not in ("page", "column"):
            parts.append(_SPACES[name])
        elif name in _NOTES:
            id_ = attribute(element, "id")
            self._referenced[_NOTES[name]].append(id_)
            parts.append(f"[{id_}]")

    def _close(self, name: str) -> None:
        if name == "p" and self._paragraphs:
            self._add_paragraph(self._paragraphs.pop())
        elif name == "tbl":
            self._tables.close_table(self.text)
        else:
            return
        while self._breaks and not self._tables and not self._paragraphs:
            self._breaks -= 1
            self._turn_page()

    def _add_paragraph(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.parts)
        style = paragraph.style
        if self._tables:
            self._tables.add(text)
        elif style.level is not None and style.level < _BODY_LEVEL:
            self.text.add_heading(text, level=style.level + 1)
        elif style.is_list:
            self.text.add(f"- {text}" if text.strip() else "", gap="\n")
        else:
            self.text.add(text)
            if style.is_title and not self.title:
                self.title = " ".join(text.split())

    def _break_page(self) -> None:
        inside = self._tables or any("".join(p.parts).strip() for p in self._paragraphs)
        if inside:
            self._breaks += 1
        else:
            self._turn_page()

    def _turn_page(self) -> None:
        self._page += 1
        self.text.begin("page", str(self._page))

    def _style_of(self, paragraph: Element) -> _Style:
        if (own := find(paragraph, "pPr")) is None:
            return self._styles.get("", _Style())
        named = find(own, "pStyle")
        style = self._styles.get(attribute(named, "val") if named is not None else "", _Style())
        return _with_properties(style, own)


def _with_properties(style: _Style, own: Element) -> _Style:
    """Return a style with what paragraph properties set over it."""
    level, is_list = style.level, style.is_list
    if (outline := find(own, "outlineLvl")) is not None:
        level = number(attribute(outline, "val"), default=_BODY_LEVEL)
    if (numbered := find(own, "numPr", "numId")) is not None:
        is_list = attribute(numbered, "val") != "0"
    return _Style(level, is_list, style.is_title)


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
        named = find(element, "name")
        name = attribute(named, "val").lower() if named is not None else ""
        if name.startswith("heading ") and name[8:].isdecimal():
            style = _Style(number(name[8:]) - 1, style.is_list)
        elif name == "title":
            style = _Style(style.level, style.is_list, is_title=True)
        if (own := find(element, "pPr")) is not None:
            style = _with_properties(style, own)
    return style
