"""Titles of documents: those in their properties, and those in the names of their files."""

from __future__ import annotations

import re

from crx.ingest.readers.normal_text import normalize

# Titles that programs write if the author gave none.
_NO_TITLE = re.compile(
    r"untitled|document\d*$|microsoft (?:word|powerpoint|excel)\b|(?:slide|page) ?\d+$"
    r"|powerpoint presentation$|presentation\d*$|word document$|title$|\(anonymous\)$"
    r"|.*\.(?:docx?|pdf|pptx?|xlsx?|tex|dvi|indd|qxd|od[tps]|rtf|html?|txt)$|[\W\d_]*$",
    re.IGNORECASE,
)
# A file's name that says something has a word; scanners, cameras and downloads give others.
_NAMED = re.compile(r"[^\W\d_]{4}|[\u3040-\u9fff]{2}")
_NO_NAME = re.compile(
    r"(?:scan|document|doc|download|image|img|file|untitled|output|print|page|temp|attachment"
    r"|index|readme|home|main)?"
    r"[\W\d_]*(?:[0-9a-f]{8,}[\W\d_]*)*",
    re.IGNORECASE,
)


def written_title(written: str) -> str:
    """Return the title in a document's properties, or "" if a program wrote it."""
    title = squeeze(written)
    return "" if _NO_TITLE.match(title) else title


def name_title(name: str) -> str:
    """Return the words of a file's name, or "" if it is hardly a title."""
    last = re.split("[/#]", name)[-1]
    stem = last.rpartition(".")[0] or last
    words = " ".join(re.split(r"[\s_+-]+", squeeze(stem))).strip()
    return words if _NAMED.search(words) and not _NO_NAME.fullmatch(words) else ""


def squeeze(written: str) -> str:
    """Return a text as one line."""
    return " ".join(normalize(written).split())
