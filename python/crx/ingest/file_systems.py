"""Kinds of file systems. Those of other machines report no changes and do not lock reliably.

The kinds are read from Linux's table of mounts; on other systems every one counts as local.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from crx.errors import SystemFailure

MOUNTS = "/proc/self/mountinfo"
_REMOTE = frozenset((
    "9p", "afs", "ceph", "cifs", "davfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs",
    "fuse.gvfsd-fuse", "fuse.juicefs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "lustre", "ncpfs",
    "nfs", "nfs4", "smb3", "smbfs", "virtiofs",
))  # fmt: skip


def any_is_remote(paths: Iterable[str]) -> bool:
    """Return True if a path is on a file system of another machine; False if that is not known."""
    kinds = _read_kinds()
    return any(_kind_of(path, kinds) in _REMOTE for path in paths)


def require_local_disk(folder: Path) -> None:
    """Raise `SystemFailure` if a folder for an index is on a file system of another machine.

    SQLite's write-ahead log needs memory that all its processes share, and locks that hold: two
    machines that write to one index damage it.
    """
    kind = _kind_of(os.fspath(folder), _read_kinds())
    if kind in _REMOTE:
        raise SystemFailure(
            f"{folder}: on a network file system ({kind}), where two machines that write damage "
            "an index; name a folder of a local disk with --index, or set network_disk=1 if only "
            "this machine uses it"
        )


def _read_kinds() -> dict[str, str]:
    """Return the kind of the file system at each mount point, the last one mounted there."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as lines:
            return dict(map(_parse_mount, lines))
    except OSError:
        return {}


def _parse_mount(line: str) -> tuple[str, str]:
    """Return the folder of a mount and the kind of its file system."""
    own, _, rest = line.partition(" - ")
    folder = own.split(" ")[4]
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        folder = folder.replace(code, character)
    return folder, rest.split(" ")[0]


def _kind_of(path: str, kinds: dict[str, str]) -> str:
    path = os.path.realpath(path)
    while path not in kinds and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return kinds.get(path, "")
