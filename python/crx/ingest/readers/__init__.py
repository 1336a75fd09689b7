"""Readers of file formats, one module a format.

A reader has `extensions` (lower case, with the dot) and `read(data, *, name)`, which yields the
documents that the bytes contain or raises `InputError`. Other packages add readers with the entry
point group `crx.readers`; for an extension that both claim, theirs is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol, cast

from crx.errors import UsageError
from crx.ingest.formats import LANGUAGES, MARKUP
from crx.plugins import SHIPPED, find_plugins, load_format, load_plugin
from crx.types import Document


class Reader(Protocol):
    """A reader of one format."""

    @property
    def extensions(self) -> Sequence[str]: ...

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        """Yield documents whose URI is `name`, or `name#<id>` if the bytes contain several."""


# The extensions are repeated here so that a module is imported only for a file of its format.
EXTENSIONS = {
    "markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
    "text": (".txt", ".text", ".log"),
    "markup": tuple(MARKUP),
    "jsonl": (".jsonl", ".ndjson"),
    "html": (".html", ".htm", ".xhtml"),
    "xml": (".xml", ".docbook", ".dbk", ".tei", ".dita", ".rss", ".atom", ".fb2", ".enex"),
    "pdf": (".pdf",),
    "docx": (".docx", ".docm", ".dotx", ".dotm"),
    "pptx": (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    "odf": (".odt", ".ott", ".fodt", ".odp", ".otp", ".fodp"),
    "spreadsheet": (
        ".xlsx",
        ".xlsm",
        ".xltx",
        ".xltm",
        ".xlsb",
        ".xls",
        ".xlt",
        ".ods",
        ".ots",
        ".fods",
    ),
    "rtf": (".rtf",),
    # Templates, .dot and .pot, are found by content: Graphviz and gettext have files so named.
    "legacy_office": (".doc", ".ppt", ".pps"),
    "epub": (".epub",),
    "ipynb": (".ipynb",),
    "delimited": (".csv", ".tsv", ".tab"),
    "sqlite": (".sqlite", ".sqlite3", ".db3"),
    "parquet": (".parquet",),
    "contacts": (".vcf", ".vcard", ".ics", ".ical"),
    "subtitles": (".srt", ".vtt"),
    "mail": (".eml", ".emlx", ".mbox"),
    "mhtml": (".mht", ".mhtml"),
    "code": tuple(LANGUAGES),
}
_NAMES = {extension: name for name, each in EXTENSIONS.items() for extension in each}


def reader_for(extension: str) -> Reader | None:
    """Return the reader of an extension, or None if no reader claims it."""
    if plugin := _load_plugins().get(extension):
        return plugin
    name = _NAMES.get(extension)
    return load_reader(name) if name else None


def reader_name(extension: str) -> str:
    """Return the name of the built-in reader of an extension, "" if another package has it."""
    return "" if extension in _load_plugins() else _NAMES.get(extension, "")


def is_claimed(extension: str) -> bool:
    """Return True if there is a reader of an extension; it is not imported."""
    return extension in _NAMES or extension in _load_plugins()


def require_plugins() -> None:
    """Load the readers of other packages; raise `UsageError` if two claim an extension."""
    _load_plugins()


@cache
def load_reader(name: str) -> Reader:
    """Import and return a reader of crx by the name of its module.

    Raises `InputError` for one whose packages are missing.
    """
    if name in SHIPPED["crx.readers"]:
        return cast(Reader, load_format("crx.readers", name))
    return cast(Reader, importlib.import_module(f"crx.ingest.readers.{name}"))


@cache
def _load_plugins() -> dict[str, Reader]:
    """Load the readers of other packages; return them by extension."""
    found: dict[str, tuple[str, Reader]] = {}
    for name, entry in sorted(find_plugins("crx.readers").items()):
        if name in SHIPPED["crx.readers"]:
            continue
        reader = cast(Reader, load_plugin(entry))
        for extension in reader.extensions:
            if extension in found:
                both = f"{found[extension][0]!r} and {name!r}"
                raise UsageError(f"{extension}: claimed by the readers {both}; uninstall one")
            found[extension] = (name, reader)
    return {extension: reader for extension, (_, reader) in found.items()}
