"""Where the Unix socket is through which the command line finds the server of an index.

Sockets are in a folder of the user and not in the index: an index may be copied, or lie on a disk
that several machines share. This module is imported by every search, so it imports little.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from zlib import crc32

# Bytes of a path that the address of a socket can hold on every system, with the final zero.
_MAX_PATH_BYTES = 104


def socket_paths(
    index: str | os.PathLike[str], *, environ: Mapping[str, str] = os.environ
) -> Iterator[str]:
    """Yield the paths at which the socket of an index may be, the preferred one first.

    Two indexes may share a path, by chance: a request names its index.
    """
    name = f"{crc32(os.fsencode(os.path.realpath(index))):08x}.sock"
    for folder in _folders(environ):
        path = os.path.join(folder, name)
        if len(os.fsencode(path)) < _MAX_PATH_BYTES:
            yield path


def own_sockets(index: str | os.PathLike[str]) -> list[str]:
    """Return the sockets of an index that are this user's, where there are Unix sockets."""
    if not hasattr(os, "getuid"):
        return []
    return [path for path in socket_paths(index) if _is_own(path)]


def _is_own(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder is this user's, and nobody else can write to it."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return found.st_uid == os.getuid() and not others


def installation() -> str:
    """Return a text that differs for another installation or version of crx."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    native = os.path.join(package, "_native.abi3.so")
    try:
        changed = os.stat(native).st_mtime_ns
    except OSError:
        changed = 0
    return f"{native}:{changed}"


def make_folder(path: str) -> bool:
    """Make the folder of a socket; returns whether it is this user's alone."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return False
    return _is_own(folder)


def _folders(environ: Mapping[str, str]) -> Iterator[str]:
    if runtime := environ.get("XDG_RUNTIME_DIR"):
        yield os.path.join(runtime, "crx")
    for temporary in (environ.get("TMPDIR"), "/tmp"):
        if temporary:
            yield os.path.join(temporary, f"crx-{os.getuid()}")
