"""The first page: what the indexes hold, in words, with their folders, kinds and newest files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from markupsafe import Markup

from crx import registry
from crx_serve.facets import Facets, RecentDocument
from crx_serve.page.chips import list_filters
from crx_serve.page.form import SearchForm, document_url
from crx_serve.page.locations import shorten_path
from crx_serve.page.templates import render
from crx_serve.responses import IndexStatus, ServiceStatus

# Values of a filter that are listed; the others are behind "more".
_SHOWN_CHIPS = 12
# Examples of a query, and the most characters of one.
_EXAMPLES = 3
_EXAMPLE_CHARS = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class _IndexInWords:
    """An index in one sentence each on its size and on how it is searched."""

    name: str
    size: str
    vectors: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewDocument:
    """A document that was changed lately; `path` is "" if it is the title."""

    url: str
    title: str
    path: str
    changed: str
    changed_at: str


def render_home(
    form: SearchForm,
    facets: Facets,
    *,
    status: ServiceStatus,
    now: datetime,
    add_url: str,
) -> Markup:
    """Return the main part below the form of a page without a query.

    `facets` are those of the documents that match the filters of the form. `add_url` is the form
    that adds a folder, or "".
    """
    indexes = [each for each in status.indexes if form.index in ("", each.name)]
    values = {
        "form": form,
        "add_url": add_url,
        "documents": facets.documents,
        "indexes": [_describe_index(each) for each in indexes if not each.error],
        "filters": list_filters(form, facets),
        "shown_chips": _SHOWN_CHIPS,
        "examples": _find_examples(facets),
        "newest": [_show_document(each, folder=form.here, now=now) for each in facets.newest],
    }
    return render("home.html", values)


def _find_examples(facets: Facets) -> list[str]:
    """Return titles of new documents that are of a few words: queries that find something."""
    titles = (each.title.strip() for each in facets.newest)
    found = (each for each in titles if " " in each and len(each) <= _EXAMPLE_CHARS)
    return list(dict.fromkeys(found))[:_EXAMPLES]


def _describe_index(status: IndexStatus) -> _IndexInWords:
    counts = status.counts
    documents, chunks = counts["documents"], counts["chunks"]
    size = (
        f"{documents:,} document{'s' * (documents != 1)} in {chunks:,} chunk{'s' * (chunks != 1)}"
    )
    return _IndexInWords(name=status.name, size=size, vectors=_describe_vectors(status))


def _describe_vectors(status: IndexStatus) -> str:
    chunks, pending = status.counts["chunks"], status.counts.get("pending", 0)
    if not chunks:
        return "nothing is indexed yet: crx index FOLDER adds documents"
    if status.settings.get("embedder", "") == registry.NO_EMBEDDER:
        return "found by their words; this index has no vectors"
    if not pending:
        return "all of them are found by meaning, too"
    if pending == chunks:
        return "found by their words; none has a vector yet"
    # A share that is rounded to 100% would say that nothing is left to do.
    share = min(99, round(100 * (chunks - pending) / chunks))
    return f"{share}% of them are found by meaning, too, the others by their words so far"


def _show_document(document: RecentDocument, *, folder: str, now: datetime) -> _NewDocument:
    changed = datetime.fromtimestamp(document.changed_s, timezone.utc)
    path = shorten_path(document.uri, folder)
    return _NewDocument(
        url=document_url(document.id),
        title=document.title or path,
        path=path if document.title else "",
        changed=describe_age((now - changed).total_seconds()) or changed.date().isoformat(),
        changed_at=changed.isoformat(timespec="seconds"),
    )


def describe_age(seconds: float) -> str:
    """Return how long ago something was, "" if it is more than a month or in the future."""
    if seconds < -60:
        return ""
    if seconds < 60:
        return "just now"
    for unit, length, most in (("minute", 60, 60), ("hour", 3600, 24), ("day", 86400, 31)):
        count = int(seconds // length)
        if count < most:
            return f"{count} {unit}{'s' * (count != 1)} ago"
    return ""
