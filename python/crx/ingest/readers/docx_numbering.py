"""Numbers of paragraphs in Word documents (ECMA-376 Part 1, 17.9): the part `numbering.xml`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

from crx.ingest.readers.list_numbers import ListCounters, ListLevel, split_pattern
from crx.ingest.readers.xml_package import Archive, attribute, children, find, number

_PLACE = re.compile(r"%([1-9])")
_MOST_LEVELS = 9


@dataclass(frozen=True, slots=True)
class _DocxList:
    """A list that paragraphs refer to: its levels, and those with a start of its own."""

    abstract: str  # lists of one abstract list are counted together
    levels: dict[int, ListLevel]
    starts: dict[int, int]
    levels_by_style: dict[str, int] = field(default_factory=dict)


class DocxNumbering:
    """The lists of a document, and how far each is counted."""

    def __init__(self, lists: Mapping[str, _DocxList]) -> None:
        self._lists = lists
        self._counters: dict[str, ListCounters] = {}
        self._started: set[tuple[str, int]] = set()

    def level_of_style(self, list_id: str, style: str) -> int:
        """Return the level that a list gives a paragraph style, the outermost if none."""
        found = self._lists.get(list_id)
        return found.levels_by_style.get(style, 0) if found else 0

    def number_next(self, list_id: str, level: int) -> str:
        """Count a paragraph of a list; return its number, "-" for a bullet or an unknown list."""
        found = self._lists.get(list_id)
        if found is None or level not in found.levels:
            return "-"
        counters = self._counters.setdefault(found.abstract, ListCounters())
        if level in found.starts and (list_id, level) not in self._started:
            counters.restart(level, found.starts[level])
        self._started.add((list_id, level))
        counted = counters.number_next(level, found.levels.get)
        return "-" if found.levels[level].is_bullet else counted


def read_numbering(archive: Archive, path: str) -> DocxNumbering:
    """Return the lists of the part at a path, none if there is no such part."""
    return DocxNumbering(_read_lists(archive.read_xml(path)) if path in archive else {})


def _read_lists(root: Element) -> dict[str, _DocxList]:
    abstracts = {attribute(each, "abstractNumId"): each for each in children(root, "abstractNum")}
    by_style = {
        attribute(link, "val"): id_
        for id_, each in abstracts.items()
        if (link := find(each, "styleLink")) is not None
    }
    lists = {}
    for each in children(root, "num"):
        named = find(each, "abstractNumId")
        abstract = attribute(named, "val") if named is not None else ""
        link = find(abstracts[abstract], "numStyleLink") if abstract in abstracts else None
        if link is not None:
            abstract = by_style.get(attribute(link, "val"), abstract)
        if abstract in abstracts:
            lists[attribute(each, "numId")] = _read_list(abstract, abstracts[abstract], each)
    return lists


def _read_list(abstract: str, root: Element, own: Element) -> _DocxList:
    levels, by_style = {}, {}
    for element in children(root, "lvl"):
        at = number(attribute(element, "ilvl"))
        if at < _MOST_LEVELS:
            levels[at] = _read_level(element)
            style = find(element, "pStyle")
            if style is not None:
                by_style[attribute(style, "val")] = at
    starts = {}
    for changed in children(own, "lvlOverride"):
        at = number(attribute(changed, "ilvl"))
        replaced, start = find(changed, "lvl"), find(changed, "startOverride")
        if replaced is not None and at < _MOST_LEVELS:
            levels[at] = _read_level(replaced)
        if start is not None and at in levels:
            starts[at] = number(attribute(start, "val"), default=1)
            levels[at] = replace(levels[at], start=starts[at])
    return _DocxList(abstract, levels, starts, by_style)


def _read_level(element: Element) -> ListLevel:
    def value(name: str, default: str) -> str:
        found = find(element, name)
        return attribute(found, "val") if found is not None else default

    restart = value("lvlRestart", "")
    legal = find(element, "isLgl")
    format_ = value("numFmt", "decimal")
    return ListLevel(
        format=format_,
        pieces=split_pattern(_PLACE.split(value("lvlText", ""))),
        start=number(value("start", "0")),
        restarts_after=number(restart) if restart else None,
        is_decimal=legal is not None and attribute(legal, "val") not in ("0", "false"),
    )
