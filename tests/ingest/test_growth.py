"""Growth of what readers take: twice the input takes about twice the time and the memory.

Documents are hostile input. Each pattern is a text that made a reader, or could make one, read the
same characters again from many places.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import gzip
import io
import json
import multiprocessing
import re
import sqlite3
import struct
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from compound import excel_97, outlook_message
from forked import call_in_fork
from pdfs import pdf
from sevenzips import sevenzip
from sheets import ods, xlsx
from zipped import docx, epub, odf, pptx, shape, zipped

from crx.errors import InputError
from crx.ingest.read import read_bytes

MOST = 2.3
# Doublings that are tried at most.
DOUBLINGS = 3
# Seconds from which a time is measured well enough; a pattern that never takes so long is cheap.
MEASURED_S = 0.04
# Bytes from which memory is measured well enough.
MEASURED_BYTES = 16_000_000
# Characters up to which a text is doubled: the quadratic ones took seconds below 100,000.
LARGEST = 256_000
PAGE = ".TH a 1\n.SH b\n"
MDOC = ".Dd May 1\n.Dt A 1\n.Os\n.Sh NAME\n"
CAPTION = "00:00:01.000 --> 00:00:02.000\n"
# Texts that begin so, go on with one part as often as wanted, and end so; "№" is a part's number.
PATTERNS: dict[str, list[tuple[str, str, str]]] = {
    ".md": [
        ("", "# a" + 990 * " " + "b\n", ""),
        ("", "a" + 300 * "_" + "b\n===\n", ""),
        ("# ", "[a](", ""),
        ("", "- - - x\n", ""),
        ("", "```\n", ""),
        ("", "# a #\n", ""),
        ("", "> ", ""),
        ("", "a\n", "==="),
        ("---\n", "a: b\n", "---\n"),
        ("", "1. a\n\n    b\n", ""),
    ],
    ".wiki": [
        ("", "<!--\n", ""),
        ("", "<pre ", ""),
        ("", "<nowiki>\n", ""),
        ("", "<pre>\n", "</math>"),
        ("", "=" + 148 * " =" + "a\n", ""),
        ("", "= a" + 140 * " <!--" + "-->\n", ""),
        ("", "{{DISPLAYTITLE", ""),
        ("{{DISPLAYTITLE:", "[[a|", "}}"),
        ("", "== a ==\n", ""),
        ("", "</pre>", "<pre>"),
    ],
    ".tex": [
        ("\\section", " ", ""),
        ("\\title[a]", "\t", ""),
        ("\\section{", "{a}", ""),
        ("", "\\section{\n", ""),
        ("", "\\section[a", ""),
        ("\\title{", "\\label{", "}"),
        ("", "\\section{a}\n", ""),
        ("", "\\section{{a}\n", ""),
        ("", " \\section\n", ""),
        ("", "\\section{a\n\n}\n", ""),
    ],
    ".vtt": [
        (CAPTION, "<v ", ""),
        (CAPTION, "<v.", ""),
        (CAPTION, "<v.a ", ""),
        (CAPTION, "<v\t\t\t", ""),
        (CAPTION, "{\\", ""),
        (CAPTION, "<", ""),
        (CAPTION, "&amp", ""),
        ("", CAPTION, ""),
        ("", CAPTION + "a\n\n", ""),
        ("", "00:00", ""),
    ],
    ".srt": [
        (CAPTION, "<v ", ""),
        (CAPTION, "<v.", ""),
        (CAPTION, "a\n", ""),
        (CAPTION, "&#", ""),
        ("", "1\n" + CAPTION, ""),
        ("", " ", CAPTION + "a"),
        ("", "0", CAPTION + "a"),
        ("", "0:", CAPTION + "a"),
        (CAPTION, "{\\a", ""),
        (CAPTION, "<<", ""),
    ],
    ".rst": [
        ("", "a:" + 140 * "a:" + "\n" + 300 * "=" + "\n", ""),
        ("", "=", ""),
        ("", "a\n==\n", ""),
        ("", "==\na\n==\n", ""),
        ("", "`", "\n===="),
        ("", "*a", "\n===="),
        ("", " ", "\n===="),
        ("", "a\n", "==="),
        ("", ":a:`b`\n======\n", ""),
        ("", "...\n", ""),
    ],
    ".adoc": [
        ("", "= a" + 148 * " =" + "b\n", ""),
        ("", "= a" + 290 * " " + "b\n", ""),
        ("", "----\n", ""),
        ("", "== a\n", ""),
        ("", "=", ""),
        ("", "# ", ""),
        ("", "= a\n", ""),
        ("", "`", ""),
        ("", "....\n= a\n", ""),
        ("", "= *a_\n", ""),
    ],
    ".org": [
        ("", "* a" + 140 * " :" + "b\n", ""),
        ("", "* a" + 290 * " " + "b\n", ""),
        ("", "*", ""),
        ("", "* TODO ", ""),
        ("", "* a :b:\n", ""),
        ("", "#+begin_a\n", ""),
        ("", "#+title:", ""),
        ("#+title:", " ", ""),
        ("", "* ~=\n", ""),
        ("", "  #+\n", ""),
    ],
    ".man": [
        (".TH a 1\n", ".SH ", ""),
        (".TH a 1\n", ".SH a\n", ""),
        (".TH a 1\n.SH ", "\\f[", ""),
        (".TH a 1\n.SH ", "\\f", ""),
        ("", ".TH a\n", ""),
        ("", ".\n", ""),
        (".TH ", " ", ""),
        (".TH ", '"', ""),
        (".SH ", "\\s", "\n.TH a"),
        (".SH ", "\\-", "\n.TH a"),
        (PAGE, ".if n ", ""),
        (PAGE, ".ie n \\{\n", ""),
        (PAGE, ".ds a \\*a\\*a\n\\*a\n", ""),
        (PAGE, ".RS\na\n", ""),
        (PAGE, ".TP\n", ""),
        (PAGE + ".TS\nl l.\n", "T{\na\n", ""),
        (PAGE, "\\h'", ""),
        (PAGE + ".BR ", '"a""', ""),
        (PAGE, "a\\\n", ""),
        (PAGE, ".de a\n", ""),
        (MDOC, ".Bl -tag\n.It Fl a\n", ""),
        (MDOC + ".Nm ", "Op Fl a ", ""),
        (MDOC, ".It Xo\n", ""),
        (MDOC, ".Oo\n", ""),
    ],
    ".txt": [
        ("", "ARTICLE I\n\n", ""),
        ("", "1.1 A", ""),
        ("", "1. A" + 200 * "\t" + "\n", ""),
        ("ARTICLE I\n", " \n", ""),
        ("", "   A", ""),
        ("", "A B C D\n", ""),
        ("", "A B C D\n\n", ""),
        ("", "a\n===\n", ""),
        ("\n", "=", ""),
        ("\nA", " ", "b"),
    ],
    ".csv": [
        ("a,b\n", '"', ""),
        ("", '"a', ""),
        ("", ",", ""),
        ("a,b\n", "1,2\n", ""),
        ("a,b\n", '"a\n', ""),
        ("", " ", "a,b"),
        ("", "1", ",b"),
        ("", '""', ""),
        ("a;b\n", "\n", ""),
        ("", "a\t", ""),
    ],
    # A format that is detected, of a text without an extension.
    "": [
        ("", "let a ", ""),
        ("", "const a", ""),
        ("", "new a<", ""),
        ("", "a.b(", ""),
        ("", "public a ", ""),
        ("", "/*", ""),
        ("", "#", ""),
        ("", "**a", ""),
        ("", "](", ""),
        ("", "impl a", ""),
    ],
    ".jsonl": [
        ('{"text":"', "let a ", '"}'),
        ('{"id":"a.tex","text":"\\\\section', " ", '"}'),
        ('{"id":"a.wiki","text":"', "<!--", '"}'),
        ('{"id":"a.md","text":"# a', " ", 'b"}'),
        ("", '{"text":"a"}\n', ""),
        ("", "{\n", ""),
        ('{"text":"a","chunks":[[0,1]', ",[0,1]", "]}"),
        ('{"text":"', "\\r\\n", 'a"}'),
        ("", '{"text":"let a let a let a"}\n', ""),
        ('{"text":"', "\\u0000", 'a"}'),
    ],
    ".c": [
        ("", "(", ""),
        ("", "-", ""),
        ("", "/* a */\n", "int f(void) {}\n"),
        ("", "/**/", "int f(void) {}\n"),
        ("", "int f(){}", ""),
        ("", "//a\n\nint f(){}\n", ""),
        ("", "int f(){", ""),
        ("int ", "*", "f(void) {}"),
        ("", "#if a\n", ""),
        ("", "typedef struct{}a,", ""),
    ],
    ".py": [
        ("", "[", ""),
        ("", "# a\n", "def a(): pass\n"),
        ("", "# a\n\ndef a(): pass\n", ""),
        ("", "-", ""),
        ("", "def a(): pass\n", ""),
        ("", "@a\n", "def a(): pass\n"),
        ("", "def a(", ""),
        ("", "class a:", ""),
        ("", "if a:\n ", ""),
        ("", "a = [", ""),
    ],
    ".rs": [
        ("", "(", ""),
        ("", "//a\n", "fn a(){}\n"),
        ("", "//a\n\nfn a(){}\n", ""),
        ("", "fn a(){}", ""),
        ("", "#[a]", "fn a(){}"),
        ("", "/*a*/", "fn a(){}"),
        ("", "impl a{", ""),
        ("", "fn a<", ""),
        ("", "a!(", ""),
        ("", "r#", ""),
    ],
    ".js": [
        ("", "(", ""),
        ("", "//a\n", "function a(){}\n"),
        ("", "//a\n\nfunction a(){}\n", ""),
        ("", "/**/", "function a(){}"),
        ("", "function a(){", ""),
        ("//a\nconst ", "a=[\n\n\n\n],", "b=1"),
        ("", "`${", ""),
        ("", "<a>", ""),
        ("", "a=>", ""),
        ("", "!", ""),
    ],
    ".java": [
        ("", "(", ""),
        ("", "//a\n", "class a{}\n"),
        ("", "//a\n\nclass a{}\n", ""),
        ("", "/**/", "class a{}"),
        ("", "class a{", ""),
        ("", "@a()", ""),
        ("", "a<b,", ""),
        ("", "new a(", ""),
        ("", "void a(){}", ""),
        ("", "-", ""),
    ],
    ".go": [
        ("", "(", ""),
        ("", "//a\n", "func a(){}\n"),
        ("", "//a\n\nfunc a(){}\n", ""),
        ("", "/**/", "func a(){}"),
        ("", "func a(){", ""),
        ("//a\nvar (\n", "a=1\n", ")"),
        ("", "map[", ""),
        ("", "-", ""),
        ("", "func (a b) c(){}\n", ""),
        ("", "type a struct{", ""),
    ],
    ".eml": [
        ("Subject: ", "=?utf-8?q?a?= ", "\n\na"),
        ("Received: a\n", "Received: a\n", "\na"),
        ("To: ", "a <b@c>, ", "\n\na"),
        ("From: ", "a.", "@b\n\na"),
        ("Content-Type: text/plain", "; a=b", "\n\na"),
        ("Content-Type: text/plain; a*0*=", "%41", "\n\na"),
        ("Content-Disposition: attachment; filename=", "a", "\n\na"),
        ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n\na\n", "--b--\n"),
        ("Subject: a\n\n", "=?utf-8?q?a?=\n", ""),
        ("Date: ", "1 ", "\n\na"),
        ("Subject: ", "=?a?q?", "\n\na"),
        ("Cc: ", "a@", "\n\na"),
        ("From a Wed May  1 10:00:00 2024\nA: a\n\n", "From Wed ", ""),
        ("", "From a Wed May  1 10:00:00 2024\nSubject: a\n\nb\n", ""),
        ("Content-Type: multipart/alternative; boundary=b\n\n", "--b\n\na\n", "--b--\n"),
        ("", "A: a\n", ""),
    ],
    ".vcf": [
        ('BEGIN:VCARD\nX;"', ":", ""),
        ("BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:", "=", ""),
        ("BEGIN:VCARD\nNOTE;QUOTED-PRINTABLE:", "a=\n", ""),
        ("BEGIN:VCARD\n", 'X;"":"', ""),
        ("BEGIN:VCARD\n", 30_000 * '"' + "\n", ""),
        ("BEGIN:VCARD\n", "BEGIN:A\n", ""),
    ],
    ".html": [
        ("", "<p>a", ""),
        ("", "<h1>a</h1>", ""),
        ("", "<table><tr><td>a", ""),
        ("", "&amp", ""),
        ("", "<!--", ""),
        ("", "<a href=b>", ""),
        ("", "<li>a", ""),
        ("", "</p>", ""),
        ("", "<b>a</b> ", ""),
        ("<pre>", "\n", "</pre>"),
        ("<p", " a№", ">a"),
        ("", "<body a№>", "a"),
        ("", "<div>", "a"),
        ("", "<b><div></b>", "a"),
        ("", "<li><dd>", "a"),
        ("", "<p><font color=№>a", ""),
        ("", "<svg><g>", "a"),
        ("", "<!---", ""),
        ("<script>", "</", ""),
        ("", "a", ""),
    ],
    ".xml": [
        ("<a>", "<b>", ""),
        ("<a>", "<b>one two three four</b>", "</a>"),
        ("<a>one two three four", "<b/>", "</a>"),
        ("<a ", "b№='c' ", ">one two three four</a>"),
        ("<a>", "&lt;b>one two three four&lt;/b> ", "</a>"),
        ("<a>", "<b><title>one two three four</title></b>", "</a>"),
    ],
}
P = "<w:p><w:r><w:t>A road</w:t></w:r></w:p>"
ROW: list[str | float] = ["road", 12.0, "tar"]
CELL: dict[str, object] = {"cell_type": "markdown", "source": ["# Tar\n", "a"]}
MHTML = b"From: a\nContent-Type: multipart/related; boundary=b\n\n"
Build = Callable[[int], bytes]
# Files of formats that are not text, of a number of parts.
BUILDERS: dict[str, list[Build]] = {
    ".pdf": [
        lambda n: pdf([["A road"]] * n),
        lambda n: pdf([["A road"] * n]),
        lambda n: pdf([["a " * n]]),
        lambda n: pdf([["A road"]] * 4, outline=[("Tar", 1)] * n),
        lambda n: pdf([["A road"]] * n, labels="0 << /S /r >> " * n),
        lambda n: b"%PDF-1.4\n" + b"1 0 obj <<" * n,
    ],
    ".docx": [
        lambda n: docx(P * n),
        lambda n: docx(f"<w:p>{'<w:r><w:t>a</w:t></w:r>' * n}</w:p>"),
        lambda n: docx("<w:tbl>" + f"<w:tr>{f'<w:tc>{P}</w:tc>' * 4}</w:tr>" * n + "</w:tbl>"),
        lambda n: docx("<w:tbl><w:tr><w:tc>" * n + P + "</w:tc></w:tr></w:tbl>" * n),
        lambda n: docx(f"<w:tbl><w:tr>{f'<w:tc>{P}</w:tc>' * n}</w:tr></w:tbl>"),
        lambda n: docx(P, notes='<w:footnote w:id="1"/>' * n),
        lambda n: docx(P, styles='<w:style w:styleId="a"><w:basedOn w:val="a"/></w:style>' * n),
    ],
    ".pptx": [
        lambda n: pptx({str(k): shape("Tar") for k in range(1, n + 1)}, notes={}),
        lambda n: pptx({"1": shape("Tar") * n}, notes={}),
        lambda n: pptx({"1": shape(*["Tar"] * n)}, notes={}),
    ],
    ".xlsx": [
        lambda n: xlsx({"A": [ROW] * n}),
        lambda n: xlsx({"A": [ROW * n]}),
        lambda n: xlsx({f"A{k}": [ROW] for k in range(n)}),
        lambda n: xlsx({"A": [["a" * n]] * 9}),
    ],
    ".ods": [
        lambda n: ods({"A": [ROW] * n}),
        lambda n: ods({"A": [ROW * n]}),
        lambda n: ods({f"A{k}": [ROW] for k in range(n)}),
    ],
    ".xls": [
        lambda n: excel_2(n),
        lambda n: excel_97({f"A{k}": [ROW] for k in range(min(n, 300))}),
    ],
    ".odt": [
        lambda n: odf(f"<office:text>{'<text:p>Tar</text:p>' * n}</office:text>"),
        lambda n: odf(f"<office:text>{'<text:h>Tar</text:h>' * n}</office:text>"),
        lambda n: odf(f"<office:text><text:p>{'<text:s/>a' * n}</text:p></office:text>"),
        lambda n: odf(
            "<office:text>"
            + "<text:list><text:list-item>" * n
            + "<text:p>a</text:p>"
            + "</text:list-item></text:list>" * n
            + "</office:text>"
        ),
    ],
    ".odp": [lambda n: odf(f"<office:presentation>{'<draw:page/>' * n}</office:presentation>")],
    ".epub": [
        lambda n: epub({f"{k}.xhtml": "<h1>A</h1><p>Tar" for k in range(n)}, titles={}),
        lambda n: epub({"1.xhtml": "<p>Tar" * n}, titles={"1.xhtml": "A"}),
    ],
    ".zip": [
        lambda n: zipped({f"{k}.txt": "Tar" for k in range(n)}),
        lambda n: zipped({f"{'a/' * 50}{k}.txt": "Tar" for k in range(n)}),
        lambda n: zipped({"a.txt": "Tar " * n * 10}),
    ],
    ".tar": [lambda n: tarred({f"{k}.txt": b"Tar" for k in range(n)})],
    ".7z": [lambda n: sevenzip({f"{k}.txt": b"Tar" for k in range(n)})],
    ".sqlite": [lambda n: sqlite_of(n, columns=2), lambda n: sqlite_of(4, columns=min(n, 900))],
    ".parquet": [lambda n: parquet_of({"road": ["tar"] * n, "miles": [1.0] * n})],
    ".msg": [lambda n: outlook_message(subject="A", body="Tar " * min(n, 4000))],
    ".ipynb": [
        lambda n: json.dumps({"cells": [CELL] * n, "metadata": {}}).encode(),
        lambda n: json.dumps({"cells": [{**CELL, "source": ["a\n"] * n}]}).encode(),
    ],
    ".rtf": [
        lambda n: b"{\\rtf1 " + b"{" * n + b"a" + b"}" * n + b"}",
        lambda n: b"{\\rtf1 " + b"A road\\par " * n + b"}",
        lambda n: b"{\\rtf1 " + b"\\u8212?" * n + b"}",
        lambda n: b"{\\rtf1{\\fonttbl" + b"{\\f1 a;}" * n + b"}a}",
        lambda n: b"{\\rtf1 " + b"\\trowd\\cell\\row " * n + b"}",
    ],
    ".mhtml": [
        lambda n: MHTML + b"--b\nContent-Type: text/html\n\n<p>a\n" * n + b"--b--\n",
        lambda n: MHTML + b"--b\nContent-Type: text/html\n\n" + b"<p>a" * n + b"\n--b--\n",
    ],
    ".xml": [
        lambda n: b"<a>" * n + b"Tar" + b"</a>" * n,
        lambda n: b"<a>" + b"<b>Tar</b>" * n + b"</a>",
    ],
    ".ics": [lambda n: b"BEGIN:VEVENT\nSUMMARY:Tar\nEND:VEVENT\n" * n],
    ".mbox": [lambda n: b"From a Wed May  1 10:00:00 2024\nSubject: A\n\nTar\n\n" * n],
    ".gz": [lambda n: gzip.compress(b"Tar " * n * 100)],
}
FIRST_PARTS = 250
# The bytes up to which a file is doubled.
LARGEST_FILE = 4_000_000
# The patterns that were quadratic, or took seconds for 100 kB.
QUICK = {
    ".md": (0, 1),
    ".wiki": (0, 1, 2, 3, 4, 5),
    ".tex": (0, 1),
    ".vtt": (0, 1),
    ".adoc": (0,),
    ".org": (0,),
    ".man": (10, 12, 15, 20, 21),
    "": (0, 1, 2, 3),
    ".jsonl": (0, 1, 2),
    ".c": (0, 2),
    ".py": (0, 1),
    ".js": (0,),
    ".eml": (0,),
    ".vcf": (0, 1),
    ".html": (10, 12, 13),
}


def cases(chosen: Mapping[str, Sequence[int]]) -> list[ParameterSet]:
    return [
        pytest.param(extension, *pattern, id=f"{extension} {''.join(pattern)[:24]!r}")
        for extension, numbers in chosen.items()
        for pattern in (PATTERNS[extension][number] for number in numbers)
    ]


def texts(start: str, part: str, end: str) -> Iterator[bytes]:
    """Yield texts, each twice as long as the one before."""
    chars = 4_000
    while chars <= LARGEST << DOUBLINGS:
        parts = (part.replace("№", str(number)) for number in range(chars // len(part) + 1))
        yield f"{start}{''.join(parts)}{end}".encode()
        chars *= 2


def files(build: Build) -> Iterator[bytes]:
    """Yield files, each of twice as many parts as the one before."""
    parts, data = FIRST_PARTS, b""
    while len(data) < LARGEST_FILE and parts < FIRST_PARTS << 9:
        data = build(parts)
        yield data
        parts *= 2


def tarred(parts: Mapping[str, bytes]) -> bytes:
    """Return an archive of parts."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def sqlite_of(rows: int, *, columns: int) -> bytes:
    """Return a database with a table."""
    names = ", ".join(f"c{number}" for number in range(columns))
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE roads ({names})")
        marks = ", ".join("?" * columns)
        database.executemany(f"INSERT INTO roads VALUES ({marks})", [["tar"] * columns] * rows)
        database.commit()
        return database.serialize()


def excel_2(rows: int) -> bytes:
    """Return a workbook of Excel 2: one sheet, in no compound file."""
    cells = b"".join(
        struct.pack("<HHHH3sB3s", 4, 11, row % 16_384, row // 16_384, b"", 3, b"tar")
        for row in range(rows)
    )
    return struct.pack("<HHHH", 9, 4, 2, 0x10) + cells + struct.pack("<HH", 10, 0)


def parquet_of(columns: Mapping[str, Sequence[object]]) -> bytes:
    """Return a table as Parquet."""
    pyarrow = pytest.importorskip("pyarrow")
    target = io.BytesIO()
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(dict(columns)), target)
    return target.getvalue()


def seconds(data: bytes, extension: str) -> float:
    """Return the time of the processor that a file takes to be read."""
    gc.collect()
    gc.disable()  # its pauses depend on what the tests before have left
    started = time.process_time()
    try:
        for _ in read_bytes(data, name=f"a{extension}"):
            pass
    except InputError:
        pass
    finally:
        spent = time.process_time() - started
        gc.enable()
    return spent


def growth(extension: str, inputs: Iterator[bytes]) -> float:
    """Return by how much the time grows with a doubling, 0 if it is too short to tell.

    If that is more than `MOST`, longer inputs are tried, whose times vary less: a time that grows
    with the square of the length fails at each of them.
    """
    shorter = b""
    ratios: list[float] = []
    for data in inputs:
        if not ratios and len(data) > 2 * LARGEST:
            break
        if shorter and (ratios or seconds(shorter, extension) >= MEASURED_S):
            pairs = [(seconds(shorter, extension), seconds(data, extension)) for _ in range(3)]
            ratio = min(long for _, long in pairs) / min(short for short, _ in pairs)
            # Less than 1 is a text that is too long to be read.
            ratios += [ratio] if ratio >= 1 or not ratios else []
            if ratio < 1 or ratio <= MOST or len(ratios) == DOUBLINGS:
                break
        shorter = data
    return min(ratios, default=0.0)


def memory(data: bytes, extension: str) -> int:
    """Return the bytes that a process grows by, at most, while it reads a file.

    It is a fork of a process that reads nothing itself: in one whose heap has holes, what fills
    them is not seen.
    """
    measuring = measuring_process()
    measuring.send((data, extension))
    grown: int = measuring.recv()
    return grown


@cache
def measuring_process() -> Connection:
    """Start the process whose forks read, and return the connection to it."""
    ours, theirs = Pipe()
    multiprocessing.get_context("spawn").Process(
        target=answer_measurements, args=(theirs,), daemon=True
    ).start()
    return ours


def answer_measurements(connection: Connection) -> None:
    """Send the growth of a fork for each file that comes, until the other end is closed."""
    with contextlib.suppress(EOFError):
        while True:
            asked = connection.recv()
            connection.send(call_in_fork(partial(grow, *asked)))


def grow(data: bytes, extension: str) -> int:
    """Return the bytes that this process grows by, at most, while it reads a file."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status_bytes("VmRSS")
    seconds(data, extension)
    return status_bytes("VmHWM") - before


def status_bytes(name: str) -> int:
    """Return a number of bytes that Linux keeps of this process."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return 1024 * int(found[1])


def memory_growth(extension: str, inputs: Iterator[bytes]) -> float:
    """Return by how much the memory grows with a doubling, 0 if it is too little to tell.

    The steps from one length to the next grow alike, whatever a file of any length needs.
    """
    needed: list[int] = []
    ratios: list[float] = []
    for data in inputs:
        needed.append(memory(data, extension))
        if len(needed) > 2 and needed[-2] >= MEASURED_BYTES:
            first, second, third = needed[-3:]
            steps = (third - second) / (second - first) if second > first else third / second
            ratios.append(min(third / second, steps))
            if ratios[-1] <= MOST or len(ratios) == DOUBLINGS:
                break
    return min(ratios, default=0.0)


@pytest.mark.parametrize(("extension", "start", "part", "end"), cases(QUICK))
def test_twice_the_text_takes_about_twice_the_time(
    extension: str, start: str, part: str, end: str
) -> None:
    assert growth(extension, texts(start, part, end)) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extension", "start", "part", "end"),
    cases({each: range(len(found)) for each, found in PATTERNS.items()}),
)
def test_twice_the_text_takes_about_twice_the_time_in_all_formats(
    extension: str, start: str, part: str, end: str
) -> None:
    assert growth(extension, texts(start, part, end)) <= MOST


BUILT = [
    pytest.param(extension, build, id=f"{extension} {number}")
    for extension, builds in BUILDERS.items()
    for number, build in enumerate(builds)
]


@pytest.mark.slow
@pytest.mark.parametrize(("extension", "build"), BUILT)
def test_a_file_of_twice_as_many_parts_takes_about_twice_the_time(
    extension: str, build: Build
) -> None:
    assert growth(extension, files(build)) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize(("extension", "build"), BUILT)
def test_a_file_of_twice_as_many_parts_takes_about_twice_the_memory(
    extension: str, build: Build
) -> None:
    assert memory_growth(extension, files(build)) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extension", "start", "part", "end"),
    cases({each: range(len(found)) for each, found in PATTERNS.items()}),
)
def test_twice_the_text_takes_about_twice_the_memory(
    extension: str, start: str, part: str, end: str
) -> None:
    assert memory_growth(extension, texts(start, part, end)) <= MOST


@pytest.mark.parametrize(("extension", "build"), BUILT)
def test_a_file_of_many_parts_is_read_or_refused(extension: str, build: Build) -> None:
    seconds(build(FIRST_PARTS), extension)
