"""Descriptions of indexes, for agents: the one that was set, or one made of the documents.

Both are data that anybody may have written, as names of folders are: each is one line of bounded
length without control characters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from crx._index.handle import Index
from crx.config import leads_out, project_file, read_settings
from crx.errors import CrxError
from crx.labels import count_label
from crx_serve.facets import Facets

MOST_CHARS = 300
# Kinds, languages and folders that are named.
_NAMED = 4
_LONGEST_NAME = 40


def describe_index(index: Index, facets: Facets) -> str:
    """Return what an index holds, in one line of at most `MOST_CHARS` characters.

    It is the setting `description` of the crx.toml that the index lies below, else kinds, folders,
    languages and the newest date with their numbers of documents. The setting in effect elsewhere,
    as in the working folder, says nothing of this index. Raises `UsageError` if the file cannot be
    read.
    """
    return clean_line(_configured(index) or ", ".join(_describe(facets)), most=MOST_CHARS)


def clean_line(text: str, *, most: int) -> str:
    """Return a text as one line without control characters, cut to so many characters."""
    shown = "".join(
        letter if unicodedata.category(letter)[0] != "C" else " " for letter in text[: 10 * most]
    )
    line = " ".join(shown.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def _configured(index: Index) -> str:
    try:
        file = project_file(Path(index.path).parent)
    except CrxError:
        return ""  # an index in a database lies in no folder
    if file is None or leads_out(file, folder=file.parent):
        return ""
    return str(read_settings(file).values.get("description", ""))


def _describe(facets: Facets) -> Iterator[str]:
    yield count_label(facets.documents, "document")
    yield from _most("of kind", facets.formats)
    yield from _most("in", {_last(name): n for name, n in facets.folders_in("").items()})
    if len(facets.languages) > 1:
        yield from _most("languages", facets.languages)
    if facets.newest:
        newest = datetime.fromtimestamp(facets.newest[0].changed_s, timezone.utc)
        yield f"newest {newest.date().isoformat()}"


def _most(label: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield the largest of some counts with how many more there are, if there are any."""
    named = [
        f"{clean_line(name, most=_LONGEST_NAME)} ({n:,})"
        for name, n in list(counts.items())[:_NAMED]
    ]
    if named:
        more = len(counts) - len(named)
        yield f"{label} {', '.join(named)}" + (f" and {more} more" if more else "")


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
