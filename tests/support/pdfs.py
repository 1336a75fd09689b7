"""PDF files, written by hand: just what a test needs and nothing hidden in a binary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def pdf(
    pages: Sequence[Sequence[str]],
    *,
    info: str = "",
    outline: Sequence[tuple[str, int]] = (),
    labels: str = "",
    encrypted: bool = False,
    large: str = "",
) -> bytes:
    """Return a PDF with lines of text on pages.

    `info` is the body of the information dictionary, `outline` are (title, page) bookmarks,
    `labels` is a page label number tree. A page without lines has a rectangle, as a scan has its
    picture. Lines of `large` are set in 24 points, others in 12.
    """
    first = 4
    kids = [first + 2 * i for i in range(len(pages))]
    marks = first + 2 * len(pages)
    catalog = "/Type /Catalog /Pages 2 0 R"
    objects = {
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{k} 0 R' for k in kids)}] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    for kid, lines in zip(kids, pages, strict=True):
        sizes = ((line, 24 if line in large.split("\n") else 12) for line in lines)
        shown = "".join(f"/F1 {size} Tf ({line}) Tj T* " for line, size in sizes)
        content = f"BT 72 720 Td {30 if large else 14} TL {shown}ET" if lines else "0 0 9 9 re f"
        objects[kid] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {kid + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects[kid + 1] = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    if outline:
        catalog += f" /Outlines {marks} 0 R"
        last = marks + len(outline)
        objects[marks] = f"<< /First {marks + 1} 0 R /Last {last} 0 R /Count {len(outline)} >>"
        for i, (title, page) in enumerate(outline, start=marks + 1):
            following = f"/Next {i + 1} 0 R" if i < last else ""
            target = f"/Parent {marks} 0 R /Dest [{kids[page]} 0 R /Fit]"
            objects[i] = f"<< /Title ({title}) {target} {following} >>"
    if labels:
        catalog += f" /PageLabels << /Nums [{labels}] >>"
    objects[1] = f"<< {catalog} >>"
    trailer = "/Root 1 0 R"
    if info:
        objects[max(objects) + 1] = f"<< {info} >>"
        trailer += f" /Info {max(objects)} 0 R"
    if encrypted:
        objects[max(objects) + 1] = (
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'4f' * 32}> /U <{'55' * 32}> >>"
        )
        trailer += f" /Encrypt {max(objects)} 0 R /ID [<{'11' * 16}> <{'11' * 16}>]"
    return _written(objects, trailer)


def placed(
    pages: Sequence[Sequence[tuple[float, float, float, str]]],
    *,
    box: str = "0 0 612 792",
    bold: str = "",
) -> bytes:
    """Return a PDF of texts (x, y, size, text); those that are lines of `bold` are in bold type."""
    kids = [5 + 2 * i for i in range(len(pages))]
    font = "/Type /Font /Subtype /Type1 /Encoding /WinAnsiEncoding /BaseFont"
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{k} 0 R' for k in kids)}] >>",
        3: f"<< {font} /Helvetica >>",
        4: f"<< {font} /Helvetica-Bold >>",
    }
    for kid, texts in zip(kids, pages, strict=True):
        shown = "\n".join(
            f"BT /F{2 if text in bold.split(chr(10)) else 1} {size} Tf {x} {y} Td ({text}) Tj ET"
            for x, y, size, text in texts
        )
        objects[kid] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents {kid + 1} 0 R "
            "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>"
        )
        objects[kid + 1] = f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream"
    return _written(objects, "/Root 1 0 R")


def vertical(columns: Sequence[str]) -> bytes:
    """Return a PDF of one page of vertical writing, the first column on the right."""
    return lettered(
        [
            (500 - 24 * at, 700 - 12 * row, 12, character)
            for at, text in enumerate(columns)
            for row, character in enumerate(text)
        ]
    )


def lettered(texts: Sequence[tuple[float, float, float, str]]) -> bytes:
    """Return a PDF of one page with texts (x, y, size, text) of any script, drawn from the left.

    The characters are drawn as letters of Helvetica, which the font names as they are; a space is
    a space.
    """
    named = dict.fromkeys(character for *_, text in texts for character in text if character != " ")
    codes = [chr(code) for code in range(65, 127) if chr(code) != "\\"]
    letters = {" ": " ", **dict(zip(named, codes, strict=False))}
    shown = "\n".join(
        f"BT /F1 {size} Tf {x} {y} Td ({''.join(letters[c] for c in text)}) Tj ET"
        for x, y, size, text in texts
    )
    pairs = "\n".join(f"<{ord(letter):02x}> <{ord(c):04x}>" for c, letter in letters.items())
    cmap = (
        "begincmap\n1 begincodespacerange\n<00> <ff>\nendcodespacerange\n"
        f"{len(letters)} beginbfchar\n{pairs}\nendbfchar\nendcmap"
    )
    return _one_page(
        shown,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding "
        "/ToUnicode 6 0 R >>",
        f"<< /Length {len(cmap)} >>\nstream\n{cmap}\nendstream",
    )


def unnamed(lines: Sequence[str]) -> bytes:
    """Return a PDF whose font names no characters for what it draws."""
    glyphs = "".join(f"<{line.encode('utf-16-be').hex()}> Tj T* " for line in lines)
    return _one_page(
        f"BT /F1 12 Tf 72 720 Td 14 TL {glyphs}ET",
        "<< /Type /Font /Subtype /Type0 /BaseFont /Own /Encoding /Identity-H "
        "/DescendantFonts [6 0 R] >>",
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Own /CIDToGIDMap /Identity /DW 500 "
        "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
        "/FontDescriptor 7 0 R >>",
        "<< /Type /FontDescriptor /FontName /Own /Flags 4 /Ascent 800 /Descent -200 "
        "/CapHeight 700 /ItalicAngle 0 /StemV 80 /FontBBox [0 -200 1000 800] >>",
    )


def glyph_numbers(lines: Sequence[str], *, moved: int) -> bytes:
    """Return a PDF whose font names no characters: its codes are those of ASCII, moved."""
    return unnamed(["".join(chr(ord(character) - moved) for character in line) for line in lines])


def drawn(
    content: str,
    *,
    page: str = "",
    annotations: Sequence[str] = (),
    catalog: str = "",
    objects: Mapping[int, str] | None = None,
) -> bytes:
    """Return a PDF of one page that draws a content with the font /F1, Helvetica.

    `page` and `catalog` are added to their dictionaries. The annotations are objects from 10,
    others are numbered from 100.
    """
    numbers = [10 + at for at in range(len(annotations))]
    listed = f"/Annots [{' '.join(f'{number} 0 R' for number in numbers)}]" if numbers else ""
    if "/MediaBox" not in page:
        page += " /MediaBox [0 0 612 792]"
    return _written(
        {
            1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
            2: "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            3: f"<< /Type /Page /Parent 2 0 R {page} {listed} /Contents 4 0 R "
            "/Resources << /Font << /F1 5 0 R >> >> >>",
            4: f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
            5: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
            **dict(zip(numbers, annotations, strict=True)),
            **(objects or {}),
        },
        "/Root 1 0 R",
    )


def _one_page(shown: str, *font: str) -> bytes:
    """Return a PDF of one page that draws with a font; its objects are numbered from 5."""
    objects = {
        1: "<< /Type /Catalog /Pages 2 0 R >>",
        2: "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        3: "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        4: f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        **dict(enumerate(font, start=5)),
    }
    return _written(objects, "/Root 1 0 R")


def _written(objects: Mapping[int, str], trailer: str) -> bytes:
    body = bytearray(b"%PDF-1.7\n")
    table = "xref\n0 1\n0000000000 65535 f \n"
    for number in sorted(objects):
        table += f"{number} 1\n{len(body):010} 00000 n \n"
        body += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("cp1252")
    end = f"{table}trailer\n<< /Size {max(objects) + 1} {trailer} >>\n"
    return bytes(body) + f"{end}startxref\n{len(body)}\n%%EOF\n".encode()
