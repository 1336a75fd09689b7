"""Validation of the citations in a streamed answer.

A citation is one or more numbers in square brackets: `[1]`, `[1, 3]`, `[2-4]`, `[1][2]`. A citation
of a passage that does not exist is removed before it is emitted, so an open bracket is buffered
until it is complete. Code in backticks is emitted unchanged: `a[1]` in it is no citation.
"""

from __future__ import annotations

import re

_ITEM = r"\d+(?:\s?[-–—]\s?\d+)?"
_INSIDE = rf"{_ITEM}(?:\s?[,;]\s?{_ITEM})*"
_CITATION = re.compile(rf"\[(?P<inside>{_INSIDE})\]")
_INCOMPLETE = re.compile(r"\[[\d\s,;–—-]*\Z")
# A bracket or backticks, or blanks that a bracket may follow.
_CANDIDATE = re.compile(r"[ \t]*\[|`+|[ \t]+\Z")

# Characters of a bracket that are buffered at most; no citation is that long.
_MAX_CITATION_CHARS = 200


def escape_citations(text: str) -> str:
    """Put spaces into what looks like a citation, so that it is none: `[7]` becomes `[ 7 ]`."""
    return _CITATION.sub(r"[ \g<inside> ]", text)


class CitationFilter:
    """A streaming filter that removes citations of passages that do not exist.

    `cited` contains the valid numbers in the order of their first mention; `removed` counts the
    invalid ones. The output does not depend on how the answer is cut into pieces.
    """

    def __init__(self, passages: int) -> None:
        self.cited: list[int] = []
        self.removed = 0
        self._passages = passages
        self._buffer = ""
        self._tail = ""
        self._fence = ""

    def feed(self, piece: str) -> str:
        """Add a piece of the answer and return the text that is complete."""
        self._buffer += piece
        return self._drain(final=False)

    def close(self) -> str:
        """Return the rest of the buffered text; the answer has ended."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        emitted = []
        while self._buffer:
            take = self._filter_fence if self._fence else self._filter_prose
            text = take(final=final)
            if text is None:
                break
            emitted.append(text)
            self._tail = (self._tail + text)[-2 * _MAX_CITATION_CHARS :]
        return "".join(emitted)

    def _take(self, length: int) -> str:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        return text

    def _filter_prose(self, *, final: bool) -> str | None:
        """Return the next stretch of prose, or None if it is not complete yet."""
        candidate = _CANDIDATE.search(self._buffer)
        if candidate is None:
            return self._take(len(self._buffer))
        if candidate.start():
            return self._take(candidate.start())
        if candidate[0].endswith("["):
            return self._filter_bracket(len(candidate[0]) - 1, final=final)
        if candidate[0].startswith("`"):
            return self._filter_code(candidate[0], final=final)
        return self._take(candidate.end()) if final else None

    def _filter_bracket(self, blanks: int, *, final: bool) -> str | None:
        """Return a bracket that follows so many blanks, or None if it is not complete yet."""
        citation = _CITATION.match(self._buffer, blanks)
        if citation and len(citation["inside"]) <= _MAX_CITATION_CHARS:
            kept = self._validate(citation["inside"])
            before = self._take(citation.end())[:blanks]
            if kept:
                return before + kept
            # What remains of `[[9]1]` must not become a citation.
            return "[]" if _INCOMPLETE.search(self._tail) else ""
        incomplete = _INCOMPLETE.match(self._buffer, blanks)
        if incomplete and len(incomplete[0]) <= _MAX_CITATION_CHARS + 1 and not final:
            return None
        return self._take(blanks + 1)

    def _validate(self, inside: str) -> str:
        """Return the citation with its valid numbers, or "" if there are none."""
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

    def _filter_code(self, run: str, *, final: bool) -> str | None:
        """Return backticks and inline code: three open a block, fewer close on the same line."""
        if len(run) == len(self._buffer) and not final:
            return None
        if len(run) >= 3:
            self._fence = run
            return self._take(len(run))
        line, newline, _ = self._buffer.partition("\n")
        for end in re.finditer(r"`+", line[len(run) :]):
            if end[0] != run:
                continue
            last = len(run) + end.end()
            undecided = last == len(self._buffer) and not final
            return None if undecided else self._take(last)
        return self._take(len(run)) if newline or final else None

    def _filter_fence(self, *, final: bool) -> str | None:
        """Return the code up to the end of its block, or all that is buffered."""
        end = re.search(f"{self._fence}`*", self._buffer)
        if end is None:
            rest = len(self._buffer) if final else len(self._buffer.rstrip("`"))
            return self._take(rest) if rest else None
        if end.end() == len(self._buffer) and not final:
            return self._take(end.start()) if end.start() else None
        self._fence = ""
        return self._take(end.end())
