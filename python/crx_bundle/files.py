"""Files of a bundle, which anybody may have made: only regular ones are opened, and no link.

This module imports the standard library alone; see `crx_bundle.manifest`.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import BinaryIO

# The most bytes of a list or a signature.
MAX_LIST_BYTES = 16_000_000

# A pipe would block until somebody writes. Windows has no such files, and no such flags.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_FLAGS |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; raises `OSError` for a link, a pipe, a device or a folder."""
    # Opening a device may do something, so it is looked at before, and again once it is open.
    _require_regular(os.lstat(path))
    handle = os.open(path, _FLAGS)
    try:
        _require_regular(os.fstat(handle))
    except OSError:
        os.close(handle)
        raise
    return open(handle, "rb", buffering=0)


def read_list(path: Path) -> bytes:
    """Return the bytes of a list or a signature; raises `OSError` if it is too long, too."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_LIST_BYTES:
            raise OSError(f"it has more than {MAX_LIST_BYTES:,} bytes")
        return file.read()


def copy_regular(source: Path, target: Path) -> None:
    """Copy the bytes of a file; raises `OSError` as `open_regular`."""
    with open_regular(source) as file, target.open("xb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is a link, a pipe or a device, and no file")
