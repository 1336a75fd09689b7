"""Outlook messages: headers, text and attachments, as other mail."""

from __future__ import annotations

import pytest
from compound import outlook_message
from oxmsg import Message
from zipped import damaged, docx

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document

SENT = "From: Ann <ann@example.org>\nTo: bob@example.org\nDate: Wed, 01 May 2024 10:00:00 +0000\n"
WORD = docx("<w:p><w:r><w:t>Bridges</w:t></w:r></w:p>")
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
WHOLE = outlook_message(
    subject="Röads",
    body="Tar\r\nand stone",
    headers=SENT,
    files={"b.docx": WORD, "c.png": PNG},
)


def read(data: bytes) -> list[Document]:
    """Return the documents of a message."""
    return list(read_bytes(data, name="a.msg"))


def test_a_message_is_its_headers_and_its_text_and_attachments_follow() -> None:
    mail, word = read(WHOLE)
    assert mail.text == (
        "From: Ann <ann@example.org>\nTo: bob@example.org\n"
        "Date: Wed, 01 May 2024 10:00:00 +0000\nSubject: Röads\n\nTar\nand stone"
    )
    assert mail.title == "Röads"
    assert mail.metadata == {
        "ext": "msg", "format": "msg", "author": "Ann <ann@example.org>", "date": "2024-05-01",
        "from": "ann@example.org", "to": ["bob@example.org"],
        "attachments": ["b.docx", "c.png"],
    }  # fmt: skip
    assert (word.uri, word.text, word.metadata["part_of"]) == ("a.msg#1-b.docx", "Bridges", "Röads")


def test_html_is_read_if_there_is_no_plain_text() -> None:
    (mail,) = read(outlook_message(subject="A", html="<p>Tar &amp; stone</p>"))
    assert mail.text == "Subject: A\n\nTar & stone"


@pytest.mark.parametrize(
    ("code_page", "codec", "text"),
    [(950, "cp950", "圖書館開放時間"), (874, "cp874", "ห้องสมุด"), (10007, "mac_cyrillic", "Мост")],
)
def test_a_text_in_a_code_page_is_read(code_page: int, codec: str, text: str) -> None:
    (mail,) = read(
        outlook_message(subject="A", encoded_body=text.encode(codec), code_page=code_page)
    )
    assert mail.text == f"Subject: A\n\n{text}"


@pytest.mark.parametrize("code_page", [50930, 12345])
def test_a_message_in_an_unknown_code_page_keeps_what_is_in_others(code_page: int) -> None:
    (mail,) = read(outlook_message(subject="Röads", encoded_body=b"Tar", code_page=code_page))
    assert mail.text == "Subject: Röads\n\nTar"
    assert mail.metadata["left_out"] == ["characters of its code page"]


def test_a_property_that_fails_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise KeyError("broken")

    for name in ("sender", "sent_date", "subject", "body", "recipients", "attachments"):
        with monkeypatch.context() as broken:
            broken.setattr(Message, name, property(fail))
            (mail, *_) = read(outlook_message(subject="Tar", body="stone", html="<p>stone"))
            assert "Tar" in mail.text or "stone" in mail.text
            assert mail.metadata["left_out"]


def test_other_files_named_msg_are_text() -> None:
    source = b'::msgcat::mcset it "Cancel" "Annulla"\n'
    (document,) = read_bytes(source, name="it.msg")
    assert document.metadata["format"] == "text"
    assert next(read_bytes(WHOLE, name="a.msg")).metadata["format"] == "msg"


def test_a_damaged_message_is_read_or_refused_in_one_line() -> None:
    reasons = []
    for copy in damaged(WHOLE, count=150):
        try:
            read(copy)
        except InputError as why:
            reasons.append(str(why))
    assert reasons
    assert not any("\n" in reason for reason in reasons)


def test_another_compound_file_says_so() -> None:
    from compound import excel_97

    with pytest.raises(InputError, match="is a damaged or another Outlook file"):
        read(excel_97({"A": [["b"]]}))
