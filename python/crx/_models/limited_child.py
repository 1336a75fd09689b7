"""Work on a model that anybody may have made: in a child process, within limits.

A graph is a program: it may run for ever, ask for any memory, and crash the runtime that loads it.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path

from crx import errors
from crx.errors import CrxError, ModelError
from crx.workers.child import Child, child_command
from crx.workers.limits import limit_cpu, limit_process
from crx.workers.messages import ChildLost, ChildSilent, Message
from crx.workers.parent import Parent, run_child

# What a small model may take, and more for each byte of its files: weights are converted to 32
# bits, loaded by two programs and compared.
_MEMORY_BYTES, _MEMORY_PER_BYTE = 1_500_000_000, 10
_CPU_S, _BYTES_PER_CPU_S = 15, 1_000_000
# Seconds of the clock: a small model is ended within 20 s, with the start of a child; a large one
# has ten for each of the processor, on a machine that is busy.
_WALL_S, _WALL_PER_CPU_S = 18, 10
_FILE_BYTES = 500_000_000


def run_limited(
    module: str,
    asked: Message,
    *,
    source: Path,
    done: str,
    at_end: Callable[[int], None] = lambda pid: None,
) -> Message:
    """Have `serve_limited` of a module do what is asked in a child process, and return its reply.

    `source` is the model's folder, whose size decides the limits, and `done` the participle of the
    work. `at_end` is called with the id of the process that has ended. Raises what the work does,
    and `ModelError` if it takes more time or memory than a model of this size needs, or crashes.
    """
    cpu_s, wall_s, memory_bytes, file_bytes = _limits(source)
    child = Child(child_command(module))
    try:
        child.send({**asked, "limits": [cpu_s, memory_bytes, file_bytes]}, timeout_s=wall_s)
        reply = child.receive_reply(timeout_s=wall_s)
    except ChildSilent:
        raise ModelError(f"{source}: takes more than {wall_s} s; it is not {done}") from None
    except ChildLost as lost:
        raise ModelError(f"{source}: {_describe(lost, cpu_s)}; it is not {done}") from None
    finally:
        child.end()
        at_end(child.pid)
    match reply:
        case {"op": "done"}:
            return reply
        case {"op": "failed", "kind": str(kind), "why": str(why)}:
            raise _error(kind)(why)
        case {"op": "no memory"}:
            why = f"needs more than {memory_bytes / 1e9:.1f} GB"
            raise ModelError(f"{source}: {why}; it is not {done}")
    raise ModelError(f"{source}: is not {done}; try again")


def serve_limited(work: Callable[[Message], Message]) -> None:
    """Do what the parent asks within its limits, and tell it how that ended."""

    def serve(parent: Parent) -> None:
        message = parent.receive()
        if message is None:
            return
        cpu_s, memory_bytes, file_bytes = message["limits"]
        limit_process(memory_bytes=memory_bytes, file_bytes=file_bytes)
        limit_cpu(cpu_s)
        try:
            reply = work(message)
        except CrxError as error:
            parent.send({"op": "failed", "kind": type(error).__name__, "why": str(error)})
        except MemoryError:
            parent.send({"op": "no memory"})
        else:
            parent.send({**reply, "op": "done"})

    run_child(serve)


def _limits(source: Path) -> tuple[int, int, int, int]:
    """Return the seconds of CPU and clock, the memory and the size of a file for a folder."""
    files = [Path(folder, name) for folder, _, names in os.walk(source) for name in names]
    kept = sum(map(_kept_bytes, files))
    more_s = kept // _BYTES_PER_CPU_S
    return (
        _CPU_S + more_s,
        _WALL_S + _WALL_PER_CPU_S * more_s,
        _MEMORY_BYTES + _MEMORY_PER_BYTE * kept,
        _FILE_BYTES + _MEMORY_PER_BYTE * kept,
    )


def _kept_bytes(path: Path) -> int:
    """Return the bytes that the disk keeps of a file, or of that of a link: a cache has links.

    Raises `ModelError` for a pipe or a device, which nobody may open.
    """
    try:
        status = path.stat()
    except OSError:
        return 0
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise ModelError(f"{path}: a pipe or a device, and no file of a model; remove it")
    return status.st_blocks * 512


def _describe(lost: ChildLost, cpu_s: int) -> str:
    if lost.signal == signal.SIGXCPU:
        return f"takes more than {cpu_s} s of the processor"
    if lost.signal == signal.SIGKILL:
        return "was killed, perhaps for want of memory"
    if lost.signal:
        return f"crashes the runtime that loads it ({signal.Signals(lost.signal).name})"
    return str(lost)


def _error(kind: str) -> type[CrxError]:
    found = getattr(errors, kind, ModelError)
    return found if issubclass(found, CrxError) else ModelError
