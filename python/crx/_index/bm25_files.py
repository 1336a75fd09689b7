"""Opening of the folder of BM25, also after a killed writer and with files that were swapped.

tantivy ends each file with a checksum of its content, which does not tell whose file it is. So the
ends of all files of a commit are recorded by name, and compared when the folder is opened. Files
are written once; one that is not recorded is of a later commit or merge.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from crx import _native
from crx.errors import Damaged

FILE_ENDS = "file-ends.json"
# The end of a file: its checksum, and the lengths of its parts.
_END_BYTES = 64


def open_bm25(folder: Path, *, write: bool) -> _native.Lexical:
    """Open the folder of BM25; for writing, what a killed writer left is removed first.

    Raises `Damaged` as `_native.Lexical.open`; a folder that is opened for writing is made anew
    instead, empty.
    """
    if write:
        _remove_uncommitted_deletes(folder)
    elif not os.path.lexists(folder):
        missing = folder if os.path.lexists(folder.parent) else folder.parent
        raise Damaged(f"{missing}: no such folder; the next command that writes makes it anew")
    if _are_in_place(folder):
        try:
            return _native.Lexical.open(str(folder), write=write)
        except BaseException as panic:
            # tantivy asserts that no file is that of another segment.
            if type(panic).__name__ != "PanicException":
                raise
    if write:
        _native.clear_folder(folder.parent, folder.name)
        return _native.Lexical.open(str(folder), write=True)
    raise Damaged(
        f"{folder}: its files do not belong together; the next command that writes rebuilds it"
    )


def record_files(folder: Path) -> None:
    """Record the ends of the files of the last commit in `folder`; only the writer may call it."""
    known = _recorded_ends(folder)
    ends = {}
    for name in _committed_files(folder):
        with contextlib.suppress(FileNotFoundError):  # a merge that ended just now
            ends[name] = known.get(name) or _read_end(folder / name)
    if ends == known:
        return
    _native.replace_file(folder.parent, f"{folder.name}/{FILE_ENDS}", orjson.dumps(ends))


def _are_in_place(folder: Path) -> bool:
    """Return whether each file that is recorded, and still there, ends as it did."""
    for name, end in _recorded_ends(folder).items():
        with contextlib.suppress(FileNotFoundError):  # merged, or its chunks were removed
            if _read_end(folder / name) != end:
                return False
    return True


def _recorded_ends(folder: Path) -> dict[str, str]:
    """Return the recorded ends by name; none if there is no record, or it cannot be read."""
    try:
        content = _native.read_file(folder.parent, f"{folder.name}/{FILE_ENDS}")
        ends = orjson.loads(content or b"")
    except ValueError:
        return {}
    is_record = isinstance(ends, dict) and all(isinstance(end, str) for end in ends.values())
    return ends if is_record else {}


def _read_end(path: Path) -> str:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_BYTES))
        return f"{size}:{file.read().hex()}"


def _remove_uncommitted_deletes(folder: Path) -> None:
    """Remove the lists of deleted chunks that were written for a commit that did not happen.

    tantivy names such a list by its segment and the number of operations. After a kill between the
    list and the commit, the same changes lead to the same name, and tantivy refuses to overwrite a
    file. The caller is the only writer. A folder whose commit cannot be read is rebuilt anyway.
    """
    segments = _committed_segments(folder)
    if segments is None:
        return
    committed = {segment.deletes for segment in segments}
    for path in folder.glob("*.del"):
        if path.name not in committed:
            _native.remove_file(folder.parent, f"{folder.name}/{path.name}")


def _committed_files(folder: Path) -> list[str]:
    """Return the names of the files of the last commit, without those of merges under way."""
    segments = _committed_segments(folder) or []
    names = {segment.name for segment in segments}
    lists = {segment.deletes for segment in segments}
    return sorted(
        path.name
        for path in folder.iterdir()
        if path.name in lists or (path.suffix != ".del" and path.stem in names)
    )


class _Segment(NamedTuple):
    name: str  # of its files, without suffix
    deletes: str  # the file that lists its deleted chunks, or ""


def _committed_segments(folder: Path) -> list[_Segment] | None:
    """Return the segments of the last commit, or None if tantivy's file of it cannot be read."""
    try:
        commit = orjson.loads((folder / "meta.json").read_bytes())
        return [_parse_segment(segment) for segment in commit["segments"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse_segment(segment: dict[str, Any]) -> _Segment:
    name = str(segment["segment_id"]).replace("-", "")
    deletes = segment["deletes"]
    return _Segment(name, f"{name}.{deletes['opstamp']}.del" if deletes else "")
