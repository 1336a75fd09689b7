"""Reader of EPUB books: the text of their chapters in reading order.

A chapter is a page of the book's spine; its text and headings are those that the reader of HTML
finds. Its label is the title in the table of contents, else its first heading, else its number. The
page of the table of contents itself is left out, and a chapter that cannot be read is.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote, urldefrag
from xml.etree.ElementTree import Element

from crx.errors import InputError, NothingToRead, NotText
from crx.ingest.readers import html
from crx.ingest.readers.file_title import squeeze, written_title
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.readers.xml_package import Archive, all_text, attribute, children, find, local_name
from crx.types import Document, Scalar

extensions = (".epub",)

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")  # a spine may have them
_METADATA = {"creator": "author", "description": "description"}


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the book's text with its chapters and headings."""
    archive = Archive(data)
    package = _package_path(archive)
    root = archive.read_xml(package)
    items = _items(root, posixpath.dirname(package))
    chapters = [items[id_] for id_ in _spine(root) if id_ in items]
    left_out = LeftOut()
    _refuse_protected(archive, chapters)
    none: Mapping[str, str] = {}
    labels = left_out.attempt(
        "table of contents", lambda: _contents(archive, items.values()), plain=none
    )
    text = TextBuilder()
    for number, chapter in enumerate(chapters, start=1):
        if "nav" not in chapter.roles and not chapter.type.startswith(_PICTURES):
            label = labels.get(chapter.path, "")
            add = partial(_add_chapter, text, archive, chapter.path, label=label, number=number)
            left_out.attempt(f"chapter {number}", add, plain=None)
    if not text:
        if left_out:
            raise InputError(left_out.lines()[0])
        raise NothingToRead("has no text")
    title, lang, metadata = _properties(root)
    metadata = {**metadata, **left_out.metadata(), "format": "epub"}
    yield text.build(name, title=title, lang=lang, metadata=metadata)


@dataclass(frozen=True, slots=True)
class _Item:
    """A part that the package lists: its path, its media type and its roles."""

    path: str
    type: str
    roles: tuple[str, ...]


def _package_path(archive: Archive) -> str:
    file = find(archive.read_xml(_CONTAINER), "rootfiles", "rootfile")
    path = attribute(file, "full-path") if file is not None else ""
    if not path:
        raise InputError("is damaged: its container names no package")
    return path


def _items(root: Element, folder: str) -> dict[str, _Item]:
    manifest = find(root, "manifest")
    return {
        attribute(item, "id"): _Item(
            _resolve(folder, attribute(item, "href")),
            attribute(item, "media-type"),
            tuple(attribute(item, "properties").split()),
        )
        for item in (() if manifest is None else children(manifest, "item"))
    }


def _spine(root: Element) -> list[str]:
    spine = find(root, "spine")
    return [attribute(item, "idref") for item in (() if spine is None else spine)]


def _refuse_protected(archive: Archive, chapters: Iterable[_Item]) -> None:
    """Raise `InputError` if a chapter is encrypted; fonts may be."""
    if _ENCRYPTION not in archive:
        return
    encrypted = {
        unquote(attribute(element, "URI"))
        for element in archive.read_xml(_ENCRYPTION).iter()
        if local_name(element) == "CipherReference"
    }
    if any(chapter.path in encrypted for chapter in chapters):
        raise InputError("is protected (DRM); only its publisher's programs can read it")


def _contents(archive: Archive, items: Iterable[_Item]) -> Mapping[str, str]:
    """Return the titles of the table of contents by path: the first of each chapter."""
    titles: dict[str, str] = {}
    for item in items:
        if item.path not in archive:
            continue
        folder = posixpath.dirname(item.path)
        if item.type == "application/x-dtbncx+xml":
            links = _ncx_links(archive.read_xml(item.path))
        elif "nav" in item.roles:
            root = archive.read_xml(item.path)
            anchors = (e for e in root.iter() if local_name(e) == "a")
            links = [(attribute(a, "href"), all_text(a)) for a in anchors]
        else:
            continue
        for target, title in links:
            if title:
                titles.setdefault(_resolve(folder, target), title)
    return titles


def _ncx_links(root: Element) -> list[tuple[str, str]]:
    links = []
    for point in (element for element in root.iter() if local_name(element) == "navPoint"):
        label, content = find(point, "navLabel"), find(point, "content")
        if label is not None and content is not None:
            links.append((attribute(content, "src"), all_text(label)))
    return links


def _add_chapter(
    text: TextBuilder, archive: Archive, path: str, *, label: str, number: int
) -> None:
    try:
        page = html.read_page(html.close_empty(archive.read(path)))
    except NotText as failed:
        raise InputError(f"is damaged: chapter {number} {failed}") from failed
    first = page.headings[0].label if page.headings else ""
    text.begin("chapter", squeeze(label) or first or str(number))
    text.add_part(page.text, page.headings)


def _properties(root: Element) -> tuple[str, str, dict[str, Scalar | list[Scalar]]]:
    """Return the title, the language as ISO 639-1, and the metadata."""
    found: dict[str, str] = {}
    for element in find(root, "metadata") or ():
        if value := squeeze(all_text(element)):
            found.setdefault(local_name(element), value)
    metadata: dict[str, Scalar | list[Scalar]] = {
        name: found[key] for key, name in _METADATA.items() if key in found
    }
    if "date" in found:
        metadata["date"] = found["date"][:10]
    lang = found.get("language", "").lower().partition("-")[0]
    return written_title(found.get("title", "")), lang if len(lang) == 2 else "", metadata


def _resolve(folder: str, target: str) -> str:
    """Return the path in the archive that a link leads to."""
    return posixpath.normpath(posixpath.join(folder, unquote(urldefrag(target)[0])))
