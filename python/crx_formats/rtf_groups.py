"""Groups of Rich Text Format that hold text elsewhere: footnotes and text boxes.

`striprtf` drops both. The text of a box is put behind its shape, and a footnote behind the text;
its number in brackets is left where it stands. The source is read once, whatever its nesting.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\\(\*|[a-zA-Z]+-?[0-9]{0,10} ?|[^a-zA-Z])|([{}])", re.DOTALL)
_NOTE = "footnote"
_BOX = frozenset(("shptxt", "dptxbxtext"))
_SHAPES = frozenset(("shp", "do"))
_REPEATED = "shprslt"  # the shape once more, for older programs
_LIFTED = _BOX | {_NOTE, _REPEATED}


class _Groups:
    """The source so far, without what was taken out of it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._open: list[tuple[str, int]] = []  # the kind of each group, and where its parts begin
        self._kind = ""
        self._start = 0
        self._notes: list[str] = []
        self._boxes: list[str] = []
        self._lifting = 0
        self._shapes = 0

    def open(self) -> None:
        self._open.append((self._kind, self._start))
        self._kind, self._start = "", len(self.parts)
        self.parts.append("{")

    def name(self, word: str) -> bool:
        """Take the first word of the group as its kind; return whether it is left out."""
        if self._kind or word == "*":
            return False
        lifts = word in _LIFTED and not self._lifting
        self._kind = word if lifts or word in _SHAPES else "other"
        self._lifting += lifts
        self._shapes += word in _SHAPES
        return lifts

    def close(self) -> None:
        if not self._open:
            return
        if len(self._open) == 1:  # the document ends
            self.parts += self._notes
        self.parts.append("}")
        if self._kind in _LIFTED:
            self._lift()
        elif self._kind in _SHAPES:
            self._shapes -= 1
        self._kind, self._start = self._open.pop()
        if self._boxes and not self._shapes:
            self.parts += self._boxes
            self._boxes = []

    def _lift(self) -> None:
        self._lifting -= 1
        content = "".join(self.parts[self._start :])
        del self.parts[self._start :]
        if self._kind == _NOTE:
            number = len(self._notes) + 1
            self.parts.append(f"[{number}]")
            self._notes.append(f"{{\\par [{number}] {content}\\par}}")
        elif self._kind in _BOX:
            self._boxes.append(f"{{\\par {content}\\par}}")


def lift_groups(source: str) -> str:
    """Return the source with the texts of boxes and footnotes where `striprtf` reads them."""
    if not any(f"\\{word}" in source for word in _LIFTED):
        return source
    groups = _Groups()
    at = 0
    for match in _TOKEN.finditer(source):
        groups.parts.append(source[at : match.start()])
        at = match.end()
        if match[2] == "{":
            groups.open()
        elif match[2] == "}":
            groups.close()
        elif not groups.name(match[1].rstrip(" ")):
            groups.parts.append(match[0])
    groups.parts.append(source[at:])
    return "".join(groups.parts)
