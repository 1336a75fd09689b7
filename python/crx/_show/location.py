"""Locations of passages within files: lines if they are the file's, else a text fragment.

A text fragment (WICG, "URL Fragment Text Directives") is the end of a URL by which a browser finds
and marks a text, as in `manual.html#:~:text=the%20whale`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast, get_args
from urllib.parse import quote

import orjson

from crx import _native
from crx.ingest.formats import is_as_written
from crx.types import Anchor, AnchorKind, Mark, Passage

# Words of a fragment: enough to be found once in most pages, few enough to be read.
_WORDS = 8
_FEWEST_WORDS = 3
# What the reader of HTML puts in front of an item of a list; the page's text does not hold it.
_BULLET = re.compile(r"^(?:-|\d+\.) ")


_ANCHORS = frozenset(get_args(AnchorKind))


def locate_passages(store: _native.Store, passages: Sequence[Passage]) -> list[Passage]:
    """Return passages with the lines of their file, or without lines if they have others.

    Passages of HTML have a text fragment instead.
    """
    metadata: dict[str, dict[str, object]] = {}
    for uri in {passage.uri for passage in passages}:
        row = store.document(uri)
        metadata[uri] = orjson.loads(row.metadata) if row else {}
    return [
        locate_passage(passage, uri=passage.uri, metadata=metadata[passage.uri])
        for passage in passages
    ]


def locate_passage(
    passage: Passage, *, uri: str, metadata: Mapping[str, object], answer: str = ""
) -> Passage:
    """Return a passage of a document with the lines of its file, as `locate_passages` does.

    `uri` is relative to what the path in `metadata` is relative to. A text fragment is that of
    `answer`, a line of the passage, if this has enough words.
    """
    if is_as_written(uri, metadata):
        return passage
    is_page = metadata.get("format") == "html"
    fragment = text_fragment(answer) or text_fragment(passage.text) if is_page else ""
    return replace(passage, line=None, lines=None, fragment=fragment)


def anchor_around(marks: Sequence[Mark], start: int, end: int) -> Anchor | None:
    """Return the anchor of a span, from the first to the last of its marks, if it has any.

    A span of one sheet has its rows as the anchor, one of several has the sheets.
    """
    around = [m for m in marks if m.kind in _ANCHORS and m.start < end and m.end > start]
    sheets = [m.label for m in around if m.kind == "sheet"]
    if len(sheets) == 1 and len(around) > 1:
        around = [m for m in around if m.kind != "sheet"]
    if not around:
        return None
    kind = cast(AnchorKind, around[0].kind)
    labels = [m.label for m in around if m.kind == kind]
    return Anchor(kind, labels[0], labels[-1], sheet=sheets[0] if kind == "row" and sheets else "")


def text_fragment(text: str) -> str:
    """Return the fragment that finds the first line of several words of a text, or ""."""
    for line in text.split("\n"):
        # A browser does not find a text that runs over the edge of a cell.
        words = _BULLET.sub("", line).split("\t")[0].split()[:_WORDS]
        if len(words) >= _FEWEST_WORDS:
            # In a directive "-" has a meaning of its own.
            return "#:~:text=" + quote(" ".join(words), safe="").replace("-", "%2D")
    return ""
