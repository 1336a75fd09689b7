"""What the answers of several products share: names, attributes and thresholds of passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from crx_serve.responses import FoundPassage
from crx_serve.service import SearchService

Attribute = str | int | float | bool


def name_of(passage: FoundPassage) -> str:
    """Return the name of a passage's file, or its URI if that has none."""
    return PurePosixPath(passage.uri).name or passage.uri


def attributes_of(passage: FoundPassage) -> dict[str, Attribute]:
    """Return where a passage is, as names and plain values."""
    attributes: dict[str, Attribute] = {
        "index": passage.index,
        "document_id": passage.id,
        "uri": passage.uri,
        "url": passage.url,
        "start": passage.start,
        "end": passage.end,
    }
    if passage.headings:
        attributes["headings"] = " > ".join(passage.headings)
    if passage.line:
        attributes["line"] = passage.line
    if passage.lines:
        attributes |= {"first_line": passage.lines[0], "last_line": passage.lines[1]}
    if passage.pages:
        attributes |= {"first_page": passage.pages[0], "last_page": passage.pages[1]}
    if passage.anchor:
        attributes["place"] = passage.anchor.label
    return attributes


def score_of(passage: FoundPassage) -> float:
    """Return the score of a passage, 0 to 1."""
    return min(1.0, max(0.0, passage.index_score))


def above(
    threshold: float | None, passages: Sequence[FoundPassage], service: SearchService
) -> list[FoundPassage]:
    """Return the passages that score at least a threshold, which needs a reranker's scores.

    Other scores say how a passage compares with the best one, and nothing of its relevance: the
    threshold is ignored then, with a warning.
    """
    if not threshold:
        return list(passages)
    if not all(each.reranked for each in passages):
        service.warn("score_threshold is ignored: only a reranker's scores have one; set reranker")
        return list(passages)
    return [each for each in passages if each.index_score >= threshold]
