"""Checking of citations in a streamed answer.

A citation is a number in square brackets, or several: `[1]`, `[1, 3]`, `[2-4]`, `[1][2]`. One that
names no passage is taken out before anybody reads it, so a bracket is held back until it is
decided. What stands in backticks is code, and `a[1]` in it no citation.
"""

from __future__ import annotations

import re

_ITEM = r"\d+(?:\s?[-–—]\s?\d+)?"
_INSIDE = rf"{_ITEM}(?:\s?[,;]\s?{_ITEM})*"
_MARK = re.compile(rf"\[(?P<inside>{_INSIDE})\]")
_OPEN = re.compile(r"\[[\d\s,;–—-]*\Z")
_RISK = re.compile(r"[ \t]*\[|`+|[ \t]+\Z")

# Nobody cites so much at once; a bracket is not held back for longer.
_LONGEST = 200


def spaced(text: str) -> str:
    """Return a text in which nothing reads as a citation: `[7]` becomes `[ 7 ]`."""
    return _MARK.sub(r"[ \g<inside> ]", text)


class Checker:
    """Lets an answer through piece by piece, without the citations of nothing.

    `cited` are the numbers that hold, in the order of their first mention; `removed` counts what
    was taken out. However an answer is cut into pieces, the same comes out.
    """

    def __init__(self, passages: int) -> None:
        self.cited: list[int] = []
        self.removed = 0
        self._passages = passages
        self._held = ""
        self._tail = ""
        self._fence = ""

    def feed(self, piece: str) -> str:
        """Take a piece; return what is decided."""
        self._held += piece
        return self._decided(final=False)

    def close(self) -> str:
        """Return what was held back, now that nothing follows."""
        return self._decided(final=True)

    def _decided(self, *, final: bool) -> str:
        told = []
        while self._held:
            text = self._in_fence(final=final) if self._fence else self._in_prose(final=final)
            if text is None:
                break
            told.append(text)
            self._tail = (self._tail + text)[-2 * _LONGEST :]
        return "".join(told)

    def _take(self, length: int) -> str:
        text, self._held = self._held[:length], self._held[length:]
        return text

    def _in_prose(self, *, final: bool) -> str | None:
        """Return what the next stretch comes to, None where it is not decided yet."""
        risk = _RISK.search(self._held)
        if risk is None:
            return self._take(len(self._held))
        if risk.start():
            return self._take(risk.start())
        if risk[0].endswith("["):
            return self._bracket(len(risk[0]) - 1, final=final)
        if risk[0].startswith("`"):
            return self._code(risk[0], final=final)
        return self._take(risk.end()) if final else None

    def _bracket(self, blanks: int, *, final: bool) -> str | None:
        """Decide a bracket that stands after so many blanks."""
        mark = _MARK.match(self._held, blanks)
        if mark and len(mark["inside"]) <= _LONGEST:
            kept = self._checked(mark["inside"])
            before = self._take(mark.end())[:blanks]
            if kept:
                return before + kept
            # What is left of `[[9]1]` must not close up to a citation.
            return "[]" if _OPEN.search(self._tail) else ""
        still = _OPEN.match(self._held, blanks)
        if still and len(still[0]) <= _LONGEST + 1 and not final:
            return None
        return self._take(blanks + 1)

    def _checked(self, inside: str) -> str:
        """Return the mark with the numbers that hold, "" where none does."""
        kept: list[int] = []
        wrong = 0
        for item in re.split(r"\s?[,;]\s?", inside):
            ends = [int(number) for number in re.split(r"\s?[-–—]\s?", item)]
            first, last = ends[0], ends[-1]
            kept += range(max(first, 1), min(last, self._passages) + 1)
            wrong += not 1 <= first <= last <= self._passages
        self.removed += wrong
        self.cited += (n for n in dict.fromkeys(kept) if n not in self.cited)
        if not kept:
            return ""
        return f"[{', '.join(map(str, dict.fromkeys(kept)))}]" if wrong else f"[{inside}]"

    def _code(self, run: str, *, final: bool) -> str | None:
        """Decide a run of backticks: three open a block, fewer some code on the same line."""
        if len(run) == len(self._held) and not final:
            return None
        if len(run) >= 3:
            self._fence = run
            return self._take(len(run))
        line, newline, _ = self._held.partition("\n")
        for end in re.finditer(r"`+", line[len(run) :]):
            if end[0] != run:
                continue
            last = len(run) + end.end()
            undecided = last == len(self._held) and not final
            return None if undecided else self._take(last)
        return self._take(len(run)) if newline or final else None

    def _in_fence(self, *, final: bool) -> str | None:
        """Return code up to the end of its block, or as much of it as there is."""
        end = re.search(f"{self._fence}`*", self._held)
        if end is None:
            rest = len(self._held) if final else len(self._held.rstrip("`"))
            return self._take(rest) if rest else None
        if end.end() == len(self._held) and not final:
            return self._take(end.start()) if end.start() else None
        self._fence = ""
        return self._take(end.end())
