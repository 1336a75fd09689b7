"""Reader of mail: messages (EML, EMLX, Outlook's MSG), mailboxes (MBOX), and attachments.

A message is a document of its headers and the text of its parts (`mime`). In a mailbox its URI
ends with `#` and the message's number. An attachment is a document of its own, whose URI also has
its name; it is read as a file of a folder is, a message as a message. Attachments that are no text,
such as pictures, are only named in the metadata. The text of a forwarded message stands where it
stands in the message that forwards it.

The documents that can be read are yielded first; then one `InputError` names the attachments that
cannot.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import chain

from crx.errors import InputError, NothingToRead, NotText
from crx.ingest.formats import ARCHIVES, suffix
from crx.ingest.readers import load_reader
from crx.ingest.readers.binary import OLE
from crx.ingest.readers.content import POSTMARK, UNREADABLE
from crx.ingest.readers.file_title import name_title
from crx.ingest.readers.find_reader import find_reader
from crx.ingest.readers.mime import MALFORMED, Letter, parse
from crx.ingest.readers.text_builder import TextBuilder
from crx.ingest.unread_parts import describe_unread
from crx.plugins import load_format
from crx.types import Document, Scalar

# Messages of Outlook are recognized by their content: other programs name plain text .msg.
extensions = (".eml", ".emlx", ".mbox")

# Bytes of the attachments of one file that are read.
MAX_ATTACHED = 64_000_000
# Messages in attached messages that are read.
_MOST_LEVELS = 10
# Addresses of recipients that can be filtered by.
_MOST_ADDRESSES = 1_000
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_EMLX = re.compile(rb"\s{0,20}(\d{1,10})[ \t]{0,20}\r?\n")
_PGP = b"-----BEGIN PGP"  # a signature or a key
_BETWEEN_ADDRESSES = re.compile(r"[\s<>,;:\"'()\[\]]+")


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield each message and its attachments, then raise `InputError` if any was bad."""
    reading = _MailReader()
    yield from reading.read(data, name)
    reading.finish()


class _MailReader:
    """The state of reading a file: what could not be read, and how much more may be."""

    def __init__(self) -> None:
        self._bad: list[str] = []
        self._left = MAX_ATTACHED
        self._count = self._blank = 0

    def read(self, data: bytes, uri: str, *, level: int = 0) -> Iterator[Document]:
        """Yield the messages of a file, and what is attached to them."""
        data = data.removeprefix(BOM_UTF8).lstrip(b"\r\n")
        messages = _messages(data, emlx=suffix(uri) == ".emlx")
        first, second = next(messages), next(messages, None)
        within = "/" if level else "#"
        if second is None and suffix(uri) != ".mbox":
            yield from self._read_message(first, uri, attached=uri + within, level=level)
            return
        sources = chain((first,), () if second is None else (second,), messages)
        for number, source in enumerate(sources, start=1):
            own = f"{uri}{within}{number}"
            yield from self._read_message(source, own, attached=f"{own}/", level=level)

    def _read_message(
        self, source: bytes, uri: str, *, attached: str, level: int
    ) -> Iterator[Document]:
        """Yield a message and its attachments, whose URIs begin with `attached`."""
        try:
            letter = _parse(source)
            document = _document(letter, uri)
        except MALFORMED as failed:
            self._bad.append(f"{_place(uri)}is malformed: {type(failed).__name__}")
            return
        except NotText:
            self._blank += 1
            return
        except InputError as why:
            self._bad.append(f"{_place(uri)}{why}")
            return
        yield document
        self._count += 1
        for ordinal, (file, content) in enumerate(letter.files, start=1):
            yield from self._read_attachment(
                file,
                content,
                f"{attached}{ordinal}-{file}",
                part_of=document.title,
                level=level,
            )

    def finish(self) -> None:
        """Raise `InputError` if anything could not be read, `NotText` if there is no text."""
        if not self._bad:
            if self._blank and not self._count:
                raise NothingToRead("has no text")
            return
        read = f"{self._count} messages" if self._count else ""
        raise InputError(describe_unread(self._bad, read=read))

    def _read_attachment(
        self, file: str, content: bytes, uri: str, *, part_of: str, level: int
    ) -> Iterator[Document]:
        self._left -= len(content)
        if self._left < 0:
            self._bad.append(f"{file}: more than {MAX_ATTACHED // 1_000_000} MB are attached")
            return
        extension = suffix(uri)
        if extension in extensions or (extension == ".msg" and content.startswith(OLE)):
            if level == _MOST_LEVELS:
                self._bad.append(f"{file}: is attached to more than {_MOST_LEVELS} messages")
            else:
                yield from self.read(content, uri, level=level + 1)
            return
        try:
            yield from _documents(content, uri, file=file, part_of=part_of)
        except NotText:
            return
        except InputError as why:
            self._bad.append(f"{file} {why}")


def _place(uri: str) -> str:
    """Return which message of a mailbox a URI names, or ""."""
    number = uri.rpartition("#")[2] if "#" in uri else ""
    return f"message {number} " if number.isdecimal() else ""


def _messages(data: bytes, *, emlx: bool) -> Iterator[bytes]:
    """Yield the messages of a mailbox, or the whole of a file that is one message.

    A message of Apple Mail is between its size and a property list.
    """
    if emlx and (size := _EMLX.match(data)):
        yield data[size.end() : size.end() + int(size[1])]
        return
    if not data.startswith(b"From "):
        yield data
        return
    start = data.find(b"\n") + 1  # the first line is a postmark whatever it has
    for postmark in POSTMARK.finditer(data, max(start - 1, 1)):
        yield _QUOTED_FROM.sub(rb"\1", data[start : postmark.start()])
        start = postmark.end()
    yield _QUOTED_FROM.sub(rb"\1", data[start:])


def _parse(source: bytes) -> Letter:
    if source.startswith(OLE):
        letter: Letter = load_format("crx.mail", "msg")(source)
        return letter
    return parse(source)


def _document(letter: Letter, uri: str) -> Document:
    text = TextBuilder()
    headers, _ = letter.parts[0]
    for own, body in letter.parts:
        text.add("\n".join(f"{name}: {value}" for name, value in own.items() if value))
        text.add(body)
    metadata: dict[str, Scalar | list[Scalar]] = {"format": letter.format, **letter.left_out}
    if headers["From"]:
        metadata["author"] = headers["From"]
    if sender := _addresses(headers["From"]):
        metadata["from"] = sender[0]
    if recipients := _addresses(f"{headers['To']}, {headers['Cc']}"):
        metadata["to"] = recipients
    if date := _date(headers["Date"]):
        metadata["date"] = date
    if letter.files:
        metadata["attachments"] = [file for file, _ in letter.files]
    if not text:
        raise NothingToRead("has no text")
    return text.build(uri, title=headers["Subject"], metadata=metadata)


def _addresses(header: str) -> list[Scalar]:
    """Return the addresses in a header, in lower case."""
    words = _BETWEEN_ADDRESSES.split(header.lower())
    return [*dict.fromkeys(word for word in words if "@" in word.strip("@"))][:_MOST_ADDRESSES]


def _date(written: str) -> str:
    try:
        return parsedate_to_datetime(written).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _documents(content: bytes, uri: str, *, file: str, part_of: str) -> Iterator[Document]:
    """Yield the documents of an attachment.

    Archives have none, nor have messages by content and formats without a reader.
    """
    extension = suffix(file)
    if content.startswith(_PGP) or extension in ARCHIVES or extension in UNREADABLE:
        return
    reader = find_reader(content, name=file)
    if reader is load_reader("mail"):
        return
    for document in reader.read(content, name=uri):
        metadata = {**document.metadata, "as_written": False, "ext": extension.removeprefix(".")}
        title = document.title
        if "title_from" in metadata or not title:
            title, metadata["title_from"] = name_title(file), "name"
        if part_of:
            metadata["part_of"] = part_of
        yield replace(document, title=title, metadata=metadata)
