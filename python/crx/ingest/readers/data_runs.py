"""Data within texts that nobody searches by words: coordinates, drawings, hashes, search indexes.

They would fill an index with chunks. What is around them is kept, on the same lines.
"""

from __future__ import annotations

import re

# At least so many numbers with nothing but punctuation and the commands of paths between them.
_NUMBERS = re.compile(
    r"(?:[-+]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][-+]?\d{1,3})?"
    r"[\s,;:\[\](){}MLHVCSQTAZmlhvcsqtaz]+){32,}"
)
# Lines of base64, such as keys and files that are pasted.
_BASE64 = re.compile(r"(?:^[A-Za-z0-9+/]{60,200}={0,2}\n){8,}", re.MULTILINE)
_LOCK_FILE = re.compile(
    r"(?:^|[/#])(?:[^/#]+\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml"
    r"|packages\.lock\.json|go\.sum)$",
    re.IGNORECASE,
)
_LOCK_CHARS = 2_000
_SEARCH_INDEX = re.compile(r"(?:^|[/#])search[-_]?index[^/#]*\.(?:js|json)$", re.IGNORECASE)
_SEARCH_STARTS = (b"var searchData=", b"Search.setIndex(", b"var searchIndex")


def without_data(text: str, *, name: str) -> str:
    """Return a text without its runs of numbers and base64; of a lock file the first lines."""
    if _LOCK_FILE.search(name) and len(text) > _LOCK_CHARS:
        return text[: text.rfind("\n", 0, _LOCK_CHARS) + 1] or text[:_LOCK_CHARS]
    return _BASE64.sub(_newlines, _NUMBERS.sub(_newlines, text))


def is_search_index(data: bytes, *, name: str) -> bool:
    """Return True for the index of a search in HTML documentation, which repeats its pages."""
    return data.startswith(_SEARCH_STARTS) or bool(_SEARCH_INDEX.search(name))


def _newlines(run: re.Match[str]) -> str:
    return "\n" * run[0].count("\n") or " "
