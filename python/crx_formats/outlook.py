"""Messages of Outlook (MSG): headers, text and attachments, for the reader of mail.

The text is the plain one, else that of the HTML. Messages that are attached are left out.
"""

from __future__ import annotations

import codecs
import re
import struct
from collections.abc import Callable, Mapping
from functools import partial

from oxmsg import Message
from oxmsg.attachment import Attachment
from oxmsg.domain.model import UnrecognizedCodePageError, UnsupportedEncodingError

from crx.errors import InputError
from crx.ingest.readers import html
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.mime import Letter
from crx.ingest.readers.normal_text import normalize

# What oxmsg and olefile raise for malformed files; OSError is olefile's own.
_DAMAGES = (
    OSError, ValueError, LookupError, TypeError, AttributeError, AssertionError, struct.error,
)  # fmt: skip
# The properties of a message that give its code page (PidTagInternetCodepage and
# PidTagMessageCodepage), before their value.
_CODE_PAGE = re.compile(rb"(\x03\x00[\xde\xfd]\x3f.{4}).{4}", re.DOTALL)
_LATIN_1 = struct.pack("<I", 28_591)
# Code pages that Python has under another name than oxmsg gives it, as `codecs` asks for them.
_CODE_PAGES = {
    "dos_720": "cp720", "windows_874": "cp874", "windows_950": "cp950", "x_mac_greek": "mac_greek",
    "x_mac_cyrillic": "mac_cyrillic", "x_mac_ce": "mac_latin2", "x_mac_icelandic": "mac_iceland",
    "x_mac_turkish": "mac_turkish",
}  # fmt: skip


def parse(data: bytes) -> Letter:
    """Return a message's headers, text and attached files; what cannot be read is left out."""
    left_out = LeftOut()
    try:
        message, sent = _load(data)
    except (UnrecognizedCodePageError, UnsupportedEncodingError) as failed:
        left_out.add("characters of its code page", str(failed))
        message, sent = _load(_CODE_PAGE.sub(rb"\1" + _LATIN_1, data))
    headers = {
        name: squeeze(left_out.attempt(name, make, plain=sent.get(name.lower(), "")))
        for name, make in _headers(message, sent).items()
    }
    text = left_out.attempt("text", lambda: _plain_text(message), plain="")
    text = text or left_out.attempt("HTML", lambda: _html_text(message), plain="")
    attached: tuple[Attachment, ...] = left_out.attempt(
        "attachments", lambda: message.attachments, plain=()
    )
    files = [
        file
        for number, each in enumerate(attached, start=1)
        if (file := left_out.attempt(f"attachment {number}", partial(_file, each), plain=None))
    ]
    return Letter([(headers, text)], files, format="msg", left_out=left_out.metadata())


def _load(data: bytes) -> tuple[Message, Mapping[str, str]]:
    """Return a message and the headers that were sent, by name in lower case."""
    try:
        message = Message.load(data)
        return message, {name.lower(): value for name, value in message.message_headers.items()}
    except _DAMAGES as failed:
        raise InputError(
            f"is a damaged or another Outlook file: {squeeze(str(failed))}"
        ) from failed


def _headers(message: Message, sent: Mapping[str, str]) -> dict[str, Callable[[], str]]:
    """Return what makes each header: that which was sent, else the property of a draft."""
    return {
        "From": lambda: message.sender or "",
        "To": lambda: sent.get("to") or _recipients(message),
        "Cc": lambda: sent.get("cc", ""),
        "Date": lambda: sent.get("date") or _date(message),
        "Subject": lambda: message.subject or "",
    }


def _date(message: Message) -> str:
    date = message.sent_date
    return date.strftime("%a, %d %b %Y %H:%M:%S %z") if date else ""


def _recipients(message: Message) -> str:
    return ", ".join(_name(each.name, each.email_address) for each in message.recipients)


def _file(attachment: Attachment) -> tuple[str, bytes] | None:
    """Return the name of an attached file and its bytes, None for another attachment."""
    content = attachment.file_bytes
    name = squeeze(attachment.file_name or "").replace("\\", "/").rpartition("/")[2] or "file"
    return (name, content) if content else None


def _name(name: str, address: str) -> str:
    return f"{name} <{address}>" if name and address and name != address else name or address


def _plain_text(message: Message) -> str:
    return normalize((message.body or "").strip())


def _html_text(message: Message) -> str:
    source = (message.html_body or "").strip()
    return html.read_page(source.encode()).text if source else ""


def _find_code_page(name: str) -> codecs.CodecInfo | None:
    """Return the codec of a code page under the name that oxmsg has for it."""
    return codecs.lookup(_CODE_PAGES[name]) if name in _CODE_PAGES else None


codecs.register(_find_code_page)
