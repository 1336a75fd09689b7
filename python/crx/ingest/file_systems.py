"""Kinds of file systems: those of other machines report no changes."""

from __future__ import annotations

import os
from collections.abc import Iterable

_MOUNTS = "/proc/self/mountinfo"
_REMOTE = frozenset((
    "9p", "afs", "ceph", "cifs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.sshfs",
    "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs", "virtiofs",
))  # fmt: skip


def any_is_remote(paths: Iterable[str], *, mounts: str = _MOUNTS) -> bool:
    """Return True if a path is on a file system of another machine; False if that is not known."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
            kinds = dict(map(_parse_mount, lines))
    except OSError:
        return False
    return any(_kind_of(os.path.realpath(path), kinds) in _REMOTE for path in paths)


def _parse_mount(line: str) -> tuple[str, str]:
    """Return the folder of a mount and the kind of its file system."""
    own, _, rest = line.partition(" - ")
    folder = own.split(" ")[4]
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        folder = folder.replace(code, character)
    return folder, rest.split(" ")[0]


def _kind_of(path: str, kinds: dict[str, str]) -> str:
    while path not in kinds and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return kinds.get(path, "")
