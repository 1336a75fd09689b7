"""Rich Text Format: paragraphs, headings, tables and properties."""

from __future__ import annotations

import pytest
from zipped import damaged

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document

HANDBOOK = rb"""{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 Times;}}
{\stylesheet{\s1\outlinelevel0 heading 1;}}
{\info{\title The Handbook}{\author Ann \'c9mile}}
{\*\generator x;}\pard\s1\outlinelevel0 Roads\par
\pard Caf\'e9 \u8212?\u-10179?\u-8704? long\par
\pard\outlinelevel1 Tar \b and\b0  stone\par
\trowd\cellx100\cellx200 year\cell miles | km\cell\row 1901\cell 12\cell\row
\pard{\pict\pngblip 0011""" + b"ab" * 600 + rb"""}end\par}"""  # fmt: skip


def one(data: bytes, name: str = "/x/long_roads.rtf") -> Document:
    """Read bytes that hold one document."""
    (document,) = read_bytes(data, name=name)
    return document


def test_paragraphs_tables_and_headings() -> None:
    document = one(HANDBOOK)
    assert document.text == (
        "Roads\n\nCafé —\U0001f600 long\n\nTar and stone\n\nyear\tmiles | km\n1901\t12\n\nend"
    )
    assert [(m.label, m.level) for m in document.marks] == [("Roads", 1), ("Tar and stone", 2)]


def test_properties_are_in_the_encoding_of_the_file() -> None:
    assert one(HANDBOOK).title == "The Handbook"
    assert one(HANDBOOK).metadata == {"ext": "rtf", "author": "Ann Émile", "format": "rtf"}
    russian = rb"{\rtf1\ansi\ansicpg1251{\info{\title \'c0\'e1\'e2}}\'c0}"
    assert (one(russian).title, one(russian).text) == ("Абв", "А")


def test_letters_behind_a_backslash_of_the_text_are_no_control_word() -> None:
    paths = rb"D:\\mac D:\\bin D:\\cell D:\\outlinelevel1 D:\\footnote \'e9\\\b \u-196\\\par"
    document = one(rb"{\rtf1\ansi{\info{\title C:\\pc \'e9}}" + paths + rb"\pard\cell oak\\\cell}")
    assert document.text == "D:\\mac D:\\bin D:\\cell D:\\outlinelevel1 D:\\footnote é\\＼\n\noak\\"
    assert (document.title, document.marks) == ("C:\\pc é", ())


def test_footnotes_follow_the_text_and_boxes_their_paragraph() -> None:
    box = rb"{\shp{\*\shpinst\shpleft0{\sp{\sn type}{\sv 202}}{\shptxt \pard Boxed {\b words}\par}}"
    repeated = rb"{\shprslt{\*\do{\dptxbxtext Boxed words}}}}"
    note = rb"{\super\chftn}{\footnote\pard\plain \chftn Built by masons {\i in} 1912.}"
    drawn = rb"{\*\do\dobxcolumn{\dptxbxtext Drawn words}}"
    data = (
        rb"{\rtf1 The bridge" + note + rb" is old" + box + repeated + rb".\par End" + drawn + rb"}"
    )
    assert one(data).text == (
        "The bridge[1] is old\n\nBoxed words\n\n.\n\nEnd\n\nDrawn words\n\n"
        "[1] Built by masons in 1912."
    )


def test_a_file_of_groups_within_groups_is_read_in_one_pass() -> None:
    for group in (rb"{\footnote a", rb"{\shp{\shptxt a", rb"{", rb"{\*\do "):
        data = rb"{\rtf1 words " + group * 20_000 + b"}" * 30_000
        assert one(data).text.startswith("words")


def test_a_file_without_a_title_has_its_name() -> None:
    assert one(rb"{\rtf1 words}").title == "long roads"


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"words", "is not in Rich Text Format"), (rb"{\rtf1 }", "has no text")],
)
def test_what_holds_no_text_says_so(data: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        one(data)


def test_a_damaged_file_is_read_or_refused_in_one_line() -> None:
    for copy in damaged(HANDBOOK, count=300):
        try:
            document = one(copy)
        except InputError as why:
            assert "\n" not in str(why)  # noqa: PT017
        else:
            assert all(0 <= m.start < m.end <= len(document.text) for m in document.marks)
