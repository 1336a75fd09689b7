"""The line of a passage that most likely answers, for lists of locations."""

from __future__ import annotations

import re
from collections.abc import Callable

from crx import _native
from crx._show.answer_span import find_answer
from crx._show.excerpt import ExcerptRow, layout_rows
from crx.types import Hit

# A row with a letter or a digit that does not open or close a block of code.
_TEXT = re.compile(r"(?!\s*(?:```|~~~)).*\w")


def find_best_line(
    text: str, *, start: int, best: Hit, query: str, width: int, visible: Callable[[str], str]
) -> ExcerptRow:
    """Return a row of the line of a passage's best hit that answers, and its line from 0.

    `start` is where the text of the passage starts in its document. A long line is cut to rows of
    `width` columns, of which the one with most words of the query is taken.
    """
    begins = max(0, best.start - start)
    hit = text[begins : best.end - start]
    first, end = find_answer(hit, query)
    (rows,) = layout_rows(
        [hit[first:end]],
        width=width,
        visible=visible,
        first_line=text.count("\n", 0, begins + first),
    )
    asked = set(_native.analyze(query))
    # A hit without the words is read from its first line on that is more than a mark.
    written = [row for row in rows if _TEXT.match(row.text)] or rows[:1]
    return max(written, key=lambda row: len(asked.intersection(_native.analyze(row.text))))
