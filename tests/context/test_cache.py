"""Cache keys: an edit makes few contexts stale."""

from __future__ import annotations

import numpy as np
import pytest

from crx._context.cache import REFRESH, Origin, Refresh, context_keys
from crx.ingest.split import split
from crx.types import Document, Mark

BIRDS = ("heron", "egret", "bittern", "stork", "crane", "ibis", "spoonbill", "grebe")
NO_TOKENS = np.empty(0, dtype=np.uint32)


def pages(count: int) -> Document:
    """Return a document of 300 or so pages: sections of 6 paragraphs, all in words of their own."""
    parts, marks, at = [], [], 0
    for section in range(count // 2):
        heading = f"## Section {section}\n\n"
        paragraphs = [
            f"Paragraph {section}.{n} is about {BIRDS[n % 8]} number {section * 6 + n}. "
            + "The ringing station kept its records through the winter, day by day. " * 10
            + "\n\n"
            for n in range(6)
        ]
        body = heading + "".join(paragraphs)
        marks.append(Mark("heading", at, at + len(body), f"Section {section}", 2))
        parts.append(body)
        at += len(body)
    return Document("pages.md", "".join(parts), title="Ringing records", marks=tuple(marks))


@pytest.mark.parametrize(("refresh", "most"), [("never", 1), ("section", 6), ("document", 900)])
def test_an_edit_of_a_line_in_300_pages_makes_few_contexts_stale(
    refresh: Refresh, most: int
) -> None:
    def keys(document: Document) -> list[bytes]:
        chunks = split(document, token_starts=NO_TOKENS, budget=800, in_chars=True)
        return context_keys(document, chunks, origin=Origin("fake", refresh))

    document = pages(300)
    before = keys(document)
    line = "number 600."
    edited = Document(
        "pages.md",
        document.text.replace(line, "number 606."),
        "Ringing records",
        "",
        {},
        document.marks,
    )
    cost = len(set(keys(edited)) - set(before))
    assert 0 < cost <= min(most, len(before))
    assert (cost == len(before)) == (refresh == "document")


def test_chunks_with_the_same_text_have_different_keys() -> None:
    document = Document("a", "same\n\nsame\n\n", chunks=((0, 6), (6, 12)))
    chunks = split(document, token_starts=NO_TOKENS, budget=6)
    for refresh in REFRESH:
        assert len(set(context_keys(document, chunks, origin=Origin("x", refresh)))) == 2
