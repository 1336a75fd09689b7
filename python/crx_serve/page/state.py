"""The state of the indexes: what is still to be done, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from crx.labels import count_label
from crx_serve.added_folders import AddedFolder
from crx_serve.page.templates import render
from crx_serve.responses import IndexStatus, ServiceStatus, WatchStatus

# Inputs that could not be read that are listed for each index.
_MAX_FAILURES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShownIndex:
    """An index as `status.html` shows it; an error replaces everything else."""

    name: str
    error: str
    facts: Mapping[str, str]
    notes: Sequence[str]
    failures: Sequence[tuple[str, str]]


def render_state(status: ServiceStatus, *, added: AddedFolder | None = None) -> Markup:
    """Return one line for each thing that a search lacks now; `data-busy` if that changes soon.

    `added` is the folder that the page adds, if it adds one.
    """
    is_adding = added is not None and added.is_running
    is_busy = (
        is_adding
        or not status.ready
        or any(
            each.counts.get("pending") or each.lag or (each.watch and each.watch.files_found)
            for each in status.indexes
        )
    )
    return render("state.html", {"status": status, "is_busy": is_busy, "added": added})


def render_status(status: ServiceStatus) -> Markup:
    """Return the main part of the page that describes server and indexes."""
    indexes = [_show_index(each) for each in status.indexes]
    values = {"status": status, "indexes": indexes, "max_failures": _MAX_FAILURES}
    return render("status.html", values)


def _show_index(status: IndexStatus) -> _ShownIndex:
    return _ShownIndex(
        name=status.name,
        error=status.error,
        facts={} if status.error else _facts(status),
        notes=status.notes,
        failures=status.failures,
    )


def _facts(status: IndexStatus) -> dict[str, str]:
    return {
        "Folder": status.path,
        "Documents": f"{status.counts['documents']:,}",
        "Chunks": f"{status.counts['chunks']:,}",
        "Not embedded yet": f"{status.counts['pending']:,}",
        "Changes that the search for words lacks": f"{status.lag:,}",
        "Chunks with a context": f"{status.coverage:.1%}",
        "Embedder": status.settings.get("embedder", ""),
        "Reranker": status.reranker or "none",
        "Dense search": status.dense_search,
        **_watch_facts(status.watch),
    }


def _watch_facts(watch: WatchStatus | None) -> dict[str, str]:
    if watch is None:
        return {"Watched folders": "none; crx serve --watch follows them"}
    changed = count_label(watch.changed, "file")
    return {
        "Watched folders": ", ".join(watch.folders) or "none",
        "Last visit": f"{watch.last_visit or 'none yet'}; {changed} changed",
    }
