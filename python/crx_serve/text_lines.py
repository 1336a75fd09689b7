"""Lines of a document's text: where each starts, and spans by the numbers of lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

# Characters of a document that one page shows.
SHOWN_CHARS = 60_000
# Of them, those before the span that the page is scrolled to.
_BEFORE_CHARS = 15_000
# Characters that a line counts as at least: each is an element of the page, also if it is empty.
_LINE_CHARS = 20
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class Window:
    """The lines (first, last) of a text that are shown, and the span of their characters.

    `is_cut` is true if a line is so long that the span has only a part of it.
    """

    first: int
    last: int
    start: int
    end: int
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class TextLines:
    """A text, and the offsets at which its lines start. Lines are counted from 1."""

    text: str
    starts: tuple[int, ...]

    @staticmethod
    def of(text: str) -> TextLines:
        """Return the lines of a text."""
        starts = [0]
        at = text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        return TextLines(text, tuple(starts))

    def line_at(self, offset: int) -> int:
        """Return the line that a character is in."""
        return bisect_right(self.starts, max(0, offset))

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Return the span of lines; numbers beyond the text are those of its ends."""
        count = len(self.starts)
        first = min(max(first, 1), count)
        last = min(max(last, first), count)
        return self.starts[first - 1], self.end(last)

    @property
    def count(self) -> int:
        """How many lines there are; nothing after the last newline is none."""
        return max(1, len(self.starts) - (self.starts[-1] == len(self.text)))

    def end(self, line: int) -> int:
        """Return the end of a line, without its newline."""
        return self.starts[line] - 1 if line < len(self.starts) else len(self.text)

    def around(
        self, start: int, *, before: int = _BEFORE_CHARS, shown: int = SHOWN_CHARS
    ) -> Window:
        """Return what is shown of a text that is scrolled to an offset.

        Its lines have about `shown` characters, `before` of them before the offset. They are cut
        if they have more than twice as many. Of short lines there are fewer characters.
        """
        text_start = max(0, min(start - before, len(self.text) - shown))
        at = self.line_at(start)
        first = max(self.line_at(text_start), at - before // _LINE_CHARS)
        last = max(self.line_at(text_start + shown), at)
        last = min(last, first + shown // _LINE_CHARS)
        line_start, line_end = self.span(first, last)
        if line_end - line_start <= 2 * shown:
            return Window(first, last, line_start, line_end)
        cut_start = max(line_start, text_start - shown // 2)
        cut_end = min(line_end, cut_start + 2 * shown)
        return Window(first, self.line_at(cut_end), cut_start, cut_end, is_cut=True)


def parse_range(given: str) -> tuple[int, int] | None:
    """Return the two numbers of a text such as "3-7", or one number twice; None for other texts."""
    found = _RANGE.fullmatch(given)
    return (int(found[1]), int(found[2] or found[1])) if found else None
