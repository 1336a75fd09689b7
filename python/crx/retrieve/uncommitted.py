"""Removal of what a killed writer of BM25 left: lists of deleted chunks that no commit names."""

from __future__ import annotations

from pathlib import Path

import orjson


def remove_uncommitted_deletes(folder: Path) -> None:
    """Remove the lists of deleted chunks that were written for a commit that did not happen.

    tantivy names such a list by its segment and the number of operations. After a kill between the
    list and the commit, the same changes lead to the same name, and tantivy refuses to overwrite a
    file. The caller is the only writer. A folder whose commit cannot be read is rebuilt anyway.
    """
    try:
        commit = orjson.loads((folder / "meta.json").read_bytes())
        committed = {_list_of(segment) for segment in commit["segments"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    for path in folder.glob("*.del"):
        if path.name not in committed:
            path.unlink(missing_ok=True)


def _list_of(segment: dict[str, dict[str, int] | str]) -> str:
    """Return the name of a segment's list of deleted chunks, "" if it has none."""
    deletes = segment["deletes"]
    if not isinstance(deletes, dict):
        return ""
    return f"{str(segment['segment_id']).replace('-', '')}.{deletes['opstamp']}.del"
