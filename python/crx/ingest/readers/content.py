"""The reader that a file's bytes call for, where its extension names another or none.

People rename files, and programs save HTML or RTF as `.doc` and `.xls`. A text is read as its
extension says: that a file of Markdown begins with `<html>` makes it no page.
"""

from __future__ import annotations

import re

from crx.errors import InputError
from crx.ingest.readers.binary import OLE
from crx.ingest.readers.decode import decode

_PDF, _RTF, _ZIP = b"%pdf-", b"{\\rtf1", b"PK\3\4"
_SQLITE = b"SQLite format 3\0"
_HTML, _XML = (b"<!doctype html", b"<html"), (b"<?xml", b"<?mso-application")
_SNIFFED_BYTES = 1024
# The start of Excel's XML of 2003: its root, which is the first element, and the namespace.
SHEETS_2003 = re.compile(
    rb"[\xef\xbb\xbf\s]*<\?(?:xml|mso-application)\b(?:[^<]|<(?!\w)){0,1000}"
    rb"<(?:\w+:)?Workbook\b[^>]{0,1000}urn:schemas-microsoft-com:office:spreadsheet"
)
# Readers of formats that are no text as it stands.
_BINARY = frozenset(
    {"docx", "epub", "legacy_office", "odf", "pdf", "pptx", "rtf", "spreadsheet", "sqlite"}
)
# Readers of archives and compound files, and extensions of theirs that are of plain XML.
_PACKED = frozenset({"docx", "epub", "legacy_office", "odf", "pptx", "spreadsheet"})
_FLAT = frozenset({".fods", ".fodp", ".fodt"})
# Extensions of formats without a reader, under which files of another format are often saved.
UNREADABLE = frozenset({".pages", ".numbers", ".key", ".odg", ".vsdx", ".xmind", ".wpd", ".mobi"})
# Templates of Word and PowerPoint of before 2007.
_LEGACY_TEMPLATES = frozenset({".dot", ".pot"})
# What an archive of a format names: entries of Office Open XML and the `mimetype` of the others.
_PARTS = {
    "docx": b"word/document.xml",
    "pptx": b"ppt/presentation.xml",
    "spreadsheet": b"xl/workbook.",
}
_MIMETYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.spreadsheet": "spreadsheet",
    b"application/vnd.oasis.opendocument": "odf",
}
_MIMETYPE_ENTRY = b"mimetype"
_LOCAL_HEADER_BYTES = 30

# The line before each message of a mailbox: a sender, and a date as `asctime` writes it.
POSTMARK = re.compile(
    rb"^From [^\r\n]{0,1000}?(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) +"
    rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +\d\d:\d\d"
    rb"[^\r\n]{0,100}\r?\n(?=[!-9;-~]{1,200}:|>From )",
    re.MULTILINE,
)
_HEADERS = re.compile(rb"(?:[!-9;-~]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)+(?=\r?\n)")
_HEADER_NAME = re.compile(rb"^([!-9;-~]+):", re.MULTILINE)
_HEADERS_BYTES = 64 * 1024
# Headers that programs write, one of which stands beside the sender's.
_TRANSPORT = frozenset(
    (b"date", b"delivered-to", b"message-id", b"mime-version", b"received", b"return-path")
)


def reader_by_content(data: bytes, extension: str, *, named: str) -> str:
    """Return the name of the reader that bytes call for, "" for the one of their extension.

    `named` is the name of that reader, "" if the extension has none.
    """
    if extension == ".msg" and data.startswith(OLE):
        return "mail"
    if extension in _LEGACY_TEMPLATES and data.startswith(OLE):
        return "legacy_office"
    if data.startswith(_SQLITE):
        return "sqlite"
    opening = data[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if opening.startswith(_PDF):
        return "pdf"
    if SHEETS_2003.match(data):
        return "spreadsheet"
    if opening.startswith(_RTF):
        return "rtf"
    if opening.startswith(_HTML) and (not named or named in _BINARY):
        return "html"
    if not extension and _is_mail(data):
        return "mail"
    if data.startswith(_ZIP) and (named in _BINARY or not extension or extension in UNREADABLE):
        return _reader_of_archive(data, named=named)
    if named in _PACKED and extension not in _FLAT and _is_text(data):
        return _reader_of_text(data, opening, named=named)
    return ""


def _is_text(data: bytes) -> bool:
    try:
        return bool(decode(data[:_SNIFFED_BYTES]).text)
    except InputError:
        return False


def _reader_of_text(data: bytes, opening: bytes, *, named: str) -> str:
    """Return the name of the reader of a text under the extension of an archive."""
    headers = _HEADERS.match(data[:_HEADERS_BYTES])
    if headers and b"multipart/related" in headers[0].lower():
        return "mhtml"
    if opening.startswith(_XML):
        return "xml"
    return "delimited" if named == "spreadsheet" else "text"


def _is_mail(data: bytes) -> bool:
    """Return True for the beginning of a message or of a mailbox."""
    if POSTMARK.match(data[:_SNIFFED_BYTES]):
        return True
    headers = _HEADERS.match(data[:_HEADERS_BYTES])
    names = {name.lower() for name in _HEADER_NAME.findall(headers[0])} if headers else set()
    return b"from" in names and not names.isdisjoint(_TRANSPORT)


def _reader_of_archive(data: bytes, *, named: str) -> str:
    """Return the name of the reader of a ZIP archive, "" if it may be that of the extension."""
    if named in _PARTS and _PARTS[named] in data:
        return ""
    name_end = _LOCAL_HEADER_BYTES + len(_MIMETYPE_ENTRY)
    if data[_LOCAL_HEADER_BYTES:name_end] == _MIMETYPE_ENTRY:
        stored = data[name_end : name_end + 100]
        return next((name for mime, name in _MIMETYPES.items() if mime in stored), "")
    return next((name for name, part in _PARTS.items() if part in data), "")
