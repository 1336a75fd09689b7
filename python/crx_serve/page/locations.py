"""Locations of passages in words, and their citations."""

from __future__ import annotations

from crx import _native
from crx_serve.responses import AnswerCitation, FoundPassage

# Characters by which the language of a passage is told.
_DETECTED_CHARS = 2000


def describe_location(found: FoundPassage | AnswerCitation) -> str:
    """Return the page, the anchor or the line of a passage, "" if its document has none."""
    if found.pages:
        return _range("page", *found.pages)
    if found.anchor:
        return found.anchor.label
    return f"line {found.line}" if found.line else ""


def cite(found: FoundPassage | AnswerCitation) -> str:
    """Return a passage as a citation: title, path or URL, location."""
    location = describe_location(found)
    return ", ".join(part for part in (found.title, found.uri, location) if part)


def shorten_path(uri: str, folder: str) -> str:
    """Return a path below a folder without it; a URL, and any other path, as it is."""
    inside = folder.rstrip("/") + "/"
    return uri.removeprefix(inside) if folder else uri


def text_lang(text: str, *, document_lang: str) -> str | None:
    """Return the language of a text for `lang`, that of its document if it is too short to tell."""
    return _native.detect_lang(text[:_DETECTED_CHARS]) or document_lang or None


def _range(unit: str, first: str, last: str) -> str:
    return f"{unit} {first}" if first == last else f"{unit}s {first}–{last}"
