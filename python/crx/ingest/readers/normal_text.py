"""Texts as documents have them: newlines alone, and nothing that is no character."""

from __future__ import annotations

import re
from bisect import bisect_left

# Form feeds are how a printer is told of a page, and NULs stand for what was not written; at the
# edge of a line they part no words. Of a run of NULs the first one counts.
_FORM_FEED = "(?:(?<=[\r\n])|\\A)\f|\f(?=[\r\n]|\\Z)"
_NUL = "(?<=\0)\0|(?:(?<=[\r\n])|\\A)\0|\0(?=\0*(?:[\r\n]|\\Z))"
_REMOVED = re.compile(f"\r(?=\n)|{_NUL}|{_FORM_FEED}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalize(text: str) -> str:
    """Return the text with "\\n" newlines, without NUL, lone surrogates and form feeds.

    A form feed or a run of NULs within a line becomes a blank.
    """
    if "\f" in text or "\0" in text:
        text = _REMOVED.sub("", text).replace("\f", " ").replace("\0", " ")
    elif "\r" in text:
        text = text.replace("\r\n", "\n")
    text = text.replace("\r", "\n")
    try:
        text.encode("utf-8")  # ten times faster than to search
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    return text


def map_offsets(text: str, offsets: list[int]) -> list[int]:
    """Return the offsets into `normalize(text)` for offsets into `text`."""
    removed = [match.start() for match in _REMOVED.finditer(text)]
    return [offset - bisect_left(removed, offset) for offset in offsets]
