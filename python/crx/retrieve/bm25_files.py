"""Opening of the folder of BM25, also after a killed writer and with files of another folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson

from crx import _native
from crx.errors import Damaged


def open_bm25(folder: Path, *, write: bool) -> _native.Lexical:
    """Open the folder of BM25; for writing, what a killed writer left is removed first.

    Raises `Damaged` as `_native.Lexical.open`; a folder that is opened for writing is made anew
    instead, empty.
    """
    if write:
        _remove_uncommitted_deletes(folder)
    try:
        return _native.Lexical.open(str(folder), write=write)
    except BaseException as panic:
        # tantivy asserts what its checksums do not tell: that no file is that of another segment.
        if type(panic).__name__ != "PanicException":
            raise
    if write:
        shutil.rmtree(folder)
        return _native.Lexical.open(str(folder), write=True)
    raise Damaged(
        f"{folder}: its files do not belong together; the next command that writes rebuilds it"
    )


def _remove_uncommitted_deletes(folder: Path) -> None:
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
