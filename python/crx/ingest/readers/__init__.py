"""Readers of file formats, one module a format.

A reader has `extensions` (lower case, with the dot) and `read(data, *, name)`, which yields the
documents that the bytes hold or raises `InputError`. Other packages add readers with the entry
point group `crx.readers`; for an extension that both claim, theirs is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Protocol, cast

from crx.errors import UsageError
from crx.types import Document


class Reader(Protocol):
    """A reader of one format."""

    @property
    def extensions(self) -> Sequence[str]: ...

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        """Yield documents whose URI is `name`, or `name#<id>` if the bytes hold several."""
        ...


# The extensions are repeated here so that a module is imported only for a file of its format.
# `code`, with many more extensions, is asked when none of these claims one.
_EXTENSIONS = {
    "markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
    "text": (".txt", ".text", ".log"),
    "markup": (".rst", ".rest", ".adoc", ".asciidoc", ".org", ".tex", ".latex"),
    "jsonl": (".jsonl", ".ndjson"),
    "html": (".html", ".htm", ".xhtml"),
    "pdf": (".pdf",),
    "docx": (".docx", ".docm", ".dotx", ".dotm"),
    "pptx": (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
    "odf": (".odt", ".ott", ".fodt", ".odp", ".otp", ".fodp"),
    "epub": (".epub",),
    "ipynb": (".ipynb",),
    "delimited": (".csv", ".tsv", ".tab"),
    "subtitles": (".srt", ".vtt"),
    "mail": (".eml", ".mbox"),
}


def reader_for(extension: str) -> Reader | None:
    """Return the reader of an extension, or None if no reader claims it."""
    if plugin := _load_plugins().get(extension):
        return plugin
    for name, extensions in _EXTENSIONS.items():
        if extension in extensions:
            return load_reader(name)
    code = load_reader("code")
    return code if extension in code.extensions else None


@cache
def load_reader(name: str) -> Reader:
    """Import and return a built-in reader by the name of its module."""
    return cast(Reader, importlib.import_module(f"crx.ingest.readers.{name}"))


@cache
def _load_plugins() -> dict[str, Reader]:
    """Load the readers of other packages; return them by extension."""
    found: dict[str, tuple[str, Reader]] = {}
    for entry in sorted(entry_points(group="crx.readers"), key=lambda entry: entry.name):
        reader = cast(Reader, entry.load())
        for extension in reader.extensions:
            if extension in found:
                both = f"{found[extension][0]!r} and {entry.name!r}"
                raise UsageError(f"{extension}: claimed by the readers {both}; uninstall one")
            found[extension] = (entry.name, reader)
    return {extension: reader for extension, (_, reader) in found.items()}
