"""Labels of documents, counts and sizes, as programs for people show them."""

from __future__ import annotations


def document_label(title: str, uri: str) -> str:
    """Return the title of a document, else the last part of its URI."""
    return title or uri.rstrip("/").rpartition("/")[2]


def count_label(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 hit" and "1,200 hits"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_size(count: int) -> str:
    """Return a number of bytes with its unit, in powers of 1,000."""
    size, unit, larger = float(count), "", ["kB", "MB", "GB", "TB"]
    while size >= 1000 and larger:
        size, unit = size / 1000, larger.pop(0)
    return f"{size:,.1f} {unit}" if unit else count_label(count, "byte")
