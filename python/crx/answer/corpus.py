"""The whole corpus as passages, for a model that can read all of it at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crx import _native
from crx.errors import UsageError
from crx.ingest.split import labels_around
from crx.retrieve.search import place_of, read_marks
from crx.types import Passage

# What the windows of today's large models hold, by an embedder's count, which is not theirs.
WHOLE_TOKENS = 200_000


def whole_corpus(
    store: _native.Store, *, where: Mapping[str, object] | None, budget_tokens: int
) -> list[Passage]:
    """Return every document cut into passages of about so many tokens, in order of their URIs.

    Cut at chunks, so that a citation names a page or some lines; together the passages hold every
    character. The same corpus gives the same passages. Raises `UsageError` above 200,000 tokens.
    """
    if where:
        raise UsageError("the whole corpus is asked for, and a filter; leave one of them out")
    tokens = store.stats()["tokens"]
    if tokens > WHOLE_TOKENS:
        raise UsageError(
            f"the whole corpus is {tokens:,} tokens, and a prompt holds {WHOLE_TOKENS:,}; ask "
            "without --whole"
        )
    return [
        passage
        for row in store.documents()
        for passage in _passages(store, row, budget_tokens=budget_tokens)
    ]


def _passages(
    store: _native.Store, row: _native.DocumentRow, *, budget_tokens: int
) -> Iterator[Passage]:
    text = store.text(row.doc)
    marks = read_marks(store.marks(row.doc))
    for start, end, tokens in _spans(store, row.doc, len(text), budget_tokens=budget_tokens):
        lines, pages = place_of(text, marks, start, end)
        yield Passage(
            uri=row.uri,
            title=row.title,
            start=start,
            end=end,
            text=text[start:end],
            score=0.0,
            tokens=tokens,
            hits=(),
            headings=labels_around(marks, start),
            lines=lines,
            pages=pages,
        )


def _spans(
    store: _native.Store, doc: int, length: int, *, budget_tokens: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, tokens) of runs of chunks; a run ends where the next one begins."""
    layout = store.layout(doc).tolist()
    start = first_token = last_token = 0
    for chunk_start, _, token_start, token_end, _ in layout:
        if token_end - first_token > budget_tokens and token_start > first_token:
            yield start, chunk_start, token_start - first_token
            start, first_token = chunk_start, token_start
        last_token = token_end
    if start < length:
        yield start, length, last_token - first_token
