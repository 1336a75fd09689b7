"""The bytes of a regular file that has a size, for files that were indexed and may have changed."""

from __future__ import annotations

import os
import stat

from crx.errors import NotFound
from crx.ingest.paths import path_of
from crx.ingest.write import hash_source

# A pipe would block until somebody writes.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


def _read_regular_file(path: str, *, size: int) -> bytes | None:
    """Return the bytes of a file of that size, None for anything else: a link, a pipe, no file."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return None
    with open(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            return None
        return file.read(size)


def read_indexed_file(uri: str, *, size: int, source_hash: bytes) -> bytes:
    """Return the bytes of the file of a URI, which are those that were indexed.

    Raises `NotFound` if the file is a link, is gone or has changed.
    """
    path = path_of(uri)
    data = _read_regular_file(path, size=size)
    if data is None and os.path.islink(path):
        raise NotFound(f"{uri}: is a link, which is not followed; index the file that it leads to")
    if data is None or hash_source(data) != source_hash:
        raise NotFound(f'{uri}: is gone or has changed; "crx index" reads it again')
    return data
