"""Mail: messages, mailboxes, and attachments as documents of their own."""

from __future__ import annotations

from email.message import EmailMessage

import pytest
from zipped import damaged, docx

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document


def message(body: str = "A road is long.", *, subject: str = "Röads") -> EmailMessage:
    """Return a message from Ann."""
    written = EmailMessage()
    written["From"] = "Ann <ann@example.org>"
    written["Date"] = "Wed, 01 May 2024 10:00:00 +0200"
    written["Subject"] = subject
    written.set_content(body)
    return written


def read(data: bytes, name: str = "a.eml") -> list[Document]:
    """Return all documents of a file."""
    return list(read_bytes(data, name=name))


WORD = docx("<w:p><w:r><w:t>Bridges</w:t></w:r></w:p>")


def with_attachments(word: bytes = WORD) -> EmailMessage:
    """Return a message with a Word document, a picture and a text."""
    written = message()
    written.add_attachment(word, maintype="application", subtype="zip", filename="../b.docx")
    written.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="c.png")
    written.add_attachment("# Tar\n", subtype="markdown", filename="d.md")
    return written


def test_a_message_has_its_headers_and_its_text() -> None:
    (document,) = read(message().as_bytes())
    assert document.text == (
        "From: Ann <ann@example.org>\nDate: Wed, 01 May 2024 10:00:00 +0200\nSubject: Röads\n\n"
        "A road is long."
    )
    assert document.title == "Röads"
    assert document.metadata == {
        "ext": "eml",
        "format": "eml",
        "author": "Ann <ann@example.org>",
        "date": "2024-05-01",
    }


def test_a_message_in_html_is_its_visible_text() -> None:
    written = message()
    written.set_content("<p>A <b>road</b><script>x</script></p>", subtype="html")
    (document,) = read(written.as_bytes())
    assert document.text.endswith("\n\nA road")


def test_a_forwarded_message_follows_the_one_that_forwards_it() -> None:
    written = message("See below.")
    written.add_attachment(message("Bridges.", subject="Old"))
    (document,) = read(written.as_bytes())
    assert document.text.index("See below.") < document.text.index("Subject: Old\n\nBridges.")


def test_attachments_are_documents_of_their_own() -> None:
    mail, word, markdown = read(with_attachments().as_bytes())
    assert mail.metadata["attachments"] == ["b.docx", "c.png", "d.md"]
    assert (word.uri, word.text) == ("a.eml#1-b.docx", "Bridges")
    assert word.metadata["part_of"] == "Röads"
    assert (markdown.uri, markdown.title) == ("a.eml#3-d.md", "Tar")


def test_a_damaged_attachment_is_named_after_all_that_can_be_read() -> None:
    found: list[str] = []
    data = with_attachments(WORD[:100]).as_bytes()
    with pytest.raises(InputError, match=r"b\.docx is damaged.* \(1 messages were read\)"):
        found.extend(document.uri for document in read_bytes(data, name="a.eml"))
    assert found == ["a.eml", "a.eml#3-d.md"]


def test_attachments_are_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crx.ingest.readers.mail.MAX_ATTACHED", 10)
    with pytest.raises(InputError, match="are attached"):
        read(with_attachments().as_bytes())


def test_a_mailbox_is_a_document_for_each_message() -> None:
    first = message("One\n\n>From here on\n", subject="First")
    box = b"".join(
        b"From ann@example.org Wed May  1 10:00:00 2024\n" + each.as_bytes() + b"\n"
        for each in (first, with_attachments())
    )
    documents = read(box, "a.mbox")
    assert [document.uri for document in documents] == [
        "a.mbox#1",
        "a.mbox#2",
        "a.mbox#2/1-b.docx",
        "a.mbox#2/3-d.md",
    ]
    assert [document.uri for document in read(box)][:2] == ["a.eml#1", "a.eml#2"]
    assert documents[0].text.endswith("One\n\nFrom here on")


def test_what_is_no_message_says_so() -> None:
    with pytest.raises(InputError, match="is no message: has no headers"):
        read(b"\n\nwords only")


def test_a_damaged_message_is_read_or_refused_in_one_line() -> None:
    reasons = []
    for copy in damaged(with_attachments().as_bytes(), count=200):
        try:
            read(copy)
        except InputError as why:
            reasons.append(str(why))
    assert reasons
    assert not any("\n" in reason for reason in reasons)
