"""Requests and answers of the tools for source code."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from crx_serve.requests import MAX_QUERY_CHARS

_File = Annotated[
    str,
    Meta(min_length=1, max_length=1_000, description="Id or end of a path."),
]

Use = Literal["definition", "import", "call", "test", "document", "mention"]
USES: tuple[Use, ...] = ("definition", "call", "import", "test", "mention", "document")


class OutlineQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List the definitions and headings of a file."""

    file: _File
    index: str = ""
    cursor: str = ""


class ReferencesQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find the lines that have a name."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    use: Use | None = None
    index: str = ""
    cursor: str = ""


class RelatedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find what belongs to a line of a file."""

    file: _File
    line: Annotated[int, Meta(ge=1)]
    index: str = ""


class ToolOutline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `outline`: lines and declarations, indented by level."""

    id: str
    uri: str
    lines: int
    symbols: list[str]
    next_cursor: str = ""


class ToolReferences(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `references`: how many lines of each use, and the lines of some of them.

    Paths are below `folders`, which are those that were indexed.
    """

    counts: dict[str, int]
    references: dict[str, list[str]]
    folders: list[str] = []
    next_cursor: str = ""
    notes: list[str] = []


class ToolRelated(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of `related`: uses of what the line defines, definitions of what it uses.

    Paths are those of `ToolReferences`.
    """

    symbol: str
    uses: dict[str, list[str]]
    definitions: list[str]
    folders: list[str] = []
    notes: list[str] = []
