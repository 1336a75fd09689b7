"""Milvus Lite in this process: one server for each folder, shared by all who open it.

Milvus Lite answers on a port of this machine as Milvus does, and locks its folder, so that one
process at a time has it open.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crx.errors import Damaged, Locked, NotAnIndex, SystemFailure, UsageError
from crx_engines.milvus.milvus_address import MilvusAddress
from crx_engines.server_errors import no_driver

# What Milvus Lite 3 makes in its folder.
_LOCK = "LOCK"
_STOP_S = 2


@dataclass(slots=True)
class LiteServer:
    """A running server, and how many have it open.

    `writing` is held by whoever changes an index, `request` for each request that changes
    something: requests of several threads would be numbered twice.
    """

    port: int
    stop: contextlib.ExitStack
    users: int = 0
    writing: threading.Lock = field(default_factory=threading.Lock)
    request: threading.Lock = field(default_factory=threading.Lock)


_guard = threading.Lock()
_running: dict[tuple[int, str], LiteServer] = {}


@contextlib.contextmanager
def lite_server(address: MilvusAddress, *, create: bool) -> Iterator[LiteServer]:
    """Lend the server of a folder, which ends with its last user.

    Raises `NotAnIndex` if there is no folder and none is to be created, `Locked` if another process
    has it open, `UsageError` for a path that cannot be one.
    """
    # A child that was forked has no threads of its parent's server.
    key = (os.getpid(), address.folder)
    with _guard:
        server = _running.get(key)
        if server is None:
            _check_folder(address, create=create)
            server = _running[key] = _start(address)
        server.users += 1
    try:
        yield server
    finally:
        with _guard:
            server.users -= 1
            if not server.users:
                del _running[key]
                server.stop.close()


def _check_folder(address: MilvusAddress, *, create: bool) -> None:
    name, folder = address.name, address.folder
    if not os.path.exists(folder):
        if not create:
            raise NotAnIndex(f'{name}: no such folder; "crx copy INDEX {name}" makes it')
        if not os.path.isdir(os.path.dirname(folder)):
            raise UsageError(f"{name}: there is no folder {os.path.dirname(folder)}; make it first")
        return
    if not os.path.isdir(folder):
        raise UsageError(
            f"{name}: a file, and Milvus Lite 3 keeps a folder; name another path, and copy to it"
        )
    if os.listdir(folder) and not os.path.exists(os.path.join(folder, _LOCK)):
        raise UsageError(f"{name}: a folder of something else; name another path")


def _start(address: MilvusAddress) -> LiteServer:
    try:
        from milvus_lite import exceptions
        from milvus_lite.adapter.grpc.server import start_server_in_thread
    except ImportError:
        raise no_driver(address.name, "Milvus Lite", extra="milvus") from None
    try:
        server, database, port = start_server_in_thread(address.folder)
    except exceptions.DataDirLockedError:
        raise Locked(
            f"{address.name}: another process has it open, and Milvus Lite allows one; wait for it"
        ) from None
    except (exceptions.WALCorruptedError, exceptions.ManifestCorruptedError) as error:
        raise Damaged(f"{address.name}: {_line(error)}; copy the index again") from error
    except (exceptions.MilvusLiteError, OSError, RuntimeError) as error:
        raise SystemFailure(
            f"{address.name}: Milvus Lite does not start ({_line(error)}); check the folder"
        ) from error
    stop = contextlib.ExitStack()
    stop.callback(database.close)
    stop.callback(_stop, server)
    # A process could not end beside its threads.
    atexit.register(stop.close)
    stop.callback(atexit.unregister, stop.close)
    return LiteServer(port, stop)


def _stop(server: Any) -> None:
    """Stop a gRPC server and wait until its requests have ended."""
    server.stop(_STOP_S).wait()


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
