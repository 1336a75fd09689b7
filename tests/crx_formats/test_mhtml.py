"""Web pages that a browser saved as one file."""

from __future__ import annotations

import pytest

from crx.errors import InputError
from crx.ingest.read import read_bytes

PAGE = b"""From: <Saved by a browser>
Subject: =?utf-8?B?U8OkZ2U=?=
MIME-Version: 1.0
Content-Type: multipart/related; boundary="b"

--b
Content-Type: text/html; charset=iso-8859-2
Content-Transfer-Encoding: quoted-printable

<title>Saws</title><h1>Kinds</h1><p>P=F8=EDstav saws a=
re long.</p>
--b
Content-Type: image/png
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--b
Content-Type: text/html

<p>In a frame.
--b--
"""


def test_a_saved_page_is_the_text_of_the_page_and_of_its_frames() -> None:
    (document,) = read_bytes(PAGE, name="a.mhtml")
    assert document.text == "Kinds\n\nPřístav saws are long.\n\nIn a frame."
    assert (document.title, document.metadata["format"]) == ("Saws", "mhtml")
    assert [mark.label for mark in document.marks] == ["Kinds"]


def test_a_saved_page_without_a_title_has_the_subject() -> None:
    page = PAGE.replace(b"<title>Saws</title><h1>Kinds</h1>", b"")
    (document,) = read_bytes(page, name="a.mht")
    assert document.title == "Säge"


def test_what_holds_no_page_says_so() -> None:
    with pytest.raises(InputError, match="has no web page in it"):
        list(read_bytes(b"Subject: a\n\nwords", name="a.mht"))
