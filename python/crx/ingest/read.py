"""Reading of files and bytes into documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crx.errors import InputError, NotText
from crx.ingest.compressed import FORMATS, decompress
from crx.ingest.discover import FoundFile, describe_os_error
from crx.ingest.paths import uri_of
from crx.ingest.readers import Reader, load_reader, markup, reader_for
from crx.ingest.readers.binary import describe_binary
from crx.ingest.readers.decode import BinaryFile, decode
from crx.ingest.readers.structure import structure, suffix
from crx.types import Document

# Formats of texts for which there is no reader: such a file is a failure with a next step, while
# other binary files are skipped.
_OFFICE_FORMATS = frozenset((
    ".doc", ".ppt", ".xls", ".xlsx", ".ods", ".rtf",
    ".pages",
))  # fmt: skip
_SNIFFED_BYTES = 1024
_SNIFFED_CHARS = 20_000


# Bytes of a compressed file's content, if the caller sets no limit.
DEFAULT_MAX_BYTES = 64_000_000


def read_file(path: Path, *, uri: str | None = None) -> Iterator[Document]:
    """Yield the documents of a file: one, or those of JSON lines.

    Their URI is `uri`, by default the absolute path with forward slashes, followed by `#<id>` for
    JSON lines. Raises `InputError` (`NotText` for a binary file) with the reason; for JSON lines
    after the documents of the good lines.
    """
    try:
        data = path.read_bytes()
    except OSError as failed:
        unlisted = "is a folder that cannot be listed" if path.is_dir() else ""
        raise InputError(unlisted or f"cannot be read: {failure_reason(failed)}") from failed
    name = uri_of(path)
    for document in read_bytes(data, name=name):
        if uri is None:
            yield document
        else:
            yield replace(document, uri=uri + document.uri.removeprefix(name))


def read_bytes(data: bytes, *, name: str, max_bytes: int = DEFAULT_MAX_BYTES) -> Iterator[Document]:
    """Yield the documents that bytes hold, decompressed if the name says that they are compressed.

    The format is that of the name's extension or, without a known one, that of the first bytes.
    Each document's metadata holds its `format` and, if the name has one, its `ext`. Raises
    `InputError` for bytes that cannot be read or decompress to more than `max_bytes`, `NotText`
    for a file of another kind than text.
    """
    compression = suffix(name)
    if compression not in FORMATS:
        yield from _read_content(data, name)
        return
    inner = name[: -len(compression)]
    metadata = {"compression": compression.removeprefix(".")}
    for document in _read_content(decompress(data, compression, max_bytes=max_bytes), inner):
        yield replace(
            document,
            uri=name + document.uri.removeprefix(inner),
            metadata={**document.metadata, **metadata},
        )


def _read_content(data: bytes, name: str) -> Iterator[Document]:
    extension = suffix(name)
    ext = {"ext": extension.removeprefix(".")} if extension else {}
    try:
        for document in _find_reader(data, extension).read(data, name=name):
            yield replace(document, metadata={**ext, **document.metadata})
    except BinaryFile:
        raise NotText(f"is {describe_binary(data)}") from None


def refuse_large(found: FoundFile, max_file_mb: int) -> None:
    """Raise `InputError` for a file of more than `max_file_mb` million bytes."""
    if found.size > max_file_mb * 1_000_000:
        raise InputError(
            f"{found.size / 1e6:.0f} MB, more than max_file_mb = {max_file_mb}; "
            f"--set max_file_mb={-(-found.size // 1_000_000)} reads it"
        )


def promises_text(found: FoundFile, data: bytes) -> bool:
    """Return True if a file without text is a failure: it was named, or its extension is a text's.

    Other files without text, and empty ones, are skipped.
    """
    is_text_format = reader_for(suffix(found.uri)) is not None
    return found.uri == found.root or bool(data.strip() and is_text_format)


def failure_reason(error: InputError | OSError) -> str:
    """Return why an input could not be read, without its name."""
    return describe_os_error(error) if isinstance(error, OSError) else str(error)


def _find_reader(data: bytes, extension: str) -> Reader:
    if reader := reader_for(extension):
        return reader
    opening = data[:_SNIFFED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if opening.startswith(b"%pdf-"):
        return load_reader("pdf")
    if opening.startswith((b"<!doctype html", b"<html")):
        return load_reader("html")
    if extension in _OFFICE_FORMATS:
        raise InputError(f"has no reader for {extension}; save it as PDF, HTML or text")
    return _UnclaimedReader()


class _UnclaimedReader:
    """The reader of texts whose extension no other reader claims."""

    extensions = ()

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        decoded = decode(data)
        title = ""
        if markup.is_man_page(decoded.text[:_SNIFFED_CHARS]):
            format_ = "man"
            title, marks = markup.parse(decoded.text, format_=format_)
        else:
            # An unknown extension names a format of its own: its structure is not guessed.
            format_, marks = ("text", ()) if suffix(name) else structure(decoded.text)
        yield Document(
            uri=name,
            text=decoded.text,
            title=title,
            metadata={**decoded.metadata(), "format": format_},
            marks=marks,
        )
