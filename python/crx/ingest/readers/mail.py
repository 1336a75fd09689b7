"""Reader of mail: messages (EML, Outlook's MSG) and mailboxes (MBOX), with their attachments.

A message is a document of its headers and its text, plain or else from HTML. In a mailbox its URI
ends with `#` and the message's number. An attachment is a document of its own, whose URI also has
its name; it is read by the reader of its extension. Attachments that no reader claims, such as
pictures, are only named in the metadata. The text of a forwarded message follows that of the
message that forwards it.

The documents that can be read are yielded first; then one `InputError` names the attachments that
cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime

from crx.errors import InputError, NotText
from crx.ingest.readers import html, reader_for
from crx.ingest.readers.binary import OLE
from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.unread_parts import describe_unread
from crx.plugins import load_format
from crx.types import Document, Scalar

# Messages of Outlook are recognized by their content: other programs name plain text .msg.
extensions = (".eml", ".mbox")

# Bytes of the attachments of one file that are read.
MAX_ATTACHED = 64_000_000
_MOST_PARTS = 100  # of one message
# Characters of a header that are read, about 1,000 addresses.
_HEADER_CHARS = 30_000
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
_FROM = re.compile(rb"^From [^\r\n]*\d\d:\d\d[^\r\n]*\r?\n", re.MULTILINE)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
# What the standard library raises for malformed headers and bodies.
_MALFORMED = (
    MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError,
    RecursionError,
)  # fmt: skip


class _Policy(EmailPolicy):
    """The policy that parses a header when it is asked for, but no more than its beginning.

    The time that the standard library takes grows with the square of a header's length.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_HEADER_CHARS]


_POLICY = _Policy()


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield each message and its attachments, then raise `InputError` if any was bad."""
    reading = _MailReader()
    messages = list(_messages(data))
    is_mailbox = len(messages) > 1 or name.lower().endswith(".mbox")
    for number, source in enumerate(messages, start=1):
        if is_mailbox:
            yield from reading.read(source, f"{name}#{number}", attached=f"{name}#{number}/")
        else:
            yield from reading.read(source, name, attached=f"{name}#")
    reading.finish()


@dataclass(frozen=True, slots=True)
class Letter:
    """A message: its headers and text, those that it forwards, and the attached files by name."""

    parts: Sequence[tuple[Mapping[str, str], str]]
    files: Sequence[tuple[str, bytes]]
    format: str = "eml"


class _MailReader:
    """The state of reading a file: what could not be read, and how much more may be."""

    def __init__(self) -> None:
        self._bad: list[str] = []
        self._left = MAX_ATTACHED
        self._count = 0

    def read(self, source: bytes, uri: str, *, attached: str) -> Iterator[Document]:
        """Yield a message and its attachments, whose URIs begin with `attached`."""
        try:
            letter = _parse(source)
            document = _document(letter, uri)
        except _MALFORMED as failed:
            self._bad.append(f"{_place(uri)}is malformed: {type(failed).__name__}")
            return
        except InputError as why:
            self._bad.append(f"{_place(uri)}{why}")
            return
        named: list[Scalar] = [file for file, _ in letter.files]
        yield replace(
            document,
            metadata={**document.metadata, **({"attachments": named} if named else {})},
        )
        self._count += 1
        for ordinal, (file, content) in enumerate(letter.files, start=1):
            yield from self._read_attachment(
                file, content, f"{attached}{ordinal}-{file}", part_of=document.title
            )

    def finish(self) -> None:
        """Raise `InputError` if anything could not be read."""
        if not self._bad:
            return
        read = f"{self._count} messages" if self._count else ""
        raise InputError(describe_unread(self._bad, read=read))

    def _read_attachment(
        self, file: str, content: bytes, uri: str, *, part_of: str
    ) -> Iterator[Document]:
        self._left -= len(content)
        if self._left < 0:
            self._bad.append(f"{file}: more than {MAX_ATTACHED // 1_000_000} MB are attached")
            return
        try:
            yield from _documents(content, uri, part_of=part_of)
        except NotText:
            return
        except InputError as why:
            self._bad.append(f"{file} {why}")


def _place(uri: str) -> str:
    """Return which message of a mailbox a URI names, or ""."""
    number = uri.rpartition("#")[2] if "#" in uri else ""
    return f"message {number} " if number.isdecimal() else ""


def _messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a mailbox, or the whole of a file that is one message."""
    starts = [match.span() for match in _FROM.finditer(data)] if _FROM.match(data) else []
    if not starts:
        yield data
        return
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for (_, start), end in zip(starts, ends, strict=True):
        yield _QUOTED_FROM.sub(rb"\1", data[start:end])


def _parse(source: bytes) -> Letter:
    if source.startswith(OLE):
        return Letter(*load_format("crx.mail", "msg")(source), format="msg")
    message = message_from_bytes(source, policy=_POLICY)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise InputError("is no message: has no headers")
    parts = [(dict(_headers(part)), _body(part)) for part in _messages_within(message)]
    return Letter(parts, _attachments(message))


def _document(letter: Letter, uri: str) -> Document:
    text = TextBuilder()
    headers, _ = letter.parts[0]
    for own, body in letter.parts:
        text.add("\n".join(f"{name}: {value}" for name, value in own.items() if value))
        text.add(body)
    metadata: dict[str, Scalar | list[Scalar]] = {"format": letter.format}
    if headers["From"]:
        metadata["author"] = headers["From"]
    if date := _date(headers["Date"]):
        metadata["date"] = date
    if not text:
        raise InputError("has no text")
    return text.build(uri, title=headers["Subject"], metadata=metadata)


def _messages_within(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield a message and those that are forwarded in it."""
    yield message
    for number, part in enumerate(message.walk()):
        if number > _MOST_PARTS:
            return
        inner = part.get_payload() if part.get_content_type() == "message/rfc822" else None
        if isinstance(inner, list) and inner and isinstance(inner[0], EmailMessage):
            yield inner[0]


def _headers(message: EmailMessage) -> Iterator[tuple[str, str]]:
    return ((name, squeeze(str(message[name] or ""))) for name in _HEADERS)


def _body(message: EmailMessage) -> str:
    """Return the text of a message: its plain part, or the visible text of its HTML part."""
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes) or not content.strip():
        return ""
    if part.get_content_subtype() == "html":
        return html.read_page(content).text
    return decode(content, declared=part.get_content_charset() or "").text


def _date(written: str) -> str:
    try:
        return parsedate_to_datetime(written).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _attachments(message: EmailMessage) -> list[tuple[str, bytes]]:
    """Return the names and the bytes of the attached files."""
    found: list[tuple[str, bytes]] = []
    for number, part in enumerate(message.walk()):
        if number > _MOST_PARTS:
            break
        file = part.get_filename() if number else None
        content = part.get_payload(decode=True) if file else None
        if file and isinstance(content, bytes):
            found.append((squeeze(file.replace("\\", "/").rpartition("/")[2]) or "file", content))
    return found


def _documents(content: bytes, uri: str, *, part_of: str) -> Iterator[Document]:
    """Yield the documents of an attachment, if a reader claims its extension."""
    extension = uri[uri.rfind(".") :].lower()
    reader = reader_for(extension)
    if reader is None or extension in extensions:
        return
    for document in reader.read(content, name=uri):
        metadata = {**document.metadata, "as_written": False, "ext": extension.removeprefix(".")}
        if part_of:
            metadata["part_of"] = part_of
        yield replace(document, metadata=metadata)
