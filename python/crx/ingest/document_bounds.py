"""Bounds of what every answer repeats of a document: its title, its labels and its metadata.

A file may have a title of megabytes, and each answer with one of its chunks would be as large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crx.types import Document, Mark

if TYPE_CHECKING:
    from crx.types import MetadataValue

_TITLE_CHARS = 1000
_LABEL_CHARS = 1000
# Characters of one value of the metadata.
_VALUE_CHARS = 100_000


def bound_document(document: Document) -> Document:
    """Return a document with a title, labels and metadata that are cut where they are too long."""
    return replace(
        document,
        title=document.title[:_TITLE_CHARS],
        metadata={name: _bound_value(value) for name, value in document.metadata.items()},
        marks=tuple(map(_bound_mark, document.marks)),
    )


def _bound_value(value: MetadataValue) -> MetadataValue:
    return value[:_VALUE_CHARS] if isinstance(value, str) else value


def _bound_mark(mark: Mark) -> Mark:
    if len(mark.label) <= _LABEL_CHARS:
        return mark
    return replace(mark, label=mark.label[:_LABEL_CHARS])
