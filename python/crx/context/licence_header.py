"""The comment with the licence that a source file begins with.

Its names (the owner's, the licence's, "AS IS") are those of every file of a project and say nothing
of this one.
"""

from __future__ import annotations

import re

_COMMENT = re.compile(r'\s*(?:$|#|//|/\*|\*|--|;|%|<!--|-->|\(\*|"""|\'\'\')')
_LICENCE = re.compile(r"licen[cs]e|copyright|\(c\)|spdx-|all rights reserved", re.IGNORECASE)
_BLOCK_END = {"/*": "*/", "<!--": "-->", "(*": "*)", '"""': '"""', "'''": "'''"}


def skip_licence_header(text: str) -> str:
    """Return a source text without the comments that it begins with, if they name a licence."""
    lines = text.splitlines(keepends=True)
    end = 0
    until = ""
    for line in lines:
        stripped = line.strip()
        if not until and not _COMMENT.match(line):
            break
        opening = next((each for each in _BLOCK_END if stripped.startswith(each)), "")
        if until:
            until = "" if until in stripped else until
        elif opening and _BLOCK_END[opening] not in stripped[len(opening) :]:
            until = _BLOCK_END[opening]
        end += 1
    header, rest = "".join(lines[:end]), "".join(lines[end:])
    return rest if rest.strip() and _LICENCE.search(header) else text
