"""Hits as the records of a framework: the exact span, and metadata that say where it is from."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from crx._index import handle
from crx._index.handle import Index
from crx.ingest.embedding_prefix import embedding_prefix
from crx.protocols import Reranker
from crx.registry import load_reranker
from crx.retrieve.score_cache import score_checked
from crx.types import Hit, Note, Passage, Result


class SearchWarning(UserWarning):
    """A search that did less than it was asked, as when the embedder's service is down."""


@dataclass(frozen=True, slots=True)
class LocatedHit:
    """A hit and what a framework stores about it: `metadata` holds values that JSON has.

    `score` is that of the hit as a share of the best one's, from 0 to 1, whatever searched.
    """

    hit: Hit
    score: float
    metadata: dict[str, object]

    @property
    def id(self) -> str:
        """The document's URI and the span in it."""
        return f"{self.hit.uri}#{self.hit.start}-{self.hit.end}"


def open_index(index: Index | str | os.PathLike[str]) -> Index:
    """Return an index that is open already, or open the one of a folder; raises `NotAnIndex`."""
    return index if isinstance(index, Index) else handle.open(index, create=False)


def locate_hits(result: Result) -> list[LocatedHit]:
    """Return the hits of a search, best first, each with the passage that it is in.

    Notes on a search that did less than it was asked, such as one without its embedder, become
    warnings of Python (`SearchWarning`): a list of documents has no room for them.
    """
    for note in map(Note.of, result.notes):
        if note.kind in ("", "failed", "state"):
            warnings.warn(note, SearchWarning, stacklevel=3)
    around = {hit.key: passage for passage in result.passages for hit in passage.hits}
    best = max((hit.score for hit in result.hits), default=0.0)
    scores = [max(0.0, hit.score / best) if best > 0 else 0.0 for hit in result.hits]
    return [
        LocatedHit(hit, score, {**_metadata(hit, around.get(hit.key)), "score": score})
        for hit, score in zip(result.hits, scores, strict=True)
    ]


def open_reranker(reranker: Reranker | str) -> Reranker:
    """Return a reranker that is loaded already, or load the one that a specification names."""
    return load_reranker(reranker) if isinstance(reranker, str) else reranker


def score_texts(
    reranker: Reranker, query: str, records: Sequence[tuple[str, Mapping[str, object]]]
) -> list[tuple[int, float]]:
    """Return (position, relevance from 0 to 1) of each text with its metadata, best first.

    The outline and the context that `locate_hits` has stored are read together with the text.
    """
    if not records:
        return []
    scores = score_checked(reranker, query, [_situated(*record) for record in records])
    order = np.argsort(-scores, kind="stable")
    return [(int(at), float(scores[at])) for at in order]


def _metadata(hit: Hit, passage: Passage | None) -> dict[str, object]:
    """Return the location of a hit, its generated texts, and the passage around it as `window`."""
    metadata: dict[str, object] = {
        "source": hit.uri,
        "title": hit.title,
        "start": hit.start,
        "end": hit.end,
        "outline": hit.outline,
        "context": hit.context,
    }
    if passage is None:
        return metadata
    metadata |= {"headings": list(passage.headings), "window": passage.text}
    if passage.lines:
        metadata["lines"] = list(_lines(hit, passage, passage.lines[0]))
    if passage.pages:
        metadata["page"] = passage.pages[0]
    if passage.anchor:
        metadata["anchor"] = passage.anchor.label
    return metadata


def _lines(hit: Hit, passage: Passage, first: int) -> tuple[int, int]:
    """Return the first and the last line of a hit, given the first of its passage."""
    before = passage.text[: hit.start - passage.start].count("\n")
    start = first + before
    return start, start + hit.text.rstrip("\n").count("\n")


def _situated(text: str, metadata: Mapping[str, object]) -> str:
    outline, context = (str(metadata.get(name) or "") for name in ("outline", "context"))
    before = embedding_prefix(outline, context)
    return f"{before}\n{text}" if before else text
