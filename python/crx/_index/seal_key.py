"""The key for the hashes of derived files, kept outside every index."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from crx.config import user_file

_KEY_BYTES = 32
_EPHEMERAL_KEY = os.urandom(_KEY_BYTES)


def seal_key() -> bytes:
    """Return this user's 32-byte key for the hashes of derived files, made on first use.

    It is kept outside every index, so that a folder from elsewhere cannot bring valid hashes of
    its own. If it cannot be kept, each process has another key and derived files are rebuilt.
    """
    path = user_file(os.environ).with_name("seal.key")
    with contextlib.suppress(OSError):
        if not (path.exists() and path.stat().st_size == _KEY_BYTES):
            _make_key(path)
    try:
        key = path.read_bytes()
    except OSError:
        return _EPHEMERAL_KEY
    return key if len(key) == _KEY_BYTES else _EPHEMERAL_KEY


def _make_key(path: Path) -> None:
    """Make a key in a file that is whole or missing, also if this process or the power fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{os.getpid()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(os.urandom(_KEY_BYTES))
        file.flush()
        os.fsync(handle)
    path.unlink(missing_ok=True)  # an earlier version could leave an empty file
    try:
        os.link(aside, path)  # of two processes, one makes the key
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(aside, path)
    aside.unlink(missing_ok=True)
