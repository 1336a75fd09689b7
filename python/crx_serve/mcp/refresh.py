"""The tool that brings indexes up to date with the paths that were indexed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from crx.ingest.report import Progress
from crx_serve.service import SearchService


class RefreshQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read again what has changed below the paths that were indexed."""

    index: Annotated[str, Meta(description="One index; default: all.")] = ""


class RefreshedIndex(Struct, frozen=True, kw_only=True):
    """What a refresh of an index did: counts of documents, and inputs that could not be read."""

    name: str
    added: int
    changed: int
    removed: int
    unchanged: int
    unread: list[str]


class RefreshedIndexes(Struct, frozen=True, kw_only=True):
    """The answer of `refresh`."""

    indexes: list[RefreshedIndex]


def refresh_indexes(
    service: SearchService, request: RefreshQuery, on_progress: Callable[[int, int, str], None]
) -> RefreshedIndexes:
    """Refresh one index, or all; raises as `Index.refresh` does."""
    names = (request.index,) if request.index else service.names
    return RefreshedIndexes(indexes=[_refresh(service, name, on_progress) for name in names])


def _refresh(
    service: SearchService, name: str, on_progress: Callable[[int, int, str], None]
) -> RefreshedIndex:
    def report_progress(progress: Progress) -> None:
        on_progress(progress.documents, progress.found, progress.uri)

    report = service.index(name).refresh(on_progress=report_progress)
    return RefreshedIndex(
        name=name,
        added=report.added,
        changed=report.changed + report.renamed,
        removed=report.removed,
        unchanged=report.unchanged,
        unread=[f"{each.uri}: {each.reason}" for each in report.failures],
    )
