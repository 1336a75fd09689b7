"""Growth of the time that readers take: twice the input takes about twice the time.

Documents are hostile input. Each pattern is a text that made a reader, or could make one, read the
same characters again from many places.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence

import pytest
from _pytest.mark import ParameterSet

from crx.errors import InputError
from crx.ingest.read import read_bytes

MOST = 2.3
# Doublings that are tried at most.
DOUBLINGS = 3
# Seconds from which a time is measured well enough; a pattern that never takes so long is cheap.
MEASURED_S = 0.04
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


def growth(extension: str, start: str, part: str, end: str) -> float:
    """Return by how much the time grows with a doubling, 0 if it is too short to tell.

    If that is more than `MOST`, longer texts are tried, whose times vary less: a time that grows
    with the square of the length fails at each of them.
    """
    shorter = b""
    ratios: list[float] = []
    for doublings, data in enumerate(texts(start, part, end)):
        if not ratios and 4_000 << doublings > LARGEST:
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


@pytest.mark.parametrize(("extension", "start", "part", "end"), cases(QUICK))
def test_twice_the_text_takes_about_twice_the_time(
    extension: str, start: str, part: str, end: str
) -> None:
    assert growth(extension, start, part, end) <= MOST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extension", "start", "part", "end"),
    cases({each: range(len(found)) for each, found in PATTERNS.items()}),
)
def test_twice_the_text_takes_about_twice_the_time_in_all_formats(
    extension: str, start: str, part: str, end: str
) -> None:
    assert growth(extension, start, part, end) <= MOST
