"""Lines that define a name: definitions of source code, and entries of lists and tables."""

from __future__ import annotations

import re
from functools import lru_cache

# Words of twenty languages that stand before the name that a line defines, and before these.
_KEYWORDS = (
    "class|const|constant|data|def|defmodule|define|enum|fn|fun|func|function|impl|interface|let|"
    "macro|message|method|mod|module|namespace|newtype|object|package|proc|procedure|protocol|"
    "record|service|signal|static|struct|sub|table|trait|type|typedef|union|val|var|view"
)
_MODIFIERS = (
    r"pub(?:\(\w+\))?|public|private|protected|internal|static|final|abstract|async|export|default|"
    "declare|override|virtual|inline|extern|unsafe|open|sealed|local|create|or|replace|global|"
    "readonly|constexpr|case|partial"
)
# What may stand before the first word of an entry: marks of lists, headings, quotes and roff.
_ENTRY = r"(?:[-*+•#>|]+\s+|\d+[.)]\s+|\.\w+\s+(?:\w{1,2}\s+)?)*[\"'`*_(\[|]*"
# What ends the name of an entry: a value, a separator of columns, or the end of the line.
_VALUE = r"[\"'`*_)\]|]*\s*(?:$|[:,|\t]|=(?!=)|\s{2}|\s[-–—|]\s)"


def defines(text: str, name: str) -> bool:
    """Return whether a line of a text defines a name, whatever its case."""
    return _pattern(name).search(text) is not None


@lru_cache(maxsize=64)
def _pattern(name: str) -> re.Pattern[str]:
    whole = rf"(?<!\w){re.escape(name)}(?!\w)"
    before = rf"(?:(?:{_MODIFIERS})\s+)*(?:{_KEYWORDS})\s+(?:\([^)\n]{{0,80}}\)\s*)?"
    keyword = rf"^\s*{before}(?:\w+(?:\.|::))?{whole}"
    macro = rf"^\s*#\s*define\s+{whole}"
    entry = rf"^\s*{_ENTRY}{whole}{_VALUE}"
    # A function of C: a line that begins with a type, and is no statement.
    typed = rf"^[A-Za-z_][\w*&:<> ]{{0,80}}?[\w*&>]\s+\*?{whole}\([^;\n]*[,){{]?\s*$"
    return re.compile(f"{keyword}|{macro}|{entry}|{typed}", re.IGNORECASE | re.MULTILINE)
