"""Sections: the span of text that each heading opens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crx.types import Mark


@dataclass(frozen=True, slots=True)
class Heading:
    """The position, label and level of a heading; level 1 is the outermost."""

    start: int
    label: str
    level: int


def sections(headings: Sequence[Heading], *, end: int) -> tuple[Mark, ...]:
    """Return the section of each heading, in the order of the text.

    A section runs to the next heading of its level or above, or to `end`, the end of the text.
    """
    ends = [end] * len(headings)
    open_: list[int] = []
    for i, heading in enumerate(headings):
        while open_ and headings[open_[-1]].level >= heading.level:
            ends[open_.pop()] = heading.start
        open_.append(i)
    return tuple(
        Mark("heading", heading.start, stop, heading.label, heading.level)
        for heading, stop in zip(headings, ends, strict=True)
        if heading.start < stop
    )


def in_order(marks: Iterable[Mark]) -> tuple[Mark, ...]:
    """Return marks by start, the outer before the inner."""
    return tuple(sorted(marks, key=lambda mark: (mark.start, -mark.end, mark.level)))
