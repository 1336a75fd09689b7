"""Filters as chips: each value with the number of documents that have it, and the link to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crx_serve.facets import Facets
from crx_serve.page.form import SearchForm, folder_pattern
from crx_serve.page.locations import shorten_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A value of a filter; `count` is None for one that is set, whose link takes it away."""

    label: str
    count: int | None
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipGroup:
    """The values of one filter, the one with most documents first."""

    name: str
    chips: Sequence[Chip]


def list_filters(form: SearchForm, facets: Facets) -> list[ChipGroup]:
    """Return the filters that are set, and those that narrow the documents of `facets` further.

    A filter by which all documents are equal is left out. Folders are named below `form.here`.
    """
    groups = [
        _group("Index", form, "index", facets.indexes, total=facets.documents),
        _group("Kind", form, "format", facets.formats, total=facets.documents),
        _folders(form, facets),
        _group("Language", form, "lang", facets.languages, total=facets.documents),
        ChipGroup(name="Dated", chips=_dates(form)),
    ]
    return [group for group in groups if group.chips]


def _group(
    title: str, form: SearchForm, field: str, counts: Mapping[str, int], *, total: int
) -> ChipGroup:
    value = getattr(form, field)
    if value:
        return ChipGroup(name=title, chips=[_taken_away(form, field, value)])
    narrowing = {label: count for label, count in counts.items() if count < total}
    chips = [
        Chip(label=label, count=count, url=form.with_filter(field, label).url())
        for label, count in narrowing.items()
    ]
    return ChipGroup(name=title, chips=chips)


def _folders(form: SearchForm, facets: Facets) -> ChipGroup:
    """Return the path that is set, and the folders in it or in that of all documents."""
    entered = form.path.removesuffix("/**") if form.path.endswith("/**") else ""
    chips: list[Chip] = []
    if form.path:
        label = shorten_path(entered, form.here) or form.path
        chips.append(_taken_away(form, "path", form.path, label=label))
    if not form.path or entered:
        inside = facets.folders_in(entered or form.here)
        chips += [
            Chip(
                label=shorten_path(name, entered or form.here),
                count=count,
                url=form.with_filter("path", folder_pattern(name)).url(),
            )
            for name, count in inside.items()
            if count < facets.documents or len(inside) > 1
        ]
    return ChipGroup(name="Folder", chips=chips)


def _dates(form: SearchForm) -> list[Chip]:
    dates = {"since": ("from", form.since), "until": ("to", form.until)}
    return [
        _taken_away(form, field, value, label=f"{word} {value}")
        for field, (word, value) in dates.items()
        if value
    ]


def _taken_away(form: SearchForm, field: str, value: str, *, label: str = "") -> Chip:
    return Chip(label=label or value, count=None, url=form.with_filter(field, "").url())
