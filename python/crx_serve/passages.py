"""Passages as the server returns them: with the id, the URL and the score of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TypeVar

from crx import _native
from crx._show.by_file import FILE_LINES, describe_file
from crx.types import Passage, Result
from crx_serve.document_ids import make_document_id
from crx_serve.responses import AnsweringFile, FoundPassage

Item = TypeVar("Item")

_PASSAGE_FIELDS = tuple(each.name for each in fields(Passage))


def describe_passages(
    passages: Sequence[Passage],
    *,
    index: str,
    store: _native.Store,
    url_of: Callable[[str, str, str], str],
    best: float,
) -> list[FoundPassage]:
    """Return passages of an index; `url_of` gets the id, the URI and the fragment of each.

    `best` is the score of the best passage of the search.
    """
    rows = {uri: store.document(uri) for uri in {each.uri for each in passages}}
    described = []
    for passage in passages:
        row = rows[passage.uri]
        # A document that was removed since the search has no id any more.
        document_id = make_document_id(index, row) if row else ""
        values = {each: getattr(passage, each) for each in _PASSAGE_FIELDS}
        described.append(
            FoundPassage(
                index=index,
                id=document_id,
                url=url_of(document_id, passage.uri, _place(passage)),
                index_score=_index_score(passage, best=best),
                reranked=_relevance(passage) is not None,
                less_relevant=passage.less_relevant,
                **values,
            )
        )
    return described


def as_passage(found: FoundPassage) -> Passage:
    """Return a passage without what the server adds to it."""
    return Passage(**{each: getattr(found, each) for each in _PASSAGE_FIELDS})


def describe_files(
    passages: Sequence[FoundPassage], *, query: str, lines: int = FILE_LINES
) -> list[AnsweringFile]:
    """Return the files of passages, each once with its best lines, in the order of the passages."""
    by_file: dict[tuple[str, str], list[FoundPassage]] = {}
    for passage in passages:
        by_file.setdefault((passage.index, passage.uri), []).append(passage)
    return [_describe_file(found, query=query, lines=lines) for found in by_file.values()]


def add_timings(results: Sequence[Result]) -> dict[str, float]:
    """Return the milliseconds of each stage of all searches together."""
    total: dict[str, float] = {}
    for result in results:
        for stage, milliseconds in (result.timings_ms or {}).items():
            total[stage] = total.get(stage, 0.0) + milliseconds
    return total


def _describe_file(passages: Sequence[FoundPassage], *, query: str, lines: int) -> AnsweringFile:
    first = passages[0]
    file = describe_file([as_passage(each) for each in passages], query=query, lines=lines)
    return AnsweringFile(
        index=first.index,
        id=first.id,
        url=first.url,
        uri=file.uri,
        title=file.title,
        score=file.score,
        hits=file.hits,
        lines=file.lines,
    )


def _index_score(passage: Passage, *, best: float) -> float:
    relevance = _relevance(passage)
    if relevance is not None:
        return relevance
    return passage.score / best if best > 0 else 0.0


def _relevance(passage: Passage) -> float | None:
    """Return the reranker's score of a passage's best hit, None if it was not reranked."""
    stage = passage.hits[0].stages.get("rerank")
    return stage.score if stage else None


def _place(passage: Passage) -> str:
    if passage.line:
        return f"#L{passage.line}"
    return passage.fragment
