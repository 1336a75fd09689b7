"""Messages of Outlook (MSG): headers, text and attachments, for the reader of mail.

The text is the plain one, else that of the HTML. Messages that are attached are left out.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from oxmsg import Message

from crx.errors import InputError
from crx.ingest.readers import html
from crx.ingest.readers.decode import normalize
from crx.ingest.readers.file_title import squeeze

# What oxmsg and olefile raise for malformed files; OSError is olefile's own.
_DAMAGES = (
    OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError, struct.error,
)  # fmt: skip


def parse(data: bytes) -> tuple[list[tuple[Mapping[str, str], str]], list[tuple[str, bytes]]]:
    """Return a message's headers and text, and the attached files by name."""
    try:
        message = Message.load(data)
        headers = {name: squeeze(value) for name, value in _headers(message).items()}
        text = _body(message)
        files = [
            (squeeze(file.file_name or "").replace("\\", "/").rpartition("/")[2] or "file", content)
            for file in message.attachments
            if (content := file.file_bytes)
        ]
    except _DAMAGES as failed:
        raise InputError(
            f"is a damaged or another Outlook file: {squeeze(str(failed))}"
        ) from failed
    return [(headers, text)], files


def _headers(message: Message) -> dict[str, str]:
    """Return the headers; those that were sent, else the properties of a draft."""
    sent = {name.lower(): value for name, value in message.message_headers.items()}
    date = message.sent_date
    to = ", ".join(_name(each.name, each.email_address) for each in message.recipients)
    return {
        "From": message.sender or sent.get("from", ""),
        "To": sent.get("to", to),
        "Cc": sent.get("cc", ""),
        "Date": sent.get("date", "") or (date.strftime("%a, %d %b %Y %H:%M:%S %z") if date else ""),
        "Subject": message.subject or sent.get("subject", ""),
    }


def _name(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and address and name != address else name or address


def _body(message: Message) -> str:
    if plain := (message.body or "").strip():
        return normalize(plain)
    if source := (message.html_body or "").strip():
        return html.read_page(source.encode()).text
    return ""
