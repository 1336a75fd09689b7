"""Text that a reader has extracted as HTML: its headings, paragraphs, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from crx_serve.page.markup_writer import MarkupWriter

_BULLET = re.compile(r"\s*(?:[-•*‣▪]|\d{1,3}[.)])\s+")


class TextLine(NamedTuple):
    """A line, with its level if it is a heading, and whether it is of the span.

    `divider` names the page, slide or chapter that begins with it, or is "".
    """

    text: str
    level: int
    is_span: bool
    divider: str


def render_text(lines: Sequence[TextLine], *, terms: set[str]) -> Markup:
    """Return lines as HTML."""
    writer = MarkupWriter(terms)
    for kind, block in _blocks(lines):
        if kind == "table":
            _write_table(block, writer)
        elif kind == "list":
            _write_list(block, writer)
        elif kind == "heading":
            _write_line(block[0], writer, element=f"h{min(6, block[0].level + 1)}")
        elif kind == "divider":
            writer.start("p", css="divider")
            writer.text(block[0].divider)
            writer.end()
        else:
            _write_paragraph(block, writer)
    return writer.finish()


def _blocks(lines: Sequence[TextLine]) -> Iterator[tuple[str, list[TextLine]]]:
    """Yield runs of lines of one kind; a blank line ends a paragraph."""
    shown = [part for line in lines for part in _split_divider(line)]
    for kind, run in groupby(shown, key=_kind):
        if kind in ("heading", "divider"):
            yield from ((kind, [line]) for line in run)
        elif kind != "blank":
            yield kind, list(run)


def _split_divider(line: TextLine) -> Iterator[TextLine]:
    if line.divider:
        yield line._replace(text="", level=0, is_span=False)
    yield line._replace(divider="")


def _kind(line: TextLine) -> str:
    if line.divider:
        return "divider"
    if not line.text.strip():
        return "blank"
    if line.level:
        return "heading"
    if "\t" in line.text.strip():
        return "table"
    return "list" if _BULLET.match(line.text) else "paragraph"


def _write_table(rows: Sequence[TextLine], writer: MarkupWriter) -> None:
    writer.start("div", css="wide")
    writer.start("table")
    for row in rows:
        writer.start("tr", is_span=row.is_span)
        writer.marks_words = row.is_span
        for cell in row.text.split("\t"):
            writer.start("td")
            writer.text(cell)
            writer.end()
        writer.marks_words = False
        writer.end()
    writer.end()
    writer.end()


def _write_list(items: Sequence[TextLine], writer: MarkupWriter) -> None:
    writer.start("ul", css="plain")
    for item in items:
        _write_line(item, writer, element="li")
    writer.end()


def _write_line(line: TextLine, writer: MarkupWriter, *, element: str) -> None:
    writer.start(element, is_span=line.is_span)
    writer.marks_words = line.is_span
    writer.text(line.text.strip())
    writer.marks_words = False
    writer.end()


def _write_paragraph(lines: Sequence[TextLine], writer: MarkupWriter) -> None:
    """Write lines as one paragraph that keeps their ends, those of the span apart."""
    writer.start("p", css="lines")
    for is_span, run in groupby(lines, key=lambda line: line.is_span):
        writer.start("span", css="run", is_span=is_span)
        writer.marks_words = is_span
        writer.text("\n".join(line.text for line in run))
        writer.marks_words = False
        writer.end()
    writer.end()
