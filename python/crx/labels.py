"""Labels of documents and of counts, as programs for people show them."""

from __future__ import annotations


def document_label(title: str, uri: str) -> str:
    """Return the title of a document, else the last part of its URI."""
    return title or uri.rstrip("/").rpartition("/")[2]


def count_label(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 hit" and "1,200 hits"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
