"""Readers: bytes of one format to documents, one file a format.

A reader has `extensions` (lower case, with the dot) and `read(data, *, name)`, which yields the
documents that the bytes hold or raises `InputError`. Other packages add one by the entry point
group `crx.readers`; theirs goes before ours for an extension.
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
    """Bytes of a format to documents."""

    @property
    def extensions(self) -> Sequence[str]: ...

    def read(self, data: bytes, *, name: str) -> Iterator[Document]:
        """Yield documents whose URI is `name`, or `name#<id>` where it holds several."""
        ...


# Ordered by cost: the modules are imported only when a file asks for them. `code` knows more
# extensions than anybody wants to repeat here, and comes when none of the others has it.
_BUILT_IN = {
    "markdown": (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"),
    "text": (".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org", ".log", ".tex"),
    "jsonl": (".jsonl", ".ndjson"),
    "html": (".html", ".htm", ".xhtml"),
    "pdf": (".pdf",),
}


def reader_for(extension: str) -> Reader | None:
    """Return the reader of an extension, or None where nothing claims it."""
    if plugged := _plugged().get(extension):
        return plugged
    for name, extensions in _BUILT_IN.items():
        if extension in extensions:
            return built_in(name)
    code = built_in("code")
    return code if extension in code.extensions else None


@cache
def built_in(name: str) -> Reader:
    """Return one of crx's own readers by name."""
    return cast(Reader, importlib.import_module(f"crx.ingest.readers.{name}"))


@cache
def _plugged() -> dict[str, Reader]:
    """Return the readers of other packages by extension."""
    found: dict[str, tuple[str, Reader]] = {}
    for entry in sorted(entry_points(group="crx.readers"), key=lambda entry: entry.name):
        reader = cast(Reader, entry.load())
        for extension in reader.extensions:
            if extension in found:
                both = f"both {found[extension][0]!r} and {entry.name!r} read it"
                raise UsageError(f"{extension}: {both}; uninstall one")
            found[extension] = (entry.name, reader)
    return {extension: reader for extension, (_, reader) in found.items()}
