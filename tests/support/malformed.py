"""A small sound file of each format that a reader parses, and malformed copies of them."""

from __future__ import annotations

import contextlib
import gzip
import random
import sqlite3
from io import BytesIO
from zipfile import ZipFile

from compound import excel_97, outlook_message
from pdfs import pdf
from sheets import ods, xlsx
from zipped import docx, epub, odf, pptx, shape, zipped


def sqlite() -> bytes:
    """Return a database with a table; b"" where Python cannot give its bytes (before 3.11)."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE roads (road TEXT, miles REAL)")
        database.executemany("INSERT INTO roads VALUES (?, ?)", [("A1", 12.0), ("B2", None)])
        database.commit()
        return database.serialize() if hasattr(database, "serialize") else b""


PARAGRAPH = "<w:p><w:r><w:t>A road is long</w:t></w:r></w:p>"
SEEDS = {
    "a.pdf": pdf([["Roads", "are long"], ["Tar"]], outline=[("Tar", 1)]),
    "a.html": b"<html lang=en><title>Roads</title><h1>Tar</h1><table><tr><td>A<td>B</table></html>",
    "a.docx": docx(PARAGRAPH),
    "a.pptx": pptx({"1": shape("Roads", placeholder="title") + shape("Tar")}, notes={}),
    "a.odt": odf("<office:text><text:h>Roads</text:h><text:p>Tar</text:p></office:text>"),
    "a.odp": odf("<office:presentation><draw:page/></office:presentation>"),
    "a.xlsx": xlsx({"Roads": [["road", "miles"], ["A1", 12.0]]}),
    "a.ods": ods({"Roads": [["road", "miles"], ["A1", 12.0]]}),
    "a.xls": excel_97({"Roads": [["road", "miles"], ["A1", 12.0]]}),
    "a.epub": epub({"one.xhtml": "<h1>Roads</h1><p>Tar"}, titles={"one.xhtml": "R"}, title="B"),
    "a.rtf": rb"{\rtf1\ansi{\info{\title Roads}}\pard\outlinelevel0 Tar\par A \u8212? B\par}",
    "a.eml": b"From: ann@example.org\nSubject: Roads\nContent-Type: text/html\n\n<p>Tar &amp; lime",
    "a.mbox": b"From a Wed May  1 10:00:00 2024\nSubject: A\n\nTar\n\n"
    b"From b Wed May  1 10:00:00 2024\nSubject: B\n\nStone\n",
    "a.msg": outlook_message(subject="Roads", body="Tar", files={"b.txt": b"words"}),
    "a.ipynb": b'{"cells": [{"cell_type": "markdown", "source": ["# Roads"]}], "metadata": {}}',
    "a.csv": b'road,miles\n"A,1",12\n',
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nTar\n",
    "a.jsonl": b'{"id": "a", "text": "Tar and stone"}\n',
    "a.md.gz": gzip.compress(b"# Roads\n\nTar\n"),
    "a.sqlite": sqlite(),
    "a.vcf": b"BEGIN:VCARD\nFN:Anna\nN;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;=\nA\nEND:VCARD\n",
    "a.ics": b'BEGIN:VEVENT\nSUMMARY:Tar\nATTENDEE;CN="A: B":mailto:a@b\nEND:VEVENT\n',
    "a.wiki": b"== Roads ==\n'''Tar'''\n",
}

# What parsers stumble over: NULs, halves of characters, numbers out of range, tags, nesting.
_TOKENS = (
    b"\0" * 16, b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f", b"\xef\xbb\xbf", b"\r\r\n", b"-1",
    b"99999999999999999999", b"1e999", b"NaN", b"0x7fffffff", b"<!--", b"<![CDATA[", b"]]>",
    b"&#0;", b"&#xd800;", b"&a;", b'"', b"'", b"\\", b"%s%n", b"{" * 2000, b"[" * 2000,
    b"(" * 2000, b"<a>" * 2000, b"endobj", b"stream\n", b"a" * 100_000,
    "\u202e\u2066\U000e0041".encode(),
)  # fmt: skip


def malformed(data: bytes, chance: random.Random) -> bytes:
    """Return a malformed copy; of an archive, half of the copies are sound but for a part."""
    if data.startswith(b"PK") and chance.random() < 0.5:
        with ZipFile(BytesIO(data)) as archive:
            parts = {path: archive.read(path) for path in archive.namelist()}
        path = chance.choice(list(parts))
        return zipped({**parts, path: _changed(parts[path], chance)})
    if data.startswith(b"\x1f\x8b") and chance.random() < 0.5:
        return gzip.compress(_changed(gzip.decompress(data), chance))
    return _changed(data, chance)


def _changed(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 1, 2, 4, 8))):
        at = chance.randrange(len(data) + 1)
        length = chance.randrange(1, 50)
        match chance.randrange(6):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + chance.randbytes(length) + data[at + length :]
            case 2:
                data = data[:at] + data[at + length :]
            case 3:
                data = data[:at] + chance.choice(_TOKENS) + data[at:]
            case 4:
                data = data[:at] + data[at : at + length] * chance.choice((2, 3, 1000)) + data[at:]
            case _:
                other = chance.choice(list(SEEDS.values()))
                data = data[:at] + other[chance.randrange(len(other)) :]
    return data
