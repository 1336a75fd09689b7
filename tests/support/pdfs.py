"""PDF files, written by hand: just what a test needs and nothing hidden in a binary."""

from __future__ import annotations

from collections.abc import Sequence


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
    `labels` is a page label number tree. Lines of `large` are set in 24 points, others in 12.
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
        content = f"BT 72 720 Td {30 if large else 14} TL {shown}ET" if lines else ""
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


def _written(objects: dict[int, str], trailer: str) -> bytes:
    body = bytearray(b"%PDF-1.7\n")
    offsets: list[int] = []
    for number in sorted(objects):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{objects[number]}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} {trailer} >>\n"
    return bytes(body) + f"{end}startxref\n{len(body)}\n%%EOF\n".encode()
