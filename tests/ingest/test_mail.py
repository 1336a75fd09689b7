"""Mail: messages, mailboxes, and attachments as documents of their own."""

from __future__ import annotations

from base64 import b64encode
from email.message import EmailMessage

import pytest
from zipped import damaged, docx

from crx.errors import InputError, NotText
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
    written.add_attachment(
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", maintype="image", subtype="png", filename="c.png"
    )
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
        "from": "ann@example.org",
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


def test_a_message_without_headers_is_its_text() -> None:
    (document,) = read(b"\n\nwords only")
    assert document.text == "words only"


def test_a_message_without_text_is_nothing_to_read() -> None:
    with pytest.raises(NotText, match="has no text"):
        read(b"X-Spam: no\n\n\n")


def test_a_damaged_message_is_read_or_refused_in_one_line() -> None:
    reasons = []
    for copy in damaged(with_attachments().as_bytes(), count=200):
        try:
            read(copy)
        except InputError as why:
            reasons.append(str(why))
    assert reasons
    assert not any("\n" in reason for reason in reasons)


def mixed(*parts: str, kind: str = "mixed", headers: str = "") -> bytes:
    """Return a message of parts, each with its headers."""
    bodies = "".join(f"--{kind}\n{part}\n" for part in parts)
    start = f"From: ann@example.org\nSubject: Roads\n{headers}"
    return (
        f'{start}Content-Type: multipart/{kind}; boundary="{kind}"\n\n{bodies}--{kind}--\n'.encode()
    )


PLAIN, HTML = "Content-Type: text/plain\n\n", "Content-Type: text/html; charset=utf-8\n\n"
EVENT = (
    "Content-Type: text/calendar; charset=utf-8\n\nBEGIN:VCALENDAR\nBEGIN:VEVENT\n{}\nEND:VEVENT"
)


def body(data: bytes) -> str:
    """Return the text of a message's document without its headers."""
    return read(data)[0].text.partition("\n\n")[2]


def either(plain: str, other: str) -> bytes:
    """Return a message of two alternatives."""
    return mixed(PLAIN + plain, other, kind="alternative")


BOTH = either("Plain.", HTML + "<p>Plain.").decode().partition("Roads\n")[2]
PATCH = "Content-Type: text/x-patch; name=a.unknown\nContent-Disposition: attachment\n\n+ tar"
STATUS = "Content-Type: message/delivery-status\n\nAction: failed\nStatus: 5.1.1\n"
LAUNCH = EVENT.format("SUMMARY:Launch\nLOCATION:Slip 4")
PICTURE = "Content-Type: image/png\n\nx"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (mixed(PLAIN + "Before.", PICTURE, PLAIN + "After."), "Before.\n\nAfter."),
        (mixed(HTML + "<p>Before.", PLAIN + "After."), "Before.\n\nAfter."),
        (either("", HTML + "<p>In HTML."), "In HTML."),
        (either("\u00a0", HTML + "<p>In HTML."), "In HTML."),
        (either("Use another program.", HTML + "<p>The pier is shut."), "The pier is shut."),
        (either("The pier is shut.", HTML + "<p>The <b>pier</b> is shut"), "The pier is shut."),
        (either("Come.", LAUNCH), "Come.\n\nLaunch\n\nLocation: Slip 4"),
        (mixed(PLAIN + "Above.", BOTH, PLAIN + "Below."), "Above.\n\nPlain.\n\nBelow."),
        (mixed(PATCH), "a.unknown\n\n+ tar"),
        (mixed(STATUS, kind="report"), "Action: failed\nStatus: 5.1.1"),
        (mixed("Content-Type: text/enriched\n\nA <bold>wide</bold> road"), "A wide road"),
    ],
)
def test_every_text_part_is_read_and_one_of_alternatives(data: bytes, text: str) -> None:
    assert body(data) == text


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        (b"=?gb2312?B?%s?=" % b64encode("朱镕基".encode("gbk")), "朱镕基"),
        (b"=?ks_c_5601-1987?B?%s?=" % b64encode("똠방".encode("cp949")), "똠방"),
        (b"=?iso-8859-1?Q?=93Pier=94_7_=80?=", "“Pier” 7 €"),
        (b"=?utf-8?B?4oI=?= =?utf-8?B?rCA3?= now", "€ 7 now"),
        (b"=?utf-8*en?Q?a?= =?koi8-r?B?wQ==?=", "aа"),
        (b"=?utf-8?B?!?= =?x", "=?utf-8?B?!?= =?x"),
        ("Der Fährplan für März".encode("latin-1"), "Der Fährplan für März"),
        ("Fährplan".encode(), "Fährplan"),
        ("关于码头的通知".encode("gbk"), "关于码头的通知"),
    ],
)
def test_headers_are_decoded_as_mail_programs_do(header: bytes, subject: str) -> None:
    charset = b"gb2312" if header == "关于码头的通知".encode("gbk") else b"iso-8859-1"
    source = b"Subject: " + header + b"\nContent-Type: text/plain; charset=" + charset + b"\n\na"
    assert read(source)[0].title == subject


def test_a_header_in_raw_bytes_is_in_the_encoding_of_the_text() -> None:
    source = "Subject: Grüße 8bit\n\nKörper, Straße und Brücke".encode("latin-1")
    assert read(source)[0].title == "Grüße 8bit"


@pytest.mark.parametrize("charset", ["iso-2022-jp", "utf-8", ""])
def test_a_header_in_the_bytes_of_iso_2022_is_decoded(charset: str) -> None:
    head = "Subject: 会議の予定について\n".encode("iso-2022-jp")
    declared = f"Content-Type: text/plain; charset={charset}\n".encode() if charset else b""
    assert read(head + declared + b"\na")[0].title == "会議の予定について"


def test_words_that_a_program_broke_are_whole() -> None:
    header = "Subject: x\nContent-Type: text/plain; format=flowed; DelSp=yes\n\n"
    text = "The light \nhou \nse is closed.\n> a quo \n> ted line \nmy answer\n-- \nAnn"
    assert body(header.encode() + text.encode()) == (
        "The lighthouse is closed.\n> a quo \n> ted line \nmy answer\n-- \nAnn"
    )


def test_blanks_at_the_ends_of_lines_part_words_unless_the_format_is_flowed() -> None:
    header = "Subject: x\nContent-Type: text/plain; DelSp=yes\n\n"
    text = "The lighthouse \nis closed."
    assert body(f"{header}{text}".encode()) == text


def test_text_is_decoded_by_the_header_and_not_by_the_page() -> None:
    page = '<meta charset="utf-8"><p>Plan městského přístavu'.encode("iso8859_2")
    written = b"Subject: a\nContent-Type: text/html; charset=iso-8859-2\n\n" + page
    assert body(written) == "Plan městského přístavu"


def test_an_attached_message_is_read_with_what_is_attached_to_it() -> None:
    inner = message("Inside.", subject="Inner")
    inner.add_attachment("# Deep\n", subtype="markdown", filename="d.md")
    outer = message("Outside.", subject="Outer")
    outer.add_attachment(
        inner.as_bytes(), maintype="application", subtype="octet-stream", filename="saved.eml"
    )
    documents = read(outer.as_bytes())
    assert [(document.uri, document.title) for document in documents] == [
        ("a.eml", "Outer"),
        ("a.eml#1-saved.eml", "Inner"),
        ("a.eml#1-saved.eml/1-d.md", "Deep"),
    ]


def test_messages_within_messages_end_somewhere() -> None:
    written = message("The innermost.")
    for _ in range(20):
        outer = message("Around.")
        outer.add_attachment(
            written.as_bytes(), maintype="application", subtype="x", filename="a.eml"
        )
        written = outer
    with pytest.raises(InputError, match=r"attached to more than 10 messages \(11 messages"):
        read(written.as_bytes())


def test_a_file_without_a_name_is_read_by_its_content() -> None:
    part = "Content-Type: application/octet-stream\n\n{\\rtf1 Bridges}"
    assert [(d.uri, d.text) for d in read(mixed(part))[1:]] == [("a.eml#1-file.rtf", "Bridges")]


def test_a_line_of_text_that_begins_as_a_postmark_splits_no_message() -> None:
    box = (
        b"From ann@example.org Wed May  1 10:00:00 2024\nSubject: One\n\nThe crane is free\n"
        b"From 09:30 until noon.\n\nFrom Ann, Wed May  1 10:00:00 2024\nto you\n\n"
        b"From bob@example.org Wed May  1 11:00:00 2024\nSubject: Two\n\nb\n"
    )
    documents = read(box, "a.mbox")
    assert [document.title for document in documents] == ["One", "Two"]
    assert "From 09:30 until noon." in documents[0].text


@pytest.mark.parametrize(
    "name",
    ["Maildir/cur/1709632800.M1P2.example.org:2,S", "Maildir/new/1709632800.1.md", "Inbox"],
)
def test_mail_is_recognized_without_an_extension(name: str) -> None:
    (document,) = read(message("Zażółć", subject="Łódź").as_bytes(), name)
    assert (document.title, document.metadata["format"]) == ("Łódź", "eml")


@pytest.mark.parametrize("text", [b"From: here\nto there\n", b"From: Ann\nTo: Bob\n\nDear Bob\n"])
def test_a_text_that_begins_like_a_header_is_text(text: bytes) -> None:
    assert read(text, "note")[0].metadata["format"] == "text"


def test_a_mailbox_without_an_extension_is_recognized_by_its_first_line() -> None:
    box = b"From ann@example.org Wed May  1 10:00:00 2024\n" + message().as_bytes()
    assert [document.title for document in read(box * 2, "mail/Inbox")] == ["Röads", "Röads"]


def test_a_message_of_apple_mail_stands_before_a_property_list() -> None:
    source = message("Tar.").as_bytes()
    (document,) = read(b"%d   \n" % len(source) + source + b"<?xml?><plist/>", "12.emlx")
    assert document.text.endswith("\n\nTar.\n") or document.text.endswith("\n\nTar.")


def test_sender_and_recipients_can_be_filtered_by_address() -> None:
    source = b'From: "Nowak, Z." <Zofia@example.pl>\nTo: Ole <o@example.no>, k@x.org\n'
    metadata = read(source + b"Cc: o@example.no\n\na")[0].metadata
    assert metadata["from"] == "zofia@example.pl"
    assert metadata["to"] == ["o@example.no", "k@x.org"]


def test_a_part_that_cannot_be_read_costs_that_part() -> None:
    data = mixed(
        PLAIN + "Before.",
        'Content-Type: application/ms-tnef\n\n\x78\u009f>"aa1234567890',
        PLAIN + "After.",
    )
    (document,) = read(data.decode().encode("latin-1"))
    assert document.text.endswith("Before.\n\nAfter.")
    assert document.metadata["left_out"] == ["part 3"]


def test_a_mailbox_is_read_message_by_message() -> None:
    box = b"From a@b Wed May  1 10:00:00 2024\nSubject: a\n\nb\n\n" * 1000 + b"\n"
    documents = read_bytes(box, name="a.mbox")
    assert next(documents).uri == "a.mbox#1"
    assert sum(1 for _ in documents) == 999


def der(tag: int, *contents: bytes, marked: bool = False) -> bytes:
    """Return a value of ASN.1; the end of a `marked` one is marked, its length is not given."""
    content = b"".join(contents)
    if marked:
        return bytes([tag, 0x80]) + content + b"\0\0"
    size = len(content).to_bytes(3, "big")
    return bytes([tag, 0x83]) + size + content


def s_mime(kind: str, *signed: bytes, marked: bool = False) -> bytes:
    """Return a message of a CMS type, by the digits of its object identifier."""
    octets = [der(0x04, part) for part in signed]
    text = der(0x24, *octets, marked=True) if marked else b"".join(octets)
    content = der(0x30, der(0x06, b"data"), der(0xA0, text, marked=marked), marked=marked)
    body = der(0x30, der(0x02, b"\1"), der(0x31), content, marked=marked)
    oid = der(0x06, bytes.fromhex(kind))
    whole = der(0x30, oid, der(0xA0, body, marked=marked), marked=marked)
    head = b"From: ann@example.org\nSubject: Winch\nContent-Type: application/pkcs7-mime\n"
    return head + b"Content-Transfer-Encoding: base64\n\n" + b64encode(whole)


SIGNED, ENVELOPED = "2a864886f70d010702", "2a864886f70d010703"


PIECES = (b"Content-Type: text/plain\n\nThe winch", b" is oiled.")


@pytest.mark.parametrize(
    "data", [s_mime(SIGNED, b"".join(PIECES)), s_mime(SIGNED, *PIECES, marked=True)]
)
def test_a_message_within_its_signature_is_read(data: bytes) -> None:
    (document,) = read(data)
    assert document.text == "From: ann@example.org\nSubject: Winch\n\nThe winch is oiled."


@pytest.mark.parametrize(
    "data",
    [
        s_mime(ENVELOPED, b"\1\2"),
        b"Subject: Winch\nContent-Type: multipart/encrypted; boundary=a\n\n--a\n\nb\n--a--\n",
    ],
    ids=["s/mime", "pgp"],
)
def test_an_encrypted_message_is_its_headers_and_says_so(data: bytes) -> None:
    (document,) = read(data)
    assert document.title == "Winch"
    reason = "is encrypted for its recipients; save a decrypted copy"
    assert document.metadata["left_out_reasons"] == [reason]


def test_a_damaged_signature_costs_its_part() -> None:
    whole = s_mime(SIGNED, b"Subject: x\n\nThe winch", marked=True)
    for cut in range(whole.index(b"\n\n") + 6, len(whole), 4):
        (document,) = read(whole[:cut])
        assert document.title == "Winch"


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\r\n\n", b"\xef\xbb\xbf\n"])
def test_a_byte_order_mark_and_blank_lines_stand_before_the_headers(before: bytes) -> None:
    (document,) = read(before + message().as_bytes())
    assert document.title == "Röads"


def test_attachments_are_read_as_files_of_a_folder_are() -> None:
    written = message()
    for name in ("harbours.toml", "NOTES"):
        written.add_attachment(b"quay = 7\n", maintype="application", subtype="x", filename=name)
    written.add_attachment(
        b"-----BEGIN PGP SIGNATURE-----\n", maintype="application", subtype="x", filename="s.asc"
    )
    found = {document.uri: document.text for document in read(written.as_bytes())[1:]}
    assert found == {"a.eml#1-harbours.toml": "quay = 7\n", "a.eml#2-NOTES": "quay = 7\n"}


def test_the_text_after_forwarded_messages_follows_theirs() -> None:
    inner = b"Content-Type: message/rfc822\n\nSubject: One\n\nKelp"
    parts = b"\n--b\n".join((b"", b"\nTopics", inner, b"\nThe end"))
    (document,) = read(b"Content-Type: multipart/mixed; boundary=b\n" + parts + b"\n--b--\n")
    assert document.text == "Topics\n\nSubject: One\n\nKelp\n\nThe end"


def test_a_message_forwarded_in_an_alternative_is_read_once_and_its_text_chosen() -> None:
    """As Apple Mail writes what it forwards as an attachment."""
    forwarded = "Content-Type: message/rfc822\n\nSubject: One\n\nKelp"
    rich = mixed(HTML + "<p>Topics", forwarded, HTML + "<p>The end").decode()
    rich = rich.partition("Roads\n")[2]
    (document,) = read(either("Topics and the end", rich))
    assert document.text.count("end") == 1
    assert "Topics and the end" in document.text
    assert document.text.count("Kelp") == 1


def test_attachments_that_nothing_reads_are_only_named() -> None:
    written = message()
    for name in ("x.pages", "plan.vsdx", "all.tar", "all.zip"):
        data = b"a.txt" + b"\0" * 500 + b"ustar"
        written.add_attachment(data, maintype="application", subtype="x", filename=name)
    (document,) = read(written.as_bytes())
    assert document.metadata["attachments"] == ["x.pages", "plan.vsdx", "all.tar", "all.zip"]
