"""Failed questions of an evaluation: what was expected, and the first hits that came instead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crx.retrieve.rows import ChunkRow
from crx_evaluate.datasets import Gold, GoldSpan, Query
from crx_evaluate.pipeline_config import CHUNKS, PipelineConfig

# Bounds of what is kept: questions of a row, gold items and spans of a question, hits, characters.
MAX_QUESTIONS = 30
MAX_GOLD = 5
MAX_PLACES = 2
MAX_HITS = 3
EXCERPT_CHARS = 160
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class QuotedSpan:
    """A span of a document, and its text: cut if long, with the text around it if short."""

    uri: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ExpectedGold:
    """A gold item: the rank at which it is found, None beyond the first 20, and its spans."""

    rank: int | None
    places: tuple[QuotedSpan, ...]


@dataclass(frozen=True, slots=True)
class RankedSpan:
    """A hit, its rank from 1, and whether it overlaps a span of the gold."""

    rank: int
    span: QuotedSpan
    overlaps_gold: bool


@dataclass(frozen=True, slots=True)
class FailedQuery:
    """A question with a gold item that the first chunks do not contain, and the first hits."""

    id: str
    query: str
    lang: str
    expected: tuple[ExpectedGold, ...]
    instead: tuple[RankedSpan, ...]


class FailureLog:
    """Collects the failed questions of each row: those with a gold item not in the first `at`.

    Only rows whose window is the best chunks are kept, since other windows have the same ranking;
    of each row the first `MAX_QUESTIONS`. `texts` are the documents, by their URI.
    """

    def __init__(self, texts: Mapping[str, str], *, at: int) -> None:
        self._texts = texts
        self._at = at
        self.found: dict[PipelineConfig, list[FailedQuery]] = {}

    def record(
        self,
        row: PipelineConfig,
        query: Query,
        *,
        ranks: Sequence[int | None],
        chunks: Sequence[ChunkRow],
    ) -> None:
        """Keep the question if it failed; `ranks` are of its gold, `chunks` the row's ranking."""
        failed = any(rank is None or rank > self._at for rank in ranks)
        kept = self.found.setdefault(row, []) if row.window == CHUNKS else None
        if kept is None or not failed or len(kept) >= MAX_QUESTIONS:
            return
        # The gold that is missing first.
        items = sorted(
            zip(ranks, query.gold, strict=True), key=lambda item: -(item[0] or len(chunks) + 1)
        )
        kept.append(
            FailedQuery(
                query.id,
                query.text,
                query.lang,
                tuple(
                    ExpectedGold(rank, tuple(map(self._excerpt, gold.any[:MAX_PLACES])))
                    for rank, gold in items[:MAX_GOLD]
                ),
                tuple(
                    RankedSpan(rank, _opening(chunk), _overlaps(chunk, query.gold))
                    for rank, chunk in enumerate(chunks[:MAX_HITS], start=1)
                ),
            )
        )

    def _excerpt(self, span: GoldSpan) -> QuotedSpan:
        text = self._texts[span.doc_id]
        around = max(0, EXCERPT_CHARS - (span.end - span.start)) // 2
        start, end = max(0, span.start - around), span.end + around
        return QuotedSpan(span.doc_id, span.start, span.end, _shorten(text[start:end]))


def _opening(chunk: ChunkRow) -> QuotedSpan:
    return QuotedSpan(chunk.uri, chunk.start, chunk.end, _shorten(chunk.text))


def _overlaps(chunk: ChunkRow, gold: Sequence[Gold]) -> bool:
    return any(
        span.doc_id == chunk.uri and span.start < chunk.end and chunk.start < span.end
        for item in gold
        for span in item.any
    )


def _shorten(text: str) -> str:
    line = _SPACE.sub(" ", text).strip()
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"
