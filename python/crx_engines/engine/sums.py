"""Sums over the documents of a collection, which writers keep by name and searches read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from crx_engines.engine.bm25 import TermCounts, count_chunks
from crx_engines.engine.protocol import OUTCOME, CollectionStatistics, StoredDocument

_FIELDS = ("text", "outline", "context")


def sums_of(document: StoredDocument, terms: Sequence[TermCounts]) -> dict[str, int]:
    """Return what a document adds to each sum; `terms` are those of its chunks."""
    chunks = document.chunks
    embedded = [chunk.vector is not None for chunk in chunks]
    wanted = [bool(chunk.vector_key) for chunk in chunks]
    sums = Counter(
        {
            "documents": 1,
            "chunks": len(chunks),
            "tokens": max((chunk.token_end for chunk in chunks), default=0),
            "vectors": sum(embedded),
            "pending": sum(each and not has for each, has in zip(wanted, embedded, strict=True)),
        }
    )
    for each in terms:
        for field, length in zip(_FIELDS, each.lengths, strict=True):
            sums[f"{field}_length"] += length
    sums.update(f"{OUTCOME}{chunk.context.outcome}" for chunk in chunks if chunk.context)
    sums[f"lang:{document.lang}"] += 1
    return {name: value for name, value in sums.items() if value}


def statistics_of(documents: Iterable[StoredDocument], *, version: int) -> CollectionStatistics:
    """Return the statistics of documents."""
    totals: Counter[str] = Counter()
    for document in documents:
        totals.update(sums_of(document, count_chunks(document)))
    return make_statistics(totals, version=version)


def make_statistics(totals: Mapping[str, int], *, version: int) -> CollectionStatistics:
    """Return the statistics of a collection, or of parts whose sums were added up."""
    langs = {
        name.removeprefix("lang:"): count
        for name, count in totals.items()
        if name.startswith("lang:") and count > 0
    }
    return CollectionStatistics(
        documents=totals.get("documents", 0),
        chunks=totals.get("chunks", 0),
        vectors=totals.get("vectors", 0),
        pending=totals.get("pending", 0),
        tokens=totals.get("tokens", 0),
        outcomes={
            name.removeprefix(OUTCOME): count
            for name, count in totals.items()
            if name.startswith(OUTCOME) and count
        },
        lengths=(
            totals.get("text_length", 0),
            totals.get("outline_length", 0),
            totals.get("context_length", 0),
        ),
        langs=tuple(sorted(langs, key=lambda lang: (-langs[lang], lang))),
        version=version,
    )
