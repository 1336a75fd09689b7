"""Record of the paths that were met and not indexed, kept beside an index.

The record is a file of JSON lines, `skipped.jsonl`, which the next pass over the same roots makes
anew. It is no part of what is searched, and may be deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson

from crx import _native
from crx.ingest.paths import is_below
from crx.ingest.report import Skipped

FILE = "skipped.jsonl"


def read_skipped(store: _native.Store) -> list[Skipped]:
    """Return the paths that were not indexed, by URI; none if there is no whole record."""
    try:
        lines = (Path(store.path) / FILE).read_bytes().splitlines()
        entries = [Skipped(**orjson.loads(line)) for line in lines]
    except (FileNotFoundError, ValueError, TypeError):
        return []
    return [replace(entry, uri=store.absolute_uri(entry.uri)) for entry in entries]


def record_skipped(
    store: _native.Store,
    skipped: Iterable[Skipped],
    *,
    roots: Sequence[str],
    unreachable: Sequence[str],
) -> None:
    """Replace the record of what lies below roots; what could not be reached keeps its own."""
    kept = [
        each
        for each in read_skipped(store)
        if not any(is_below(each.uri, root) for root in roots)
        or any(is_below(each.uri, closed) for closed in unreachable)
    ]
    stored = {replace(entry, uri=store.stored_uri(entry.uri)) for entry in (*kept, *skipped)}
    entries = sorted(stored, key=lambda entry: (entry.uri, entry.reason))
    folder = Path(store.path)
    beside = folder / f"{FILE}.tmp"
    beside.write_bytes(b"".join(orjson.dumps(entry) + b"\n" for entry in entries))
    os.replace(beside, folder / FILE)
