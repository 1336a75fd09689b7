"""Sizes, lag and caches of the indexes: as status, and as Prometheus reads them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from crx._context.report import compute_coverage
from crx.errors import CrxError
from crx_serve.metrics import Labels, gauge_lines
from crx_serve.responses import IndexStatus, WatchStatus
from crx_serve.served_index import ServedIndex

# Counts of an index that are metrics.
_SIZES = {
    "documents": "Documents of an index.",
    "chunks": "Chunks of an index.",
    "tokens": "Tokens of an index.",
    "pending": "Chunks that are not embedded yet.",
    "failures": "Inputs that could not be read.",
    "bytes": "Bytes of the index folder.",
}


def size_lines(indexes: Sequence[ServedIndex]) -> list[str]:
    """Return the metrics of what the indexes hold and lack."""
    states = [index_status(served) for served in indexes]
    lines = gauge_lines(
        "crx_index_up",
        "Whether an index can be read.",
        [(_of(each.name), float(not each.error)) for each in states],
    )
    for count, about in _SIZES.items():
        values = [(_of(each.name), each.counts.get(count, 0)) for each in states]
        lines += gauge_lines(f"crx_index_{count}", about, values)
    lags = [(_of(each.name), each.lag) for each in states]
    return lines + gauge_lines("crx_index_lag_changes", "Changes that BM25 lacks.", lags)


def cache_lines(indexes: Sequence[ServedIndex]) -> list[str]:
    """Return the metrics of the caches."""
    hits: list[tuple[Labels, float]] = []
    misses: list[tuple[Labels, float]] = []
    for served in indexes:
        with contextlib.suppress(CrxError):
            for cache, counts in served.get().search_models.cache_counts().items():
                labels = (*_of(served.name), ("cache", cache))
                hits.append((labels, counts.hits))
                misses.append((labels, counts.misses))
    return [
        *gauge_lines("crx_cache_hits_total", "Lookups that hit.", hits, kind="counter"),
        *gauge_lines("crx_cache_misses_total", "Lookups that did not.", misses, kind="counter"),
    ]


def index_status(
    served: ServedIndex, *, watch: WatchStatus | None = None, description: str = ""
) -> IndexStatus:
    """Return what an index holds and how it is watched; one that cannot be read has an `error`."""
    try:
        status = served.get().status()
    except CrxError as error:
        return IndexStatus(
            name=served.name,
            path=str(served.path),
            counts={},
            settings={},
            notes=(),
            failures=(),
            coverage=0.0,
            exact=True,
            dense_search="",
            reranker="",
            lag=0,
            error=str(error),
            watch=watch,
        )
    return IndexStatus(
        name=served.name,
        path=status.path,
        counts=status.counts,
        settings=status.settings,
        notes=status.notes,
        failures=status.failures,
        coverage=compute_coverage(status.counts),
        exact=status.exact,
        dense_search=status.dense_search,
        reranker=status.reranker,
        lag=status.lag,
        watch=watch,
        description=description,
    )


def _of(index: str) -> Labels:
    return (("index", index),)
