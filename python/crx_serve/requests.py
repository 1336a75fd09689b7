"""Requests of the server: one Struct an operation, shared by HTTP, MCP and OpenAPI.

A field that a Struct does not have is an error that names it. Descriptions are read by people and
by models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from crx.errors import UsageError

Decoded = TypeVar("Decoded")

MAX_QUERY_CHARS = 8_000
MAX_HITS = 200
MAX_DOCUMENTS_LISTED = 1_000
# Characters of a document that one answer holds unless fewer are asked for.
MAX_TEXT_CHARS = 200_000
MAX_PAGE_PIXELS = 3_000

_Scalar = str | int | float | bool
Filter = dict[str, _Scalar | list[_Scalar] | dict[str, Any]]

_IndexName = Annotated[
    str,
    Meta(description="One index; default: all."),
]
_Query = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_QUERY_CHARS,
        description="Words, a question, an identifier or an error message.",
    ),
]
_Hits = Annotated[
    int,
    Meta(ge=1, le=MAX_HITS, description="Chunks to find; default: 20."),
]
_Where = Annotated[
    Filter,
    Meta(
        description='Documents, as {"lang": "en", "year": {">=": 2020}} or '
        '{"path": {"glob": "/docs/**"}}.'
    ),
]
_Window = Annotated[
    int | Literal["auto", "grow"],
    Meta(
        description='How chunks grow to passages: "auto" within one budget for all, "grow" each '
        "within a budget of its own, or the number of chunks to add on each side."
    ),
]


class SearchTerms(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Search for the passages that answer a query; what a model is offered."""

    query: _Query
    index: _IndexName = ""
    k: _Hits | None = None
    where: _Where | None = None
    match: Annotated[
        Literal["words", "regex", "literal"],
        Meta(description="Kind of query."),
    ] = "words"
    without: Annotated[list[str], Meta(description="Rules of the order to leave out.")] = []


class SearchQuery(SearchTerms, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Search for the passages that answer a query."""

    budget_tokens: (
        Annotated[
            int,
            Meta(ge=1, le=1_000_000, description="Tokens of all passages together."),
        ]
        | None
    ) = None
    limit: (
        Annotated[int, Meta(ge=1, le=MAX_HITS, description="Passages to return at most.")] | None
    ) = None
    match: Annotated[
        Literal["words", "regex", "literal"],
        Meta(
            description="Whether the query is words, a regular expression or a text as it is "
            'written. Among words, -draft leaves out passages with a word and -"first draft" with '
            "a phrase, and a query that begins with re: is a regular expression. Case counts if a "
            "pattern has a capital."
        ),
    ] = "words"
    window: _Window = "auto"
    legs: (
        Annotated[
            list[Literal["bm25", "dense"]],
            Meta(min_length=1, description="Search with these legs only."),
        ]
        | None
    ) = None
    within_section: Annotated[
        bool, Meta(description="Whether passages stay within one section.")
    ] = False
    by: Annotated[
        Literal["passage", "file"],
        Meta(description="Answer with passages, or with the files, each once with its best lines."),
    ] = "passage"
    order: Annotated[
        Literal["score", "document"],
        Meta(description="Order of the passages: best first, or as in their documents."),
    ] = "score"
    rerank: (
        Annotated[
            bool,
            Meta(
                description="Whether to rerank with a cross-encoder; the default is whether the "
                "setting reranker is set."
            ),
        ]
        | None
    ) = None


class AskQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Have the server's model answer a question from the passages that are found."""

    question: _Query
    index: _IndexName = ""
    k: _Hits | None = None
    window: _Window = "auto"
    where: _Where | None = None


class ListQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List the documents of the indexes."""

    index: _IndexName = ""
    contains: Annotated[
        str,
        Meta(
            max_length=MAX_QUERY_CHARS,
            description="Text in the URI or the title, in any case.",
        ),
    ] = ""
    limit: Annotated[
        int, Meta(ge=1, le=MAX_DOCUMENTS_LISTED, description="Documents to return at most.")
    ] = 100
    cursor: Annotated[str, Meta(description="next_cursor of the last answer.")] = ""


class FetchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fetch the text of a document."""

    id: Annotated[
        str,
        Meta(min_length=1, max_length=200, description="Id of a document from a search or list."),
    ]
    start: Annotated[int, Meta(ge=0, description="First character to return.")] = 0
    end: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="End of the characters to return; at most 200,000 are returned.",
            ),
        ]
        | None
    ) = None
    lines: Annotated[str, Meta(max_length=40, description="As 3-40.")] = ""
    page: Annotated[str, Meta(max_length=200, description="As 7 or slide 3.")] = ""


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Draw a page of a PDF, with a span of its text marked."""

    id: Annotated[
        str,
        Meta(min_length=1, max_length=200, description="Id of a document from a search or list."),
    ]
    page: Annotated[
        str,
        Meta(
            max_length=100,
            description="Label of the page, as in a passage; default: the page of start.",
        ),
    ] = ""
    start: Annotated[int, Meta(ge=0, description="First character to mark.")] = 0
    end: Annotated[int, Meta(ge=0, description="End of the characters to mark.")] = 0
    width: Annotated[
        int, Meta(ge=50, le=MAX_PAGE_PIXELS, description="Pixels that the picture is wide.")
    ] = 1000


class StatusQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Report what the indexes hold and what is still to be done."""

    index: _IndexName = ""


def decode_body(decoder: Decoder[Decoded], body: bytes) -> Decoded:
    """Return the value of a body; raises `UsageError` if it nests too deeply or is no UTF-8."""
    try:
        return decoder.decode(body)
    except (UnicodeDecodeError, DecodeError):
        # Which of the two bytes raise that are no UTF-8 depends on the version of msgspec.
        if _is_utf8(body):
            raise
        raise UsageError("the body is not valid UTF-8; send JSON in UTF-8") from None
    except RecursionError:
        raise UsageError("the body nests too deeply; send at most 100 levels") from None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
