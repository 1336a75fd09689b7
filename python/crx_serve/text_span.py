"""The characters of a document that a request names: by lines, by a page, or themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from crx.errors import UsageError
from crx.types import Mark
from crx_serve.requests import FetchQuery
from crx_serve.text_lines import TextLines, parse_range

# Kinds of marks that are named by their label alone.
_UNNAMED = ("page", "time")
_BETWEEN = re.compile(r"-| to ")
_SHOWN_LABELS = 20


def find_text_span(
    request: FetchQuery, text: str, *, read_marks: Callable[[], Iterable[Mark]]
) -> tuple[int, int]:
    """Return the first character that a request wants and the end, the text's if it names none.

    Raises `UsageError` for lines or a page that the document does not have, for a reversed range,
    and for two of lines, page and characters together.
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
    found = parse_range(wanted)
    if found is None:
        raise UsageError(f"lines {wanted[:100]}: want a number or two, as in 3-40")
    first, last = found
    if last < first:
        raise UsageError(f"lines {wanted}: the range is reversed")
    lines = TextLines.of(text)
    if not 1 <= first <= lines.count:
        raise UsageError(f"lines {wanted}: the document has lines 1 to {lines.count}")
    return lines.starts[first - 1], lines.starts[last] if last < lines.count else len(text)


def _page_span(wanted: str, marks: Sequence[Mark]) -> tuple[int, int]:
    """Return the span of what a passage names as its pages, or as its `Anchor.label`."""
    pages = [mark for mark in marks if not mark.is_section]
    is_reversed = False
    for given, within in _by_sheet(wanted, pages):
        for kind in dict.fromkeys(mark.kind for mark in within):
            own = [mark for mark in within if mark.kind == kind]
            labels = [mark.label for mark in own]
            for first, last in _split_labels(given, kind):
                if first not in labels or last not in labels:
                    continue
                at = labels.index(first)
                # The labels of pages may begin anew: the last page is the next of its label.
                if last in labels[at:]:
                    return own[at].start, own[labels.index(last, at)].end
                is_reversed = True
    if is_reversed:
        raise UsageError(f"page {wanted[:100]}: the range is reversed")
    known = ", ".join(list(dict.fromkeys(map(_label, pages)))[:_SHOWN_LABELS])
    raise UsageError(f"page {wanted[:100]}: no such page; there is {known or 'none'}")


def _by_sheet(wanted: str, pages: Sequence[Mark]) -> Iterator[tuple[str, Sequence[Mark]]]:
    """Yield what may be wanted and of which marks: "rows 5-9" of those of a sheet, or of all."""
    yield wanted, pages
    for sheet in pages:
        before = f"sheet {sheet.label}, "
        if sheet.kind == "sheet" and wanted.startswith(before):
            within = [each for each in pages if sheet.start <= each.start and each.end <= sheet.end]
            yield wanted.removeprefix(before), within


def _split_labels(wanted: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the labels of the first and the last mark of a kind that a text may name."""
    if kind not in _UNNAMED:
        named = re.fullmatch(rf"{kind}s? (.+)", wanted, re.DOTALL)
        if named is None:
            return
        wanted = named[1]
    yield wanted, wanted
    for between in _BETWEEN.finditer(wanted):
        yield wanted[: between.start()], wanted[between.end() :]


def _label(mark: Mark) -> str:
    return mark.label if mark.kind in _UNNAMED else f"{mark.kind} {mark.label}"
