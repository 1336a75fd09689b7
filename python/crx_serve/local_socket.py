"""The Unix sockets on which a server answers the command line, one for each index."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

from crx._index.socket_paths import make_folder, socket_paths

# What the platform lacks on Windows.
AVAILABLE = hasattr(socket, "AF_UNIX")


@contextlib.contextmanager
def local_sockets(indexes: Sequence[Path]) -> Iterator[tuple[list[socket.socket], list[Path]]]:
    """Listen for the command line; yields the sockets, and the indexes that have none.

    An index has none if another server has it already, or if no folder can hold the socket. The
    sockets are removed at the end.
    """
    bound: list[tuple[socket.socket, str]] = []
    without: list[Path] = []
    try:
        for index in indexes:
            made = _listen(index) if AVAILABLE else None
            if made is None:
                without.append(index)
            else:
                bound.append(made)
        yield [each for each, _ in bound], without
    finally:
        for each, path in bound:
            each.close()
            with contextlib.suppress(OSError):
                os.unlink(path)


def _listen(index: Path) -> tuple[socket.socket, str] | None:
    for path in socket_paths(index):
        if not make_folder(path):
            continue
        if is_answered(path):
            return None
        # A server that was killed has left its socket behind.
        with contextlib.suppress(OSError):
            os.unlink(path)
        with contextlib.suppress(OSError):
            return _bind(path), path
    return None


def _bind(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(path)
        # Nobody can connect before it listens.
        os.chmod(path, 0o600)
        made.listen(64)
    except BaseException:
        made.close()
        raise
    return made


def is_answered(path: str) -> bool:
    """Return whether a process listens on a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True
