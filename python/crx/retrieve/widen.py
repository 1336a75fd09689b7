"""Stage of widening: the passages of documents around hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import orjson

from crx import _native
from crx._show.answer_span import find_answers
from crx._show.location import anchor_around, locate_passage
from crx._show.marks import pages_around, read_marks
from crx.retrieve._query.exclusion import holds_excluded
from crx.retrieve.operators import matched_text
from crx.retrieve.ports import DocumentReader
from crx.retrieve.rows import PassageRow
from crx.retrieve.search_state import Search
from crx.types import FOLDER_DESCRIPTION, Hit, Note, Passage, Window


def widen_hits(search: Search) -> Search:
    """Return the search with the passages around its hits.

    If a neighbour of a hit holds what the query excludes, the passages are the hits alone.
    """
    passages = _widen_by(search, window=search.request.window)
    if search.excluded and any(_holds_excluded(search, passage) for passage in passages):
        passages = _widen_by(search, window=0)
    return search._replace(passages=tuple(passages))


def _widen_by(search: Search, *, window: Window) -> list[Passage]:
    request = search.request
    query = search.query
    if request.pattern:
        query = matched_text(request.pattern, (hit.text for hit in search.hits))
    return widen(
        search.hits,
        query=query,
        documents=search.searcher.documents,
        window=window,
        budget_tokens=search.budget_tokens,
        window_tokens=search.parameters.window_tokens,
        within_section=request.within_section,
        order=request.order,
    )


def _holds_excluded(search: Search, passage: Passage) -> bool:
    """Return whether a neighbour of a hit holds what the query excludes."""
    return holds_excluded(passage.text, search.excluded, langs=search.searcher.langs)


def widen(
    hits: Sequence[Hit],
    *,
    query: str = "",
    documents: DocumentReader,
    window: Window,
    budget_tokens: int,
    window_tokens: int,
    within_section: bool = False,
    order: Literal["score", "document"] = "score",
) -> list[Passage]:
    """Return the passages around hits, which are ordered best first.

    `window="auto"` selects the passages that are worth most within `budget_tokens` in total, so
    that a hit may be in none. "grow" expands each hit up to `window_tokens`; a number expands it by
    that many chunks on each side. Headings, line, pages, fragment and anchor of a passage are those
    of the line of its best hit that has most terms of `query`.
    """
    keys = np.array([hit.key for hit in hits], dtype=np.int64)
    scores = np.array([hit.score for hit in hits], dtype=np.float32)
    if window == "auto":
        rows = documents.select_passages(
            keys, scores, budget_tokens=budget_tokens, within_section=within_section, order=order
        )
    else:
        rows = documents.expand_passages(
            keys,
            scores,
            budget_tokens=window_tokens if window == "grow" else None,
            window=None if window == "grow" else window,
            within_section=within_section,
            order=order,
        )
    best = [hits[row.hits[0]] for row in rows]
    answers = find_answers([hit.text for hit in best], query)
    metadata = {each: orjson.loads(each) for each in {row.metadata for row in rows}}
    made = _native.make_passages(Passage, rows, tuple(hits), answers)
    return [
        _locate(passage, row, answer, marks=marks, metadata=metadata[row.metadata])
        for row, answer, (passage, marks) in zip(rows, answers, made, strict=True)
    ]


def describe_left_out(search: Search) -> str:
    """Return the line on the hits that are in no passage, "" if there are none."""
    hits, shown = len(search.hits), sum(len(passage.hits) for passage in search.passages)
    if hits == shown:
        return ""
    budget = search.budget_tokens
    return Note(
        f"{hits - shown} of {hits} hits are left out: they would be over {budget:,} tokens; "
        f"budget_tokens={10 * budget} shows more",
        "limit",
    )


def _locate(
    passage: Passage,
    row: PassageRow,
    answer: tuple[int, int],
    *,
    marks: str,
    metadata: Mapping[str, object],
) -> Passage:
    """Return a passage with its position in the file and the description of its folder.

    `answer` is the span of the line of its best hit that answers, `marks` those around that are no
    sections, which most texts have alone.
    """
    best, (first, last) = passage.hits[0], answer
    if marks:
        around, start, end = read_marks(marks), best.start + first, best.start + last
        # The line that answers may have no anchor, as the header of a table.
        anchor = anchor_around(around, start, end) or anchor_around(around, best.start, best.end)
        passage = replace(passage, pages=pages_around(around, start, end), anchor=anchor)
    if FOLDER_DESCRIPTION in metadata:
        passage = replace(passage, folder=str(metadata[FOLDER_DESCRIPTION]))
    return locate_passage(passage, uri=row.uri, metadata=metadata, answer=best.text[first:last])
