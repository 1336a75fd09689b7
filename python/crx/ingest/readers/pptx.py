"""Reader of PowerPoint presentations (Office Open XML): the text of each slide, and its notes.

A slide's title is a heading; its other shapes follow in their order, a paragraph a line with its
automatic number, then the descriptions of its pictures, its charts and diagrams. Dates, footers and
slide numbers, which repeat on every slide, are left out. Each slide is a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from xml.etree.ElementTree import Element

from crx.errors import InputError, NothingToRead
from crx.ingest.readers.drawings import description, linked_lines
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.list_numbers import format_count
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.readers.xml_package import (
    NOT_TEXT,
    Archive,
    Relationship,
    attribute,
    find,
    local_name,
    number,
    properties,
    related,
    relationships,
    walk,
)
from crx.types import Document, Scalar

extensions = (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm")

_MAIN = "ppt/presentation.xml"
_TITLES = frozenset(("title", "ctrTitle"))
_REPEATED = frozenset(("dt", "ftr", "hdr", "sldNum", "sldImg"))
_NOTES = "notesSlide"  # the type of the link to them
_AUTO_NUMBERS = {
    "alphaLc": "lowerLetter", "alphaUc": "upperLetter",
    "romanLc": "lowerRoman", "romanUc": "upperRoman",
}  # fmt: skip
_AROUND = {"Period": "%s.", "ParenR": "%s)", "ParenBoth": "(%s)"}
_SHAPES = frozenset(("sp", "graphicFrame"))


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the presentation's text with its slides and their titles."""
    archive = Archive(data)
    text = TextBuilder()
    slides = _slides(archive, related(archive, "", "officeDocument") or _MAIN)
    left_out = LeftOut()
    for ordinal, path in enumerate(slides, start=1):
        text.begin("slide", str(ordinal))
        add = partial(_add_slide, archive, path, text, left_out, ordinal)
        left_out.attempt(f"slide {ordinal}", add, plain=None)
    if not text:
        if left_out:
            raise InputError(left_out.lines()[0])
        raise NothingToRead("has no text")
    nothing: tuple[str, dict[str, Scalar | list[Scalar]]] = ("", {})
    title, metadata = left_out.attempt("properties", partial(properties, archive), plain=nothing)
    metadata = {**metadata, **left_out.metadata(), "slides": len(slides), "format": "pptx"}
    yield text.build(name, title=title, metadata=metadata)


def _slides(archive: Archive, part: str) -> list[str]:
    """Return the paths of the slides in the order of the presentation."""
    paths = {link.id: link.path for link in relationships(archive, part) if link.type == "slide"}
    listed = find(archive.read_xml(part), "sldIdLst")
    found = [] if listed is None else list(listed)
    # A slide also has a number as its `id`; the link is in the namespace of relationships.
    ids = (value for slide in found for key, value in slide.attrib.items() if key.endswith("}id"))
    return [paths[id_] for id_ in ids if id_ in paths]


def _add_slide(
    archive: Archive, path: str, text: TextBuilder, left_out: LeftOut, ordinal: int
) -> None:
    root = archive.read_xml(path)
    for shape in sorted(_shapes(root), key=lambda shape: _placeholder(shape) not in _TITLES):
        kind = _placeholder(shape)
        if kind in _TITLES:
            text.add_heading(" ".join(_lines(shape)), level=1)
        elif (table := next((e for e in shape.iter() if local_name(e) == "tbl"), None)) is not None:
            text.add_table([[" ".join(_lines(cell)) for cell in row] for row in _rows(table)])
        elif kind not in _REPEATED:
            text.add("\n".join(_lines(shape)))
    text.add("\n".join(filter(None, map(description, root.iter()))))
    for link in sorted(relationships(archive, path), key=lambda link: link.type == _NOTES):
        add = partial(_add_linked, archive, link, text)
        left_out.attempt(f"{link.type} of slide {ordinal}", add, plain=None)


def _add_linked(archive: Archive, link: Relationship, text: TextBuilder) -> None:
    """Add the text of a chart or a diagram, or the notes on the slide."""
    if link.type == _NOTES:
        notes = _shapes(archive.read_xml(link.path))
        lines = [line for s in notes if _placeholder(s) == "body" for line in _lines(s)]
        text.add("Notes: " + "\n".join(lines) if lines else "")
    else:
        text.add("\n".join(linked_lines(archive, link.type, link.path)))


def _shapes(slide: Element) -> Iterator[Element]:
    """Yield the shapes of a slide, those of groups included."""
    depth = 0
    for element, closing in walk(slide, skip=NOT_TEXT):
        if local_name(element) not in _SHAPES:
            continue
        depth -= closing
        if not closing and not depth:
            yield element
        depth += not closing


def _placeholder(shape: Element) -> str:
    """Return the type of the placeholder that a shape fills, or ""."""
    for element in shape:
        if (filled := find(element, "nvPr", "ph")) is not None:
            return attribute(filled, "type") or "body"
    return ""


def _lines(shape: Element) -> list[str]:
    """Return the paragraphs of a shape that have text."""
    lines: list[str] = []
    counts: dict[tuple[int, str, int], int] = {}
    for element, closing in walk(shape, skip=NOT_TEXT):
        name = local_name(element)
        if closing:
            continue
        if name == "p" or not lines:
            lines.append("")
        if name == "p":
            lines[-1] = _auto_number(element, counts)
        elif name == "t":
            lines[-1] += element.text or ""
        elif name in ("br", "tab"):
            lines[-1] += " " if name == "br" else "\t"
    return [line.strip() for line in lines if line.strip()]


def _auto_number(paragraph: Element, counts: dict[tuple[int, str, int], int]) -> str:
    """Return the automatic number of a paragraph with text, given the counts of the open lists.

    A list has a level, a format and a first number; a paragraph that is not deeper and not of it
    ends it.
    """
    own = find(paragraph, "pPr")
    level = 0 if own is None else number(attribute(own, "lvl"))
    auto = None if own is None else find(own, "buAutoNum")
    if not any(local_name(element) == "t" for element in paragraph.iter()):
        return ""
    start = 1 if auto is None else number(attribute(auto, "startAt"), default=1)
    own_list = (level, "" if auto is None else attribute(auto, "type"), start)
    for ended in [each for each in counts if each[0] >= level and each != own_list]:
        del counts[ended]
    if auto is None:
        return ""
    counts[own_list] = counts.get(own_list, start - 1) + 1
    kind = re.split("(?=P)", own_list[1])  # such as alphaLcParenR
    shown = format_count(counts[own_list], _AUTO_NUMBERS.get(kind[0], "decimal"))
    return _AROUND.get(kind[-1], "%s") % shown + " "


def _rows(table: Element) -> Iterator[list[Element]]:
    for row in (element for element in table if local_name(element) == "tr"):
        yield [cell for cell in row if local_name(cell) == "tc"]
