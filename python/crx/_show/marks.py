"""Marks of a document, as the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from crx import _native
from crx.types import Mark


def read_marks(marks: str) -> list[Mark]:
    """Parse the marks that the store keeps as JSON."""
    return [Mark(**mark) for mark in orjson.loads(marks)]


def read_position(marks: str, position: int) -> tuple[tuple[str, ...], list[Mark]]:
    """Return the labels of the sections around a position, outermost first, and the other marks."""
    labels, others = _native.position_in(marks, position)
    return labels, read_marks(others) if others else []


def pages_around(marks: Sequence[Mark], start: int, end: int) -> tuple[str, str] | None:
    """Return the labels of the first and the last page of a span, if it has pages."""
    pages = [m.label for m in marks if m.kind == "page" and m.start < end and m.end > start]
    return (pages[0], pages[-1]) if pages else None
