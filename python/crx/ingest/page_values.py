"""The page of a PDF that is to be drawn, and its picture."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A page that is to be drawn, so many pixels wide.

    It is the one that is labelled `label`; of several, the one whose text is most like `text`. The
    lines of it that are part of the text `marked` are marked.
    """

    label: str
    text: str = ""
    marked: str = ""
    width: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PagePicture:
    """A page as PNG, with its label, its number from 1, and the number of pages."""

    png: bytes
    label: str
    number: int
    pages: int
