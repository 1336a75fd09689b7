"""Numbers of list items and headings in OpenDocument texts (OpenDocument 1.3, 5.3 and 16.29)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from crx.ingest.readers.list_numbers import ListCounters, ListLevel, split_pattern
from crx.ingest.readers.xml_package import all_text, attribute, find, local_name, number

_STYLES = frozenset(("list-style", "outline-style"))
_BULLETS = frozenset(("list-level-style-bullet", "list-level-style-image"))
_PLACE = re.compile(r"%(\d{1,2})%")
_OUTLINE = "outline-style"  # a key that is no style's name, since it is that of an element
# Formats by the first characters of the ones that OpenDocument writes as their first numbers.
_FORMATS = {
    "": "none", "1": "decimal", "01": "decimalZero", "a": "lowerLetter", "A": "upperLetter",
    "i": "lowerRoman", "I": "upperRoman", "一": "chineseCounting", "甲": "ideographTraditional",
    "子": "ideographZodiac", "①": "decimalEnclosedCircle", "ア": "aiueo", "イ": "iroha",
    "가": "ganada", "а": "russianLower", "А": "russianUpper", "א": "hebrew2", "أ": "arabicAlpha",
}  # fmt: skip

_Levels = dict[int, ListLevel]


@dataclass(slots=True)
class _OpenList:
    """A list that is being read: its style, and the counters of the outermost list."""

    style: str
    counters: ListCounters


@dataclass(slots=True)
class _OpenItem:
    """An item of a list; its first paragraph takes the number."""

    is_numbered: bool
    start: int | None
    given: str  # the number that the file has for it


class OdfNumbering:
    """The lists of a document, and how far each is counted."""

    def __init__(self, roots: Iterable[Element]) -> None:
        self._styles: dict[str, _Levels] = {}
        for root in roots:
            self._styles |= _read_styles(root)
        self._lists: list[_OpenList] = []
        self._items: list[_OpenItem] = []
        self._by_id: dict[str, ListCounters] = {}
        self._last: _OpenList | None = None
        self._outline = ListCounters()

    def open_list(self, element: Element) -> None:
        """Begin a list, which may go on with the numbers of an earlier one."""
        outer = self._lists[-1] if self._lists else None
        style = attribute(element, "style-name") or (outer.style if outer else "")
        if outer:
            counters = outer.counters
        elif (earlier := self._by_id.get(attribute(element, "continue-list"))) is not None:
            counters = earlier
        elif attribute(element, "continue-numbering") == "true" and self._last is not None:
            counters = self._last.counters if self._last.style == style else ListCounters()
        else:
            counters = ListCounters()
        self._lists.append(_OpenList(style, counters))
        if not outer:
            self._last = self._lists[-1]
            if id_ := attribute(element, "id"):
                self._by_id[id_] = counters

    def close_list(self) -> None:
        """End the innermost list."""
        if self._lists:
            self._lists.pop()

    def open_item(self, element: Element) -> None:
        """Begin an item or a header of the innermost list."""
        start = attribute(element, "start-value")
        is_item = local_name(element) == "list-item"
        self._items.append(_OpenItem(is_item, number(start) if start else None, _given(element)))

    def close_item(self) -> None:
        """End the innermost item."""
        if self._items:
            self._items.pop()

    def number_paragraph(self) -> str:
        """Return the number of the paragraph that begins, "-" for a bullet; "" if it has none."""
        if not self._items or not self._lists or not self._items[-1].is_numbered:
            return ""
        item, innermost, level = self._items[-1], self._lists[-1], len(self._lists) - 1
        item.is_numbered = False
        levels = self._styles.get(innermost.style, {})
        if level not in levels:
            return "-"
        if item.start is not None:
            innermost.counters.restart(level, item.start)
        counted = innermost.counters.number_next(level, levels.get)
        return "-" if levels[level].is_bullet else item.given or counted

    def number_heading(self, element: Element, level: int) -> str:
        """Return the number of a heading of a level from 1: by its list, or by the outline."""
        if self._items:
            return self.number_paragraph()
        levels = self._styles.get(_OUTLINE, {})
        if attribute(element, "is-list-header") == "true" or level - 1 not in levels:
            return _given(element)
        if start := attribute(element, "start-value"):
            self._outline.restart(level - 1, number(start))
        counted = self._outline.number_next(level - 1, levels.get)
        return _given(element) or counted


def _given(element: Element) -> str:
    given = find(element, "number")
    return all_text(given) if given is not None else ""


def _read_styles(root: Element) -> dict[str, _Levels]:
    found = {}
    for section in root:
        for style in section:
            if local_name(style) in _STYLES:
                is_outline = local_name(style) == _OUTLINE
                found[_OUTLINE if is_outline else attribute(style, "name")] = _read_levels(style)
    return found


def _read_levels(style: Element) -> _Levels:
    elements = {number(attribute(each, "level")) - 1: each for each in style}
    formats = {at: _format(each) for at, each in elements.items() if at >= 0}
    return {at: _read_level(elements[at], at, formats) for at in formats}


def _format(element: Element) -> str:
    if local_name(element) in _BULLETS:
        return "bullet"
    written = attribute(element, "num-format").partition(",")[0]
    return _FORMATS.get(written, "decimal")


def _read_level(element: Element, level: int, formats: dict[int, str]) -> ListLevel:
    start = number(attribute(element, "start-value"), default=1)
    if formats[level] in ("none", "bullet"):
        return ListLevel(formats[level], (), start)
    if pattern := attribute(element, "num-list-format"):
        return ListLevel(formats[level], split_pattern(_PLACE.split(pattern)), start)
    first = level + 1 - number(attribute(element, "display-levels"), default=1)
    shown = [at for at in range(max(first, 0), level + 1) if formats.get(at, "none") != "none"]
    joined = [piece for at in shown for piece in (".", at)][1:]
    before, after = attribute(element, "num-prefix"), attribute(element, "num-suffix")
    return ListLevel(formats[level], (before, *joined, after), start)
