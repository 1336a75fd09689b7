"""An empty file system of the kind `fuse.sshfs`, in a mount namespace of its own, around a command.

Run as `unshare -rm python empty_fuse_disk.py FOLDER COMMAND...`. It answers what the kernel asks of
the root folder, and says of all else that it does not exist.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import threading

# Operations of the kernel's FUSE protocol, version 7.31.
LOOKUP, FORGET, GETATTR, INIT, BATCH_FORGET = 1, 2, 3, 26, 42
ROOT = 1


def mount(folder: str) -> int:
    """Mount the file system; returns the file through which the kernel asks."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"host:/shared", os.fsencode(folder), b"fuse.sshfs", 0, options):
        raise OSError(ctypes.get_errno(), "mount")
    return device


def serve(device: int) -> None:
    while True:
        request = os.read(device, 1 << 17)
        _, operation, unique, node = struct.unpack_from("<IIQQ", request)
        if operation in (FORGET, BATCH_FORGET):
            continue
        fault, body = answer(operation, node)
        os.write(device, struct.pack("<IiQ", 16 + len(body), -fault, unique) + body)


def answer(operation: int, node: int) -> tuple[int, bytes]:
    """Return an errno and the body of the answer."""
    if operation == INIT:
        return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 0, 0, 0, 0, 65536, 1, 1, 0, 0, *[0] * 7)
    if operation == GETATTR and node == ROOT:
        folder = struct.pack("<6Q10I", ROOT, *[0] * 8, stat.S_IFDIR | 0o755, 2, 0, 0, 0, 4096, 0)
        return 0, struct.pack("<QII", 1, 0, 0) + folder
    return (errno.ENOENT if operation in (LOOKUP, GETATTR) else errno.ENOSYS), b""


if __name__ == "__main__":
    threading.Thread(target=serve, args=[mount(sys.argv[1])], daemon=True).start()
    sys.exit(subprocess.run(sys.argv[2:], check=False).returncode)
