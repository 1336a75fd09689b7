"""Links, definitions and captions of an HTML page, which its text does not tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.html import Element, Page, decode_page, parse_page

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
    page = parse_page(decode_page(data).text)
    return PageStructure(tuple(_links(page)), tuple(_definitions(page)), tuple(_captions(page)))


def _links(page: Page) -> Iterator[tuple[str, str]]:
    for node in page.css("a[href]"):
        relations = (node.attributes.get("rel") or "").lower().split()
        accesskey = node.attributes.get("accesskey")
        text = _text(node)
        if text and not accesskey and _NAVIGATION.isdisjoint(relations):
            yield text, node.attributes.get("href") or ""


def _definitions(page: Page) -> Iterator[tuple[str, str]]:
    for node in page.css("dt"):
        answer = node.next
        while answer is not None and answer.tag != "dd":
            # Of several terms of one definition each is asked by itself.
            answer = answer.next if answer.tag in ("dt", "-text", "-comment") else None
        if answer is not None:
            yield _text(node), _first_block(answer)


def _captions(page: Page) -> Iterator[tuple[str, str]]:
    for node in page.css("table > caption"):
        rows = (_text(row) for row in node.parent.css("tr")) if node.parent else ()
        yield _text(node), " ".join(row for row in rows if row)


def _first_block(node: Element) -> str:
    """Return the text up to the second block of an element."""
    parts: list[str] = []
    for child in node.iter(include_text=True):
        if child.tag in _BLOCKS:
            if not "".join(parts).strip():
                return _first_block(child)
            break
        parts.append(child.text(deep=True) or "")
    return squeeze("".join(parts))


def _text(node: Element) -> str:
    return squeeze(node.text(deep=True).replace(_PILCROW, ""))
