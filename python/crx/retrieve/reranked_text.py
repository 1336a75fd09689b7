"""What the reranker reads of a candidate: all of it, or an excerpt if time is short."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate, pairwise

from crx.ingest.embedding_prefix import embedding_prefix
from crx.retrieve.rows import ChunkRow
from crx.text.query_terms import analyze_query

# Characters of an excerpt, and of the pieces that it is made of.
EXCERPT_CHARS = 320
_PIECE_CHARS = 40
# Characters of the outline's first line before an excerpt: half from its beginning, which is the
# title of the document, half from its end, the heading of the section.
_HEAD_CHARS = 100
# Words with the white space after them. Long ones are cut, as text without spaces is.
_WORD = re.compile(rf"\S{{1,{_PIECE_CHARS}}}\s?|\s{{1,{_PIECE_CHARS}}}")


def situated_text(row: ChunkRow) -> str:
    """Return a chunk after its outline and context, as the embedder and the reranker read it."""
    return _join(embedding_prefix(row.outline, row.context), row.text)


def situated_excerpts(query: str, rows: Sequence[ChunkRow]) -> list[str]:
    """Return an excerpt of each chunk after its title and heading, without its context."""
    excerpts = cut_excerpts(query, [row.text for row in rows])
    return [
        _join(shorten_outline(row.outline), text) for row, text in zip(rows, excerpts, strict=True)
    ]


def cut_excerpts(query: str, texts: Sequence[str]) -> list[str]:
    """Return an excerpt of each text; a short one is its own.

    An excerpt is the run of about `EXCERPT_CHARS` characters that holds most of the query's terms;
    a term weighs more the rarer it is in the pieces of all texts. Of equally good runs it is the
    middle one.
    """
    pieces = [_pieces(text) for text in texts]
    held, weights, _ = analyze_query(query).row_terms(
        [piece for each in pieces for piece in each], known=frozenset()
    )
    value = [weight for _, weight in weights]
    ends = accumulate(map(len, pieces), initial=0)
    terms = [held[start:end] for start, end in pairwise(ends)]
    return [_best_run(*each, value) for each in zip(pieces, terms, strict=True)]


def shorten_outline(outline: str) -> str:
    """Return the first line of an outline; of a long one its beginning and its end."""
    head = outline.partition("\n")[0]
    if len(head) <= _HEAD_CHARS:
        return head
    half = _HEAD_CHARS // 2
    return f"{head[:half].rstrip()} ... {head[-half:].lstrip()}"


def _join(prefix: str, text: str) -> str:
    return f"{prefix}\n{text}" if prefix else text


def _pieces(text: str) -> list[str]:
    """Return a text in pieces of whole words; one that is no longer than an excerpt is a piece."""
    if len(text) <= EXCERPT_CHARS:
        return [text]
    return list(_fill(_WORD.findall(text)))


def _fill(words: Sequence[str]) -> Iterator[str]:
    piece = ""
    for word in words:
        if piece and len(piece) + len(word) > _PIECE_CHARS:
            yield piece
            piece = ""
        piece += word
    if piece:
        yield piece


def _best_run(
    pieces: Sequence[str], terms: Sequence[Collection[int]], value: Sequence[float]
) -> str:
    count = EXCERPT_CHARS // _PIECE_CHARS
    starts = range(max(1, len(pieces) - count + 1))
    held = [
        round(sum(value[term] for term in {*()}.union(*terms[at : at + count])), 6) for at in starts
    ]
    most = max(held)
    best = [at for at in starts if held[at] == most]
    middle = best[len(best) // 2]
    return "".join(pieces[middle : middle + count]).strip()
