"""Record of the paths that were met and not indexed, kept beside an index.

The record is a file of JSON lines, `skipped.jsonl`, which the next pass over the same roots makes
anew. It is no part of what is searched, and may be deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from crx.ingest.paths import is_below
from crx.ingest.report import Skipped

FILE = "skipped.jsonl"


def read_skipped(folder: Path) -> list[Skipped]:
    """Return the paths that were not indexed, by URI; none if there is no record."""
    try:
        lines = (folder / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    return [Skipped(**orjson.loads(line)) for line in lines]


def record_skipped(
    folder: Path, skipped: Iterable[Skipped], *, roots: Sequence[str], unreachable: Sequence[str]
) -> None:
    """Replace the record of what lies below roots; what could not be reached keeps its own."""
    kept = [
        each
        for each in read_skipped(folder)
        if not any(is_below(each.uri, root) for root in roots)
        or any(is_below(each.uri, closed) for closed in unreachable)
    ]
    entries = sorted({*kept, *skipped}, key=lambda each: (each.uri, each.reason))
    beside = folder / f"{FILE}.tmp"
    beside.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in entries))
    os.replace(beside, folder / FILE)
