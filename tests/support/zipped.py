"""Documents that are ZIP archives of XML, made part by part, and damaged copies of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

_OFFICE = "http://schemas.openxmlformats.org"
_RELS = f"{_OFFICE}/package/2006/relationships"
_TYPE = f"{_OFFICE}/officeDocument/2006/relationships"
WORD = f'xmlns:w="{_OFFICE}/wordprocessingml/2006/main"'
SLIDE = (
    f'xmlns:p="{_OFFICE}/presentationml/2006/main" xmlns:a="{_OFFICE}/drawingml/2006/main" '
    f'xmlns:r="{_TYPE}"'
)


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """Return an archive of parts."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for path, content in parts.items():
            archive.writestr(path, content)
    return file.getvalue()


def zipped_with(data: bytes, changes: Mapping[str, Callable[[str], str | bytes]]) -> bytes:
    """Return an archive with parts made from their old text, "" for one that was not there."""
    with ZipFile(BytesIO(data)) as archive:
        parts: dict[str, str | bytes] = {path: archive.read(path) for path in archive.namelist()}
    for path, change in changes.items():
        old = parts.get(path, "")
        parts[path] = change(old.decode() if isinstance(old, bytes) else old)
    return zipped(parts)


def links(**targets: str) -> str:
    """Return relationships by id: "r1='slide slides/slide1.xml'" is a type and a target."""
    found = (
        f'<Relationship Id="{id_}" Type="{_TYPE}/{link.split()[0]}" Target="{link.split()[1]}"/>'
        for id_, link in targets.items()
    )
    return f'<Relationships xmlns="{_RELS}">{"".join(found)}</Relationships>'


def core(*, title: str) -> str:
    """Return the properties of an Office Open XML document."""
    return (
        f'<c:coreProperties xmlns:c="{_OFFICE}/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:t="http://purl.org/dc/terms/">'
        f"<dc:title>{title}</dc:title><dc:creator>Ann</dc:creator>"
        "<t:modified>2024-05-01T10:00:00Z</t:modified></c:coreProperties>"
    )


def docx(body: str, *, title: str = "", styles: str = "", notes: str = "") -> bytes:
    """Return a Word document of a body, the properties, styles and footnotes."""
    document = f"<w:document {WORD}><w:body>{body}</w:body></w:document>"
    return zipped({
        "_rels/.rels": links(
            a="officeDocument word/document.xml", b="core-properties docProps/core.xml"
        ),
        "docProps/core.xml": core(title=title),
        "word/_rels/document.xml.rels": links(s="styles styles.xml", f="footnotes footnotes.xml"),
        "word/styles.xml": f"<w:styles {WORD}>{styles}</w:styles>",
        "word/footnotes.xml": f"<w:footnotes {WORD}>{notes}</w:footnotes>",
        "word/document.xml": document,
    })  # fmt: skip


def pptx(slides: Mapping[str, str], *, notes: Mapping[str, str], title: str = "") -> bytes:
    """Return a presentation of shapes by the number of their slide's file, in that order."""
    ids = {f"r{n}": f"slide slides/slide{n}.xml" for n in sorted(slides)}
    listed = "".join(f'<p:sldId id="{256 + int(n)}" r:id="r{n}"/>' for n in slides)
    parts = {
        "_rels/.rels": links(
            a="officeDocument ppt/presentation.xml", b="core-properties docProps/core.xml"
        ),
        "docProps/core.xml": core(title=title),
        "ppt/_rels/presentation.xml.rels": links(**ids),
        "ppt/presentation.xml": (
            f"<p:presentation {SLIDE}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
        ),
    }
    for n, shapes in slides.items():
        parts[f"ppt/slides/slide{n}.xml"] = _slide(shapes)
    for n, shapes in notes.items():
        parts[f"ppt/slides/_rels/slide{n}.xml.rels"] = links(n="notesSlide ../notesSlides/n.xml")
        parts["ppt/notesSlides/n.xml"] = _slide(shapes)
    return zipped(parts)


def shape(*paragraphs: str, placeholder: str = "") -> str:
    """Return a shape of a slide, with a paragraph a line."""
    kind = f'<p:ph type="{placeholder}"/>' if placeholder else ""
    lines = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in paragraphs)
    return f"<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:txBody>{lines}</p:txBody></p:sp>"


def _slide(shapes: str) -> str:
    return f"<p:sld {SLIDE}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"


def odf(body: str, *, title: str = "", styles: str = "", mimetype: str = "") -> bytes:
    """Return an OpenDocument file of a body, with a title in its properties."""
    namespaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw", "presentation", "style", "meta")
    )
    properties = f'<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</dc:title>'
    return zipped({
        **({"mimetype": mimetype, "META-INF/manifest.xml": "<manifest/>"} if mimetype else {}),
        "meta.xml": f"<office:d {namespaces}><office:meta>{properties}</office:meta></office:d>",
        "content.xml": (
            f"<office:d {namespaces}><office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body>{body}</office:body></office:d>"
        ),
    })  # fmt: skip


def epub(pages: Mapping[str, str], *, titles: Mapping[str, str], title: str = "") -> bytes:
    """Return a book of pages in the order of its spine, with a table of contents for some."""
    items = "".join(
        f'<item id="i{n}" href="{path}" media-type="application/xhtml+xml"/>'
        for n, path in enumerate(sorted(pages))
    )
    refs = "".join(f'<itemref idref="i{sorted(pages).index(path)}"/>' for path in pages)
    points = "".join(
        f"<navPoint><navLabel><text>{label}</text></navLabel><content src='{path}#top'/></navPoint>"
        for path, label in titles.items()
    )
    return zipped({
        "META-INF/container.xml": (
            "<container><rootfiles><rootfile full-path='OPS/book.opf'/></rootfiles></container>"
        ),
        "OPS/book.opf": (
            "<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata>"
            f"<dc:title>{title}</dc:title><dc:creator>Ann</dc:creator>"
            "<dc:language>en-GB</dc:language></metadata><manifest>"
            f"<item id='n' href='toc.ncx' media-type='application/x-dtbncx+xml'/>{items}"
            f"</manifest><spine>{refs}</spine></package>"
        ),
        "OPS/toc.ncx": (
            '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://localhost/ncx.dtd">'
            f"<ncx><navMap>{points}</navMap></ncx>"
        ),
        **{f"OPS/{path}": content for path, content in pages.items()},
    })  # fmt: skip


def damaged(data: bytes, *, count: int) -> Iterator[bytes]:
    """Yield copies of a file: cut short, with bytes changed, or with a part of the middle gone."""
    chance = random.Random(len(data))
    for number in range(count):
        at = chance.randrange(len(data))
        copy = bytearray(data)
        if number % 3 == 0:
            yield bytes(copy[:at])
        elif number % 3 == 1:
            for _ in range(chance.randrange(1, 20)):
                copy[chance.randrange(len(copy))] = chance.randrange(256)
            yield bytes(copy)
        else:
            yield bytes(copy[:at] + copy[at + chance.randrange(1, 50) :])


def damaged_parts(data: bytes, *, count: int) -> Iterator[bytes]:
    """Yield sound archives whose parts are damaged in the same ways."""
    with ZipFile(BytesIO(data)) as archive:
        parts = {path: archive.read(path) for path in archive.namelist()}
    for path, content in parts.items():
        for copy in damaged(content, count=count):
            yield zipped({**parts, path: copy})
