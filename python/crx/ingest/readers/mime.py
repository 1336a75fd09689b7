"""Messages of the Internet (MIME): headers, text parts in their order, and attached files.

Of alternatives one is taken: the plain one, unless that is blank or a notice that has few of the
other's words. A calendar is read beside them. A signed message is read, an encrypted one is its
headers. Labels of character sets are those of browsers; a header in raw bytes
is in the character set of the message.
"""

from __future__ import annotations

import binascii
import quopri
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import message_from_bytes
from email._policybase import Compat32
from email.errors import MessageError
from email.message import Message

from crx.errors import InputError, NotText
from crx.ingest.formats import suffix
from crx.ingest.readers import html, is_claimed, reader_for
from crx.ingest.readers.binary import TNEF
from crx.ingest.readers.content import reader_by_content
from crx.ingest.readers.decode import decode
from crx.ingest.readers.file_title import squeeze
from crx.ingest.readers.left_out import LeftOut
from crx.plugins import load_format
from crx.types import Scalar

# What the standard library raises for malformed headers and bodies.
MALFORMED = (
    MessageError, ValueError, LookupError, TypeError, AttributeError, AssertionError,
    RecursionError,
)  # fmt: skip
_HEADERS = ("From", "To", "Cc", "Date", "Subject")
# What ends a line within a paragraph, or a word (RFC 3676); the line above a signature is "-- ".
# Quoted lines are left as they are.
_SOFT_BREAK = re.compile(r"^(?!>|-- \n)(.*) \n(?![>\n])", re.MULTILINE)
# Characters of a header that are read, about 1,000 addresses.
_HEADER_CHARS = 30_000
# Parts of one message that are read.
_MOST_PARTS = 10_000
# A plain part of so many characters is no notice that another program shows the message.
_NOTICE_CHARS = 1_000
_LETTERS = re.compile(r"\w+")
_SIGNED = frozenset(("application/pkcs7-mime", "application/x-pkcs7-mime"))
_SILENT = frozenset(("text/css", "text/javascript", "text/x-amp-html"))
# Parts that are read by the reader of an extension, as text of the message.
_EXTENSIONS = {
    "text/calendar": ".ics",
    "text/rtf": ".rtf",
    "text/vcard": ".vcf",
    "text/x-vcard": ".vcf",
}
_MARKED_UP = frozenset(("text/enriched", "text/richtext"))
_WORD = re.compile(r"=\?([^?*\s]{1,60})(?:\*[^?\s]{0,60})?\?([bBqQ])\?([^?]*)\?=")
_COMMAND = re.compile(r"<(/?[A-Za-z-]{1,60})>")
_SURROGATE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Letter:
    """A message: its headers and text, those that it forwards, and the attached files by name.

    `left_out` is the metadata about parts that could not be read.
    """

    parts: Sequence[tuple[Mapping[str, str], str]]
    files: Sequence[tuple[str, bytes]]
    format: str = "eml"
    left_out: Mapping[str, Scalar | list[Scalar]] = field(default_factory=dict)


class _Policy(Compat32):
    """The policy that keeps a header as it is written, but no more than its beginning."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_HEADER_CHARS]

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value


_POLICY = _Policy()


def parse_message(source: bytes) -> Message:
    """Return a message as the standard library parses it."""
    return message_from_bytes(source, policy=_POLICY)


def parse(source: bytes) -> Letter:
    """Return a message; one without headers is its text."""
    message = parse_message(source)
    reading = _Reading(_default_charset(message))
    reading.open(message)
    reading.read(message)
    return Letter(
        [(headers, "\n\n".join(texts)) for headers, texts in reading.parts],
        reading.files,
        left_out=reading.left_out.metadata(),
    )


def _default_charset(message: Message) -> str:
    """Return the character set of the first text part that declares one, else what the first text
    beyond ASCII is in, or "".
    """
    parts = [part for part in message.walk() if part.get_content_maintype() == "text"]
    if declared := next(filter(None, (part.get_content_charset() for part in parts)), None):
        return declared
    beyond = (content for part in parts if not (content := content_of(part)).isascii())
    try:
        return decode(next(beyond)).encoding
    except (StopIteration, InputError, *MALFORMED):
        return ""


def _file_name(part: Message, charset: str = "") -> str:
    """Return the name of an attached file, without folders, or ""."""
    written = decode_header(part.get_filename() or "", charset)
    return written.replace("\\", "/").rpartition("/")[2].strip()


def content_of(part: Message) -> bytes:
    """Return the bytes of a part; b"" if it consists of others."""
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _parts_of(part: Message) -> list[Message] | None:
    """Return the parts that a part consists of, None if it has a content of its own."""
    inner = part.get_payload()
    if not isinstance(inner, list):
        return None
    return [each for each in inner if isinstance(each, Message)]


def decode_header(written: str, charset: str = "") -> str:
    """Return a header as one line, with its encoded words (RFC 2047) and raw bytes decoded."""
    is_shifted = "\x1b$" in written  # ISO 2022, whose bytes are those of ASCII
    if is_shifted or _SURROGATE.search(written):
        raw = written.encode("utf-8", "surrogateescape")
        written = _text(raw, "" if is_shifted else charset)
    if "=?" not in written:
        return squeeze(written)
    found: list[str] = []
    waiting, label = b"", ""  # words that follow each other may share a character
    end = 0
    for word in _WORD.finditer(written):
        between = written[end : word.start()]
        if label and (between.strip() or word[1].lower() != label):
            found.append(_text(waiting, label))
            waiting = b""
        if not label or between.strip():
            found.append(between)
        label, end = word[1].lower(), word.end()
        waiting += _word_bytes(word)
    found += [_text(waiting, label), written[end:]]
    return squeeze("".join(found))


def _word_bytes(word: re.Match[str]) -> bytes:
    encoded = word[3].encode("utf-8")
    if word[2] in "qQ":
        return quopri.decodestring(encoded.replace(b" ", b"_"), header=True)
    try:
        content = binascii.a2b_base64(encoded + b"==")
    except binascii.Error:
        content = b""
    return content or word[0].encode("utf-8")


def _text(content: bytes, charset: str) -> str:
    """Return decoded text, "" for a blank one and for bytes that are none."""
    try:
        return decode(content, declared=charset).text
    except InputError:
        return ""


class _Reading:
    """The state of reading a message: the parts so far, of it and of those that it forwards."""

    def __init__(self, charset: str) -> None:
        self.parts: list[tuple[dict[str, str], list[str]]] = []
        self.files: list[tuple[str, bytes]] = []
        self.left_out = LeftOut()
        self._charset = charset
        self._texts: list[str] = []
        self._count = 0

    def open(self, message: Message) -> None:
        """Begin a message: what is read from here on is its text."""
        headers = {name: decode_header(message.get(name) or "", self._charset) for name in _HEADERS}
        self._texts = []
        self.parts.append((headers, self._texts))

    def read(self, part: Message) -> None:
        """Read a part and those within; one that is malformed is left out."""
        self._count += 1
        if self._count > _MOST_PARTS:
            self.left_out.add("parts", f"more than {_MOST_PARTS:,}")
            return
        try:
            self._read(part)
        except (*MALFORMED, InputError) as failed:
            if not isinstance(failed, NotText):
                self.left_out.add(f"part {self._count}", failed)

    def _read(self, part: Message) -> None:
        kind = part.get_content_type()
        inner = _parts_of(part)
        if inner is None:
            self._read_leaf(part, kind)
        elif kind == "multipart/alternative":
            self._read_alternatives(inner)
        elif kind == "multipart/encrypted":
            raise InputError("is encrypted for its recipients; save a decrypted copy")
        elif kind.startswith("multipart/"):
            for each in inner:
                self.read(each)
        elif kind == "message/delivery-status":
            fields = (
                f"{name}: {decode_header(value)}" for each in inner for name, value in each.items()
            )
            self._add("\n".join(fields))
        else:
            for message in inner:
                self._read_forwarded(_decoded(message, part))

    def _read_forwarded(self, message: Message) -> None:
        charset = self._charset
        self._charset = _default_charset(message) or charset
        self.open(message)
        self.read(message)
        self._charset = charset
        self._texts = []  # what follows in the outer message
        self.parts.append(({}, self._texts))

    def _read_alternatives(self, parts: Sequence[Message]) -> None:
        """Read what alternatives say; all of their files are attached."""
        outer, at = self._texts, len(self._texts)
        plain, others = "", list[str]()
        for part in parts:
            kind = part.get_content_type()
            if kind == "text/html" and len(plain) >= _NOTICE_CHARS and not _is_attached(part):
                continue
            text = self._read_apart(part)
            if kind == "text/plain" and not plain:
                plain = text
            elif kind in _EXTENSIONS:
                outer.append(text)
            else:
                others.append(text)
        self._texts = outer
        # The last one is the richest that the sender made.
        other = next((text for text in reversed(others) if text), "")
        if text := other if _is_notice(plain, other) else plain:
            outer.insert(at, text)

    def _read_apart(self, part: Message) -> str:
        """Return the text of an alternative, without the messages that are forwarded in it."""
        own = self._texts = []
        before = len(self.parts)
        self.read(part)
        added = self.parts[before:]
        self.parts[before:] = [each for each in added if each[0]]
        after = (text for headers, texts in added if not headers for text in texts)
        return "\n\n".join((*own, *after))

    def _read_leaf(self, part: Message, kind: str) -> None:
        name = _file_name(part, self._charset)
        content = content_of(part)
        if content.startswith(TNEF):
            self._read_tnef(content)
            return
        if kind in _SIGNED:
            signed_content = load_format("crx.mail", "signed")
            self.read(parse_message(signed_content(content)))
            return
        is_text = kind.startswith(("text/", "message/", "multipart/"))
        if _is_attached(part) and (named := name or _name_by_content(content, kind)):
            if not is_text or is_claimed(suffix(named)) or _is_message(kind, named):
                self.files.append((named, content))
                return
            if kind not in _SILENT:
                self._add(named)
        if is_text and kind not in _SILENT:
            self._add(self._text_of(part, kind, content))

    def _read_tnef(self, content: bytes) -> None:
        text, files = load_format("crx.mail", "tnef")(content)
        self._add(text)
        for name, inner in files:
            if inner.startswith(TNEF):
                self._read_tnef(inner)
            else:
                self.files.append((name, inner))

    def _text_of(self, part: Message, kind: str, content: bytes) -> str:
        charset = part.get_content_charset() or ""
        if not content.strip():
            return ""
        if kind == "text/html":
            return page_text(content, charset)
        if extension := _EXTENSIONS.get(kind):
            reader = reader_for(extension)
            documents = reader.read(content, name=f"part{extension}") if reader else ()
            return "\n\n".join(document.text for document in documents)
        text = decode(content, declared=charset).text
        if (_parameter(part, "format"), _parameter(part, "delsp")) == ("flowed", "yes"):
            text = _SOFT_BREAK.sub(r"\1", text)
        return _COMMAND.sub("", text).replace("<<", "<") if kind in _MARKED_UP else text

    def _add(self, text: str) -> None:
        if text.strip():
            self._texts.append(text.strip("\n"))


def _parameter(part: Message, name: str) -> str:
    return str(part.get_param(name)).lower()


def _is_notice(plain: str, other: str) -> bool:
    """Return True if a plain part, blank or short, has few of the words of its alternative."""
    words = set(_LETTERS.findall(other))
    return len(plain) < _NOTICE_CHARS and 2 * len(words & {*_LETTERS.findall(plain)}) < len(words)


def page_text(content: bytes, charset: str) -> str:
    """Return the visible text of a page; the character set of a header goes before the page's."""
    if charset:
        content = decode(content, declared=charset).text.encode("utf-8")
    return html.read_page(content).text


def _is_attached(part: Message) -> bool:
    """Return True unless a part is shown within the message, whatever name it has."""
    if part.get_content_disposition():
        return part.get_content_disposition() == "attachment" or bool(part.get_filename())
    return part.get_content_type() not in ("text/plain", "text/html")


def _decoded(message: Message, part: Message) -> Message:
    """Return a forwarded message, which some programs encode though no standard lets them."""
    encoding = str(part.get("content-transfer-encoding") or "").strip().lower()
    if message.keys() or encoding not in ("base64", "quoted-printable"):
        return message
    message["content-transfer-encoding"] = encoding
    return parse_message(content_of(message))


def _is_message(kind: str, name: str) -> bool:
    return kind == "message/rfc822" or suffix(name) in (".eml", ".msg")


def _name_by_content(content: bytes, kind: str) -> str:
    """Return a name with the extension of what a nameless file holds, "" if that is not known."""
    if kind.startswith("text/"):
        return ""
    found = reader_by_content(content, "", named="")
    return f"file.{found}" if found in ("pdf", "docx", "pptx", "rtf", "html", "epub") else ""
