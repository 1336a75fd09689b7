"""Man pages: what a terminal shows of them, in both sets of macros."""

from __future__ import annotations

import pytest

from crx.errors import NotText
from crx.ingest.formats import is_as_written
from crx.ingest.read import read_bytes
from crx.types import Document

MAN = r""".\" A comment
.TH GUIDE 1 "May 2024"
.SH NAME
guide \- words about \fIroads\fR
.SH "SEE \fBALSO\fR"
.PP
Plain words
on two lines.
.TP
\fB\-a\fR, \fB\-\-all\fR
Show all,
.BR tar (1)
too.
.TP
.BI \-\-size= N
Of \(lqN\(rq bytes.
.RS
.IP \(bu 2
an item
.RE
.IP "\fBlast\fR" 4
The last one.
.SS Deep
.nf
a  {
   b \e
}
.fi
"""
MAN_TEXT = """NAME

guide - words about roads

SEE ALSO

Plain words on two lines.

-a, --all
    Show all, tar(1) too.

--size=N
    Of “N” bytes.

    \u2022 an item

last
    The last one.

Deep

a  {
   b \\
}"""
MDOC = r""".Dd May 1, 2024
.Dt GUIDE 8
.Os
.Sh NAME
.Nm guide
.Nd words about roads
.Sh SYNOPSIS
.Nm
.Op Fl a Ns Ar size
.Op Fl -long | Fl b
.Ar
.Sh DESCRIPTION
See
.Xr tar 1 ,
.Pq Pa /etc/roads .
.Bl -tag -width Ds
.It Cm ControlMaster
Enables the sharing of
.Dq sessions .
.Bl -bullet
.It
one
.El
.It Xo
.Cm other
.Oc
.Xc
Text of it.
.El
.Bd -literal
a  b
.Ed
"""
MDOC_TEXT = """NAME

guide — words about roads

SYNOPSIS

guide [-asize] [--long | -b] file ...

DESCRIPTION

See tar(1), (/etc/roads).

ControlMaster
    Enables the sharing of “sessions”.

    \u2022 one

other]
    Text of it.

a  b"""


def one(text: str, name: str = "/x/guide.1") -> Document:
    """Read a text that holds one document."""
    (document,) = read_bytes(text.encode(), name=name)
    return document


def test_options_stand_above_their_text_and_sections_are_headings() -> None:
    document = one(MAN)
    assert document.text == MAN_TEXT
    assert document.title == "guide(1)"
    assert [(m.level, m.label) for m in document.marks] == [
        (1, "NAME"),
        (1, "SEE ALSO"),
        (2, "Deep"),
    ]
    assert all(document.text.startswith(mark.label, mark.start) for mark in document.marks)


def test_the_lines_of_a_page_are_not_those_of_its_file() -> None:
    assert not is_as_written("/x/guide.1", {**one(MAN).metadata, "path": "/x/guide.1"})


def test_the_macros_of_bsd_are_read() -> None:
    document = one(MDOC)
    assert document.text == MDOC_TEXT
    assert document.title == "guide(8)"
    assert [mark.label for mark in document.marks] == ["NAME", "SYNOPSIS", "DESCRIPTION"]


def page(body: str) -> str:
    """Return the text of a page that begins with a section."""
    return one(f".TH a 1\n.SH b\n{body}").text.removeprefix("b").strip()


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"\(em \[u00E9] \('e \(aq \- \e \\n", "— é é ' - \\ \\n"),
        (".if n shown\n.if t hidden\n.ie t hidden\n.el too", "shown too"),
        (".if t \\{\\\nhidden\n.\\}\nshown", "shown"),
        (".ds Aq quoted\n\\*(Aq \\*[none]end", "quoted end"),
        (".de Mine\n.SH no\n..\nwords", "words"),
        (".ig\nhidden\n..\nwords", "words"),
        ("one\\c\ntwo", "onetwo"),
        (".UR http://a.example\nSite\n.UE .", "Site <http://a.example>."),
        (".TS\ntab(:) box;\nl l\nl l.\nA:B\n_\nT{\nlong\n.B cell\nT}:c\n.TE", "A\tB\nlong cell\tc"),
        ('.BR "a b" (1) ","', "a b(1),"),
        (".B\nbold", "bold"),
        (r"\s-1SMALL\s0 \fBx\fP\h'|\n(.lu'y", "SMALL xy"),
    ],
)
def test_a_page_reads_as_on_a_terminal(written: str, shown: str) -> None:
    assert page(written) == shown


def test_a_page_that_only_names_another_has_no_text_of_its_own() -> None:
    with pytest.raises(NotText, match="is the name of another man page"):
        one('.\\" made by a tool\n.so man1/other.1\n')


def test_a_page_without_a_word_is_text_as_written() -> None:
    text = ".TH a 1\n.SH\n"
    assert one(text).text == text
