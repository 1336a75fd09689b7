"""What Outlook sends as `winmail.dat`: text and files of a mail."""

from __future__ import annotations

import struct
from email.message import EmailMessage

import pytest
from zipped import damaged

from crx.errors import InputError
from crx.ingest.read import read_bytes
from crx.types import Document
from crx_formats.tnef import parse

RICH = rb"{\rtf1\ansi A long \b bridge\b0  and a long road}"


def attribute(number: int, value: bytes) -> bytes:
    """Return an attribute with its checksum."""
    return struct.pack("<BII", 1, number, len(value)) + value + b"\0\0"


def properties(**values: bytes) -> bytes:
    """Return properties of bytes, each by its number such as `x1009`."""
    packed = struct.pack("<I", len(values))
    for number, value in values.items():
        padded = value + bytes(-len(value) % 4)
        packed += struct.pack("<HHII", 0x102, int(number[1:], 16), 1, len(value)) + padded
    return packed


def tnef(*attributes: bytes) -> bytes:
    """Return a TNEF file."""
    return b"\x78\x9f\x3e\x22\1\0" + b"".join(attributes)


def compressed(rich: bytes) -> bytes:
    """Return Rich Text in compressed form, whose opening refers to what all texts share."""
    shared = b"{\\rtf1\\ansi"
    packed = bytes((1,)) + struct.pack(">H", len(shared) - 2) + rich[len(shared) :][:7]
    rest = rich[len(shared) + 7 :]
    for at in range(0, len(rest), 8):
        packed += b"\0" + rest[at : at + 8]
    return struct.pack("<II4sI", len(packed) + 12, len(rich), b"LZFu", 0) + packed


STORED = struct.pack("<II4sI", 0, len(RICH), b"MELA", 0) + RICH
PLAIN = attribute(0x0002800C, "Die Brücke ist lang.\0".encode("cp1252"))
CODE_PAGE = attribute(0x00069007, struct.pack("<II", 1252, 0))
FILE = (
    attribute(0x00069002, bytes(14)),
    attribute(0x00018010, b"PRICES~1.TXT\0"),
    attribute(0x0006800F, b"Tar is dear."),
    attribute(0x00069005, properties(x3707=b"prices of tar.txt\0")),
)


def test_the_text_is_in_the_code_page_of_the_file_and_files_have_their_long_names() -> None:
    found = parse(tnef(CODE_PAGE, PLAIN, *FILE))
    assert found == ("Die Brücke ist lang.", [("prices of tar.txt", b"Tar is dear.")])


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (properties(x1013=b"<p>A <b>bridge</b>\0"), "A bridge"),
        (properties(x1009=compressed(RICH)), "A long bridge and a long road"),
        (properties(x1009=STORED), "A long bridge and a long road"),
    ],
)
def test_a_message_without_plain_text_is_that_of_its_other_form(written: bytes, text: str) -> None:
    assert " ".join(parse(tnef(attribute(0x00069003, written)))[0].split()) == text


def test_a_mail_has_the_text_and_the_files_of_its_winmail_dat() -> None:
    inner = tnef(CODE_PAGE, PLAIN)
    nested = attribute(0x00069005, properties(x3701=bytes(16) + inner))
    message = EmailMessage()
    message["Subject"] = "Tar"
    message.add_attachment(
        tnef(PLAIN, *FILE, attribute(0x00069002, bytes(14)), nested),
        maintype="application",
        subtype="ms-tnef",
        filename="winmail.dat",
    )
    documents: list[Document] = list(read_bytes(message.as_bytes(), name="a.eml"))
    assert documents[0].text == "Subject: Tar\n\n" + "\n\n".join(["Die Brücke ist lang."] * 2)
    assert [(document.uri, document.text) for document in documents[1:]] == [
        ("a.eml#1-prices of tar.txt", "Tar is dear.")
    ]


def test_damaged_data_is_read_or_refused_in_one_line() -> None:
    data = tnef(CODE_PAGE, attribute(0x00069003, properties(x1009=compressed(RICH))), *FILE)
    reasons = []
    for copy in damaged(data, count=300):
        try:
            parse(copy)
        except InputError as why:
            reasons.append(str(why))
    assert reasons
    assert not any("\n" in reason for reason in reasons)
