"""Reader of source code: the text as it is, with its definitions.

The core finds them line by line, in any of its languages. For eight languages, grammars find more,
if they are installed: the extra `code`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from crx import _native
from crx.errors import MissingExtra
from crx.ingest.formats import LANGUAGES
from crx.ingest.readers.decode import decode
from crx.ingest.readers.headings import in_order
from crx.plugins import load_shipped
from crx.types import Document, Mark, Scalar

extensions = tuple(LANGUAGES)

# Constructs of a header that only C++ has.
_CPP = re.compile(
    r"^[ \t]*(?:class \w|(?:inline )?namespace\b|template ?<|using \w|(?:public|private):)"
    r"|\bstd::|\boperator ?[=<>+\[(]",
    re.MULTILINE,
)
# A tree takes about 20 times the memory of its text; a larger text is generated data, not code.
_LARGEST = 2_000_000


class Unparsed(Exception):
    """The definitions of a text cannot be found; the message is the reason."""


def read(data: bytes, *, name: str) -> Iterator[Document]:
    """Yield the source text with its definitions.

    If they cannot be found, metadata `unstructured` contains the reason.
    """
    decoded = decode(data)
    extension = name[name.rfind(".") :].lower()
    language = LANGUAGES.get(extension, "")
    if extension == ".h":
        language = "cpp" if _CPP.search(decoded.text) else "c"
    metadata: dict[str, Scalar | list[Scalar]] = {**decoded.metadata(), "format": language}
    try:
        marks = definitions(decoded.text, language=language)
    except Unparsed as why:
        marks = ()
        metadata["unstructured"] = str(why)
    yield Document(uri=name, text=decoded.text, metadata=metadata, marks=marks)


def definitions(text: str, *, language: str) -> tuple[Mark, ...]:
    """Return the definitions of a source text, the outer before the inner.

    Raises `Unparsed` if the text is too large or cannot be parsed.
    """
    if len(text) > _LARGEST:
        raise Unparsed(f"larger than {_LARGEST:,} characters")
    grammars = load_grammars()
    if grammars is not None and language in grammars.LANGUAGES:
        marks: tuple[Mark, ...] = grammars.definitions(text, language=language)
        return marks
    outline = _native.outline(text, language=language)
    return in_order(Mark("definition", *each) for each in outline)


@cache
def load_grammars() -> ModuleType | None:
    """Return the module that parses source code, None if its packages are not installed."""
    try:
        grammars: ModuleType = load_shipped("crx.grammars", "tree-sitter")
    except MissingExtra:
        return None
    return grammars
