"""The whole corpus as passages, for models whose context window contains all of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crx import _native
from crx._show.location import anchor_around, locate_passages
from crx._show.marks import pages_around, read_position
from crx.errors import UsageError
from crx.types import Passage

# The context window of today's large models. The embedder's tokens are counted, not the model's.
MAX_CORPUS_TOKENS = 200_000


def read_corpus(
    store: _native.Store, *, where: Mapping[str, object] | None, budget_tokens: int
) -> list[Passage]:
    """Return all documents, in order of their URIs, as passages of about `budget_tokens`.

    Passages end at the ends of chunks and have every character, so the same corpus always gives the
    same passages. Raises `UsageError` if there is a filter or the corpus is over 200,000 tokens.
    """
    if where:
        raise UsageError("the whole corpus cannot be filtered; leave out the filter or --whole")
    tokens = store.stats()["tokens"]
    if tokens > MAX_CORPUS_TOKENS:
        raise UsageError(
            f"the corpus has {tokens:,} tokens, more than the {MAX_CORPUS_TOKENS:,} of a prompt; "
            "leave out --whole"
        )
    passages = [
        passage
        for row in store.documents()
        for passage in _passages(store, row, budget_tokens=budget_tokens)
    ]
    return locate_passages(store, passages)


def _passages(
    store: _native.Store, row: _native.DocumentRow, *, budget_tokens: int
) -> Iterator[Passage]:
    length = len(store.text(row.doc))
    for start, end, tokens in _spans(store, row.doc, length, budget_tokens=budget_tokens):
        passage = store.passage(row.doc, start, end)
        headings, others = read_position(passage.marks, start)
        yield Passage(
            uri=row.uri,
            title=row.title,
            start=start,
            end=end,
            text=passage.text,
            score=0.0,
            tokens=tokens,
            hits=(),
            headings=headings,
            lines=passage.lines,
            pages=pages_around(others, start, end),
            anchor=anchor_around(others, start, end),
        )


def _spans(
    store: _native.Store, doc: int, length: int, *, budget_tokens: int
) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, tokens) of adjacent runs of chunks that cover the text."""
    layout = store.layout(doc).tolist()
    start = first_token = last_token = 0
    for chunk_start, _, token_start, token_end, _ in layout:
        if token_end - first_token > budget_tokens and token_start > first_token:
            yield start, chunk_start, token_start - first_token
            start, first_token = chunk_start, token_start
        last_token = token_end
    if start < length:
        yield start, length, last_token - first_token
