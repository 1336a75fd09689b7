"""Reader of XML: the text of documents (DocBook, TEI, feeds, FictionBook), other XML as written.

A file is a document if its root is that of a known format, or if half of its letters are in running
text; it is data otherwise: there the names of elements and attributes are what people search. An
element beside a text is part of its line; each other one with text is a line of its own, under the
titles of its sections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from xml.etree.ElementTree import Element

from crx.errors import InputError
from crx.ingest.readers import text as plain_text
from crx.ingest.readers.data_runs import without_data
from crx.ingest.readers.decode import decode
from crx.ingest.readers.html import read_page
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.readers.xml_package import all_text, local_name, parse_xml, walk
from crx.types import Document

extensions = (".xml", ".docbook", ".dbk", ".tei", ".dita", ".rss", ".atom", ".fb2", ".enex")

# Words of a running text at least; a value of data has fewer.
_RUNNING_WORDS = 4
_RUNNING_SHARE = 2
_TITLES = frozenset(("title", "head", "ti"))
# Titles of a whole document in FictionBook and JATS.
_OWN_TITLES = frozenset(("book-title", "article-title"))
_DOCUMENTS = frozenset(
    ("FictionBook", "en-export", "rss", "feed", "book", "article", "wordDocument")
)
# What the opening of such a file has, which is quicker to tell than its root.
_DOCUMENT = re.compile(rf"<(?:\w+:)?(?:{'|'.join(sorted(_DOCUMENTS))})[\s>]")
_OPENING = 2_000
# Pictures in FictionBook and in Word.
_BINARY = frozenset(("binary", "binData"))
# Attributes that name a text, such as a message of a program.
_NAMES = ("name", "key")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_LETTERS = re.compile(r"[^\W\d_]+")
# Pictures of a book or of a note.
_ENCODED = re.compile(r">[A-Za-z0-9+/=\n]{400,}<")
_NO_LETTERS = bytes(byte for byte in range(128) if not chr(byte).isalpha())
_TAG = re.compile(r"<[/?]?\w[^<>]*>")
_MARKUP = re.compile(r"</\w+>|<br ?/?>|&#?\w{1,9};")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the text of a document, or other XML as it is written."""
    decoded = decode(data)
    written = _ENCODED.sub("><", decoded.text)
    may_be = _DOCUMENT.search(written[:_OPENING]) or _may_be_document(written)
    root = _parse(written) if may_be else None
    builder = TextBuilder()
    if root is not None and (local_name(root) in _DOCUMENTS or _is_document(root, written)):
        _add_blocks(builder, root)
    if root is None or not builder:
        text = without_data(decoded.text, name=name)
        yield Document(uri=name, text=text, metadata={**decoded.metadata(), "format": "text"})
        return
    own = (all_text(element) for element in root.iter() if local_name(element) in _OWN_TITLES)
    yield builder.build(name, title=next(own, ""), metadata={**decoded.metadata(), "format": "xml"})


def _may_be_document(written: str) -> bool:
    """Return False if most letters are within tags, which is quick to tell outside CDATA."""
    if "<![CDATA[" in written:
        return True
    outside = _bytes_of_letters(_TAG.sub(" ", written))
    return outside * _RUNNING_SHARE >= _bytes_of_letters(written)


def _bytes_of_letters(text: str) -> int:
    return len(text.encode("utf-8").translate(None, _NO_LETTERS))


def _letters(text: str) -> int:
    return sum(map(len, _LETTERS.findall(text)))


def _parse(text: str) -> Element | None:
    """Return the root, None for what is not well-formed, has entities, or is large."""
    if len(text) > plain_text.LARGEST:  # data, whose tree would take too much memory
        return None
    try:
        root = parse_xml(_DECLARATION.sub("", text).encode(), part="the file")
    except InputError:
        return None
    for element in list(root.iter()):
        if local_name(element) in _BINARY or element.get("encoding") == "base64":
            element.clear()
    return root


def _is_document(root: Element, written: str) -> bool:
    running = sum(
        _letters(text)
        for element in _blocks(root)
        if len((text := all_text(element)).split()) >= _RUNNING_WORDS
    )
    return running > 0 and running * _RUNNING_SHARE >= _letters(written)


def _blocks(root: Element) -> Iterator[Element]:
    """Yield the elements with a text of their own, and paragraphs, without those within one."""
    stack = [root]
    while stack:
        element = stack.pop()
        if _is_block(element):
            yield element
        else:
            stack.extend(reversed(element))


def _is_block(element: Element) -> bool:
    if local_name(element) == "p" or local_name(element) in _TITLES:
        return any(text.strip() for text in element.itertext())
    return _has_text(element)


def _has_text(element: Element) -> bool:
    texts = (element.text, *(child.tail for child in element))
    return bool(local_name(element)) and any(text and text.strip() for text in texts)


def _add_blocks(builder: TextBuilder, root: Element) -> None:
    """Add each block as a line, titles as headings of the depth of their sections."""
    titled: list[Element] = []  # the open elements that have a title
    inside: Element | None = None
    for element, closing in walk(root):
        if closing:
            inside = None if element is inside else inside
            if titled and titled[-1] is element:
                titled.pop()
        elif inside is None and _is_block(element):
            inside = element
            _add_block(builder, element, level=len(titled))
        elif any(local_name(child) in _TITLES for child in element):
            titled.append(element)


def _add_block(builder: TextBuilder, element: Element, *, level: int) -> None:
    text = all_text(element)
    if local_name(element) in _TITLES:
        if not _has_text(element):  # it has paragraphs
            text = " ".join(map(all_text, element))
        builder.add_heading(unescape(text), level=min(max(level, 1), 6))
    elif _MARKUP.search(text):  # the text of a feed is a page
        page = read_page(text.encode())
        builder.add_part(page.text, page.headings)
    else:
        label = next((element.attrib[key] for key in _NAMES if key in element.attrib), "")
        builder.add(f"{label}: {text}" if label else text)
