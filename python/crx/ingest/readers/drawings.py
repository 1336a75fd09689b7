"""Texts of DrawingML: those of shapes, charts and diagrams, and the descriptions of pictures."""

from __future__ import annotations

import re
from collections.abc import Container
from xml.etree.ElementTree import Element

from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.xml_package import (
    NOT_TEXT,
    Archive,
    attribute,
    local_name,
    relationships,
)

_SPACES = {"br": " ", "cr": " ", "tab": "\t", "ptab": "\t", "noBreakHyphen": "-"}
_DESCRIBED = frozenset(("cNvPr", "docPr"))
# What programs write as the description of a picture: the name of its file, and who wrote it.
_FILE_NAME = re.compile(r"\S+\.\w{2,4}|(?i:https?|file):\S+|(?i:[a-z]):\\.*")
_GENERATED = re.compile(r"\s*Description automatically generated.*", re.DOTALL)


def drawing_lines(archive: Archive, part: str) -> list[str]:
    """Return the texts of a drawing part, then those of its charts and diagrams."""
    root = archive.read_xml(part)
    lines = paragraphs(root)
    lines += [text for element in root.iter() if (text := description(element))]
    for link in relationships(archive, part):
        lines += linked_lines(archive, link.type, link.path)
    return lines


def linked_lines(archive: Archive, type_: str, path: str) -> list[str]:
    """Return the texts of the part that a link of this type leads to: a chart or a diagram."""
    if path not in archive:
        return []
    if type_ == "diagramData":
        return paragraphs(archive.read_xml(path))
    return _chart_lines(archive.read_xml(path)) if type_ in ("chart", "chartEx") else []


def _chart_lines(chart: Element) -> list[str]:
    """Return the titles of a chart, and the names of its series and categories, each once."""
    names = [
        squeeze(value.text or "")
        for cache in chart.iter()
        if local_name(cache) in ("tx", "strCache", "strLit", "multiLvlStrCache", "strDim", "txData")
        for value in cache.iter()
        if local_name(value) in ("v", "pt")
    ]
    return [*dict.fromkeys(line for line in (*paragraphs(chart), *names) if line)]


def paragraphs(root: Element, *, skip: Container[str] = NOT_TEXT) -> list[str]:
    """Return the paragraphs that have text, each as a line."""
    lines: list[str] = []
    stack = [root]
    while stack:
        element = stack.pop()
        name = local_name(element)
        if name in skip and element is not root:
            continue
        stack.extend(reversed(element))
        if name == "p":
            lines.append("")
        elif lines and (name in _SPACES or name == "t"):
            lines[-1] += _SPACES.get(name) or element.text or ""
    return [line.strip() for line in lines if line.strip()]


def description(element: Element) -> str:
    """Return the alternative text that an element gives for a picture or shape, or ""."""
    if local_name(element) not in _DESCRIBED:
        return ""
    return plain_description(attribute(element, "descr") or attribute(element, "title"))


def plain_description(written: str) -> str:
    """Return an alternative text as one line, "" for what programs write of themselves."""
    text = squeeze(_GENERATED.sub("", written))
    return "" if _FILE_NAME.fullmatch(text) else text
