"""Globs as regular expressions, which PostgreSQL matches without backtracking."""

from __future__ import annotations

import re


def glob_expression(pattern: str) -> str:
    """Return the regular expression of a valid glob, with the rules of the store."""
    parts = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            parts.append("(?:.*/)?")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        elif pattern[at] == "[":
            text, at = _class(pattern, at)
            parts.append(text)
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return "".join(parts)


def _class(pattern: str, at: int) -> tuple[str, int]:
    """Return the expression of the class that starts at a "[", and where the pattern goes on."""
    negated = pattern[at + 1 : at + 2] in ("!", "^")
    first = at + 1 + negated
    end = pattern.index("]", first + 1)
    inside = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", pattern[first:end])
    return f"(?!/)[{'^' if negated else ''}{inside}]", end + 1
