"""What the formats of Office Open XML (ECMA-376) have in common: relationships and properties."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from crx.ingest.readers.archive import Archive
from crx.ingest.readers.file_title import squeeze, written_title
from crx.ingest.readers.xml_walk import all_text, attribute, children, local_name
from crx.types import Scalar

# Elements that are not part of the text: deletions that are tracked, fallbacks that repeat it.
NOT_TEXT = frozenset(("del", "moveFrom", "Fallback", "instrText", "delText"))
_PROPERTIES = {"creator": "author", "keywords": "keywords", "description": "description"}


@dataclass(frozen=True, slots=True)
class Relationship:
    """A link from one part to another: its id, the last word of its type, and the path."""

    id: str
    type: str
    path: str


def relationships(archive: Archive, part: str) -> list[Relationship]:
    """Return the links of a part to other parts of the archive; "" is the archive itself."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in archive:
        return []
    return [
        Relationship(
            attribute(link, "Id"),
            attribute(link, "Type").rpartition("/")[2],
            posixpath.normpath(posixpath.join("/", folder, attribute(link, "Target"))).lstrip("/"),
        )
        for link in children(archive.read_xml(path), "Relationship")
        if attribute(link, "TargetMode") != "External"
    ]


def related(archive: Archive, part: str, type_: str) -> str:
    """Return the path of the first part of a type that a part links to, or ""."""
    links = relationships(archive, part)
    return next((link.path for link in links if link.type == type_), "")


def properties(archive: Archive) -> tuple[str, dict[str, Scalar | list[Scalar]]]:
    """Return the title that the document's properties give, and its metadata."""
    path = related(archive, "", "core-properties")
    if path not in archive:
        return "", {}
    title, metadata = "", dict[str, Scalar | list[Scalar]]()
    for element in archive.read_xml(path):
        name, value = local_name(element), all_text(element)
        if name == "title":
            title = written_title(value)
        elif name == "modified" and value:
            metadata["date"] = value[:10]
        elif name in _PROPERTIES and value:
            metadata[_PROPERTIES[name]] = squeeze(value)
    return title, metadata
