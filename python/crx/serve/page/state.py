"""The state of the indexes: what is still to be done, and what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crx.serve.page.markup import Markup, Node, tag
from crx.serve.responses import IndexStatus, ServiceStatus, WatchStatus

# Inputs that could not be read that are listed for each index.
_MAX_FAILURES = 200


def render_state(status: ServiceStatus) -> Markup:
    """Return one line for each thing that a search lacks now; `data-busy` if that changes soon."""
    lines = list(_lines(status))
    busy = any(
        each.counts.get("pending") or each.lag or (each.watch and each.watch.files_found)
        for each in status.indexes
    )
    busy = busy or not status.ready
    return tag(
        "div",
        {"id": "state", "role": "status", "data-busy": busy},
        *(tag("p", {"class": "note"}, *line) for line in lines),
    )


def _lines(status: ServiceStatus) -> Iterator[Sequence[Node]]:
    if not status.ready:
        yield ("The models are being loaded; the first search waits for them.",)
    for each in status.indexes:
        name = f"{each.name}: " if len(status.indexes) > 1 else ""
        if each.error:
            yield (f"{name}{each.error}",)
            continue
        if each.watch:
            yield from _watching(name, each.watch)
        if pending := each.counts.get("pending", 0):
            yield _embedding(name, pending, total=each.counts["chunks"])
        if each.lag:
            changes = f"{each.lag:,} change{'s' * (each.lag != 1)}"
            yield (f"{name}The search for words lags {changes} behind.",)
        if each.failures:
            count = len(each.failures)
            what = f"{count:,} input{'s' * (count != 1)} could not be read"
            yield name, tag("a", {"href": "/status"}, what), "."


def _watching(name: str, watch: WatchStatus) -> Iterator[Sequence[Node]]:
    if watch.problem:
        yield (f"{name}Changes of the folders are not read: {watch.problem}",)
    elif watch.files_found:
        read, found = watch.files_read, watch.files_found
        yield (
            f"{name}Reading: {read:,} of {found:,} files. ",
            tag("progress", {"max": found, "value": read, "aria-label": f"{name}files read"}, ""),
        )


def _embedding(name: str, pending: int, *, total: int) -> Sequence[Node]:
    text = f"{name}Indexing: {pending:,} of {total:,} chunks are found by their words only so far. "
    label = f"{name}chunks embedded"
    done = total - pending
    return text, tag("progress", {"max": total, "value": done, "aria-label": label}, str(done))


def render_status(status: ServiceStatus) -> Markup:
    """Return the main part of the page that describes server and indexes."""
    model = status.generator or "none; crx serve --with MODEL names one"
    return tag(
        "section",
        {"class": "status"},
        tag("h1", {}, "Status"),
        tag("p", {"class": "place"}, f"crx {status.version} · answers by {model}"),
        *(_index(each) for each in status.indexes),
    )


def _index(status: IndexStatus) -> Markup:
    if status.error:
        return tag(
            "section", {}, tag("h2", {}, status.name), tag("p", {"class": "note"}, status.error)
        )
    shown = {
        "Folder": status.path,
        "Documents": f"{status.counts['documents']:,}",
        "Chunks": f"{status.counts['chunks']:,}",
        "Not embedded yet": f"{status.counts['pending']:,}",
        "Changes that the search for words lacks": f"{status.lag:,}",
        "Chunks with a context": f"{status.coverage:.1%}",
        "Embedder": status.settings.get("embedder", ""),
        "Reranker": status.reranker or "none",
        "Dense search": status.dense_search,
        **_watch_rows(status.watch),
    }
    pairs = [tag("div", {}, tag("dt", {}, k), tag("dd", {}, v)) for k, v in shown.items()]
    return tag(
        "section",
        {},
        tag("h2", {}, status.name),
        tag("dl", {}, *pairs),
        *(tag("p", {"class": "note"}, note) for note in status.notes),
        _failures(status.failures),
    )


def _watch_rows(watch: WatchStatus | None) -> dict[str, str]:
    if watch is None:
        return {"Watched folders": "none; crx serve --watch follows them"}
    return {
        "Watched folders": ", ".join(watch.folders) or "none",
        "Last visit": f"{watch.last_visit or 'none yet'}; {watch.changed:,} documents changed",
    }


def _failures(failures: Sequence[tuple[str, str]]) -> Node:
    if not failures:
        return ""
    listed = [
        tag("li", {}, tag("bdi", {}, uri), tag("p", {}, reason))
        for uri, reason in failures[:_MAX_FAILURES]
    ]
    title = tag("h3", {}, f"{len(failures):,} inputs that could not be read")
    return tag("div", {"class": "failures"}, title, tag("ul", {}, *listed))
