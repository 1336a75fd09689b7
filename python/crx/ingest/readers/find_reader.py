"""The choice of a reader for a file, in a folder, in an archive or attached to a message."""

from __future__ import annotations

from collections.abc import Iterator

from crx.errors import InputError, NothingToRead, NotText
from crx.ingest.formats import suffix
from crx.ingest.readers import Reader, data_runs, load_reader, reader_for, reader_name
from crx.ingest.readers.binary import POSTSCRIPT
from crx.ingest.readers.content import UNREADABLE, reader_by_content
from crx.ingest.readers.decode import BinaryFile, decode
from crx.ingest.readers.escapes import decode_escapes
from crx.ingest.readers.left_out import LeftOut
from crx.ingest.readers.structure import structure
from crx.plugins import load_format
from crx.types import Document


def find_reader(data: bytes, *, name: str) -> Reader:
    """Return the reader of a file by its content, else by its extension, else that of texts.

    Raises `InputError` for a format without a reader, `NotText` for what programs generate.
    """
    if data_runs.is_search_index(data, name=name):
        raise NothingToRead("is a search index")
    extension = suffix(name)
    named = reader_name(extension)
    # The reader of another package knows its own format.
    own = reader_for(extension)
    if own is not None and not named:
        return own
    if data_runs.is_minified(data, extension):
        raise NotText("is minified code")
    if by_content := reader_by_content(data, extension, named=named):
        return load_reader(by_content)
    if own is not None:
        return own
    if extension in UNREADABLE:
        raise InputError(f"has no reader for {extension}; save it as PDF, HTML or text")
    return _UnclaimedReader()


class _UnclaimedReader:
    """The reader of texts whose extension no other reader claims."""

    extensions = ()

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        if data.startswith(POSTSCRIPT):
            raise BinaryFile("is PostScript")
        decoded = decode(data)
        left_out = LeftOut()
        text = data_runs.without_data(decode_escapes(decoded.text), name=name)
        text = data_runs.keep_first_points(text, left_out, name=name)
        if page := load_format("crx.recognizers", "man")(decoded, name=name):
            yield page
            return
        # An unknown extension names a format of its own: its structure is not guessed.
        format_, marks = ("text", ()) if suffix(name) else structure(text)
        yield Document(
            uri=name,
            text=text,
            title="",
            metadata={**decoded.metadata(), **left_out.metadata(), "format": format_},
            marks=marks,
        )
