"""Links, definitions and captions of an HTML page, which its text does not tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.html import decode_page, parse_page

# Elements before which a text pauses: a definition's first one is its first paragraph.
_BLOCKS = frozenset(("p", "div", "ul", "ol", "dl", "pre", "table", "blockquote", "section"))
# Links to the pages around a page, and marks that link into it.
_NAVIGATION = frozenset(("next", "prev", "up", "home", "start", "contents", "index", "bookmark"))
_PILCROW = "\u00b6"


@dataclass(frozen=True, slots=True)
class PageStructure:
    """Parts of a page, in order, each text on one line.

    `links` are (text, address as it is written), `definitions` are (term, first paragraph),
    `captions` are (caption, text of the table).
    """

    links: tuple[tuple[str, str], ...]
    definitions: tuple[tuple[str, str], ...]
    captions: tuple[tuple[str, str], ...]


def read_page_structure(data: bytes) -> PageStructure:
    """Return the structure of a page."""
    parser = parse_page(decode_page(data).text)
    return PageStructure(
        tuple(_links(parser)), tuple(_definitions(parser)), tuple(_captions(parser))
    )


def _links(parser: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in parser.css("a[href]"):
        relations = (node.attributes.get("rel") or "").lower().split()
        accesskey = node.attributes.get("accesskey")
        text = _text(node)
        if text and not accesskey and _NAVIGATION.isdisjoint(relations):
            yield text, node.attributes.get("href") or ""


def _definitions(parser: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in parser.css("dt"):
        answer = node.next
        while answer is not None and answer.tag != "dd":
            # Of several terms of one definition each is asked by itself.
            answer = answer.next if answer.tag in ("dt", "-text", "-comment") else None
        if answer is not None:
            yield _text(node), _first_block(answer)


def _captions(parser: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for node in parser.css("table > caption"):
        rows = (_text(row) for row in node.parent.css("tr")) if node.parent else ()
        yield _text(node), " ".join(row for row in rows if row)


def _first_block(node: LexborNode) -> str:
    """Return the text up to the second block of an element."""
    parts: list[str] = []
    for child in node.iter(include_text=True):
        if child.tag in _BLOCKS:
            if not "".join(parts).strip():
                return _first_block(child)
            break
        parts.append(child.text(deep=True) or "")
    return squeeze("".join(parts))


def _text(node: LexborNode) -> str:
    return squeeze(node.text(deep=True).replace(_PILCROW, ""))
