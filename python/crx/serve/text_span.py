"""The characters of a document that a request names: by lines, by a page, or themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from crx.errors import UsageError
from crx.serve.requests import FetchQuery
from crx.types import Mark

_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_SHOWN_LABELS = 20


def find_text_span(
    request: FetchQuery, text: str, *, read_marks: Callable[[], Iterable[Mark]]
) -> tuple[int, int]:
    """Return the first character that a request wants and the end, the text's if it names none.

    Raises `UsageError` for lines or a page that the document does not have, and for two of lines,
    page and characters together.
    """
    given = [bool(request.lines), bool(request.page), bool(request.start or request.end)]
    if sum(given) > 1:
        raise UsageError("give lines, page, or start and end, and not two of them")
    if request.lines:
        return _lines_span(request.lines, text)
    if request.page:
        return _page_span(request.page, list(read_marks()))
    start = min(request.start, len(text))
    return start, max(start, min(request.end or len(text), len(text)))


def _lines_span(wanted: str, text: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(wanted)
    if found is None:
        raise UsageError(f"lines {wanted[:100]}: want a number or two, as in 3-40")
    first, last = int(found[1]), int(found[2] or found[1])
    starts = [0, *(each.end() for each in re.finditer("\n", text) if each.end() < len(text))]
    if not 1 <= first <= len(starts) or last < first:
        raise UsageError(f"lines {wanted}: the document has lines 1 to {len(starts)}")
    return starts[first - 1], starts[last] if last < len(starts) else len(text)


def _page_span(wanted: str, marks: list[Mark]) -> tuple[int, int]:
    """Return the span of a page by its label, of pages such as 3-5, or of "slide 3"."""
    pages = [mark for mark in marks if not mark.is_section]
    named = {_label(mark): mark for mark in reversed(pages)}
    first, _, last = (wanted, "", "") if wanted in named else wanted.partition("-")
    if first not in named or (last and last not in named):
        known = ", ".join(list(dict.fromkeys(map(_label, pages)))[:_SHOWN_LABELS])
        raise UsageError(f"page {wanted[:100]}: no such page; there is {known or 'none'}")
    return named[first].start, named[last or first].end


def _label(mark: Mark) -> str:
    return mark.label if mark.kind == "page" else f"{mark.kind} {mark.label}"
