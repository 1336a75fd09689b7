"""Addition of a model that anybody may have made: in a child process, within limits.

A graph is a program: it may run for ever, ask for any memory, and crash the runtime that loads it.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
from dataclasses import asdict
from pathlib import Path

from crx import errors
from crx.errors import CrxError, ModelError
from crx.models.card import ModelCard, Precision, Provenance, read_card
from crx.models.source_folder import Overrides
from crx.models.store import UNFINISHED, add_model, writable_folder
from crx.workers.child import Child, child_command
from crx.workers.limits import limit_cpu, limit_process
from crx.workers.messages import ChildLost, ChildSilent, Message
from crx.workers.parent import Parent, run_child

# What a small model may take, and more for each byte of its files: weights are converted to 32
# bits, loaded by two programs and compared.
_MEMORY_BYTES, _MEMORY_PER_BYTE = 1_500_000_000, 10
_CPU_S, _BYTES_PER_CPU_S = 15, 1_000_000
# Seconds of the clock for each of the processor, on a machine that is busy.
_WALL_PER_CPU = 20
_FILE_BYTES = 500_000_000


def add_foreign_model(
    source: Path,
    *,
    name: str | None = None,
    precision: Precision | None = None,
    into: Path | None = None,
    overrides: Overrides | None = None,
    accepted_licence: str | None = None,
    provenance: Provenance | None = None,
) -> ModelCard:
    """Add a model as `add_model` does, in a child process; nothing is left of one that fails.

    Raises `ModelError` besides, if the model takes more time or memory than one of its size needs,
    or crashes.
    """
    parent = writable_folder(into)
    cpu_s, memory_bytes, file_bytes = _limits(source)
    asked: Message = {
        "op": "open",
        "source": str(source.absolute()),
        "name": name,
        "precision": precision,
        "into": str(parent.absolute()),
        "overrides": asdict(overrides) if overrides else None,
        "accepted_licence": accepted_licence,
        "provenance": asdict(provenance) if provenance else None,
        "limits": [cpu_s, memory_bytes, file_bytes],
    }
    child = Child(child_command(__name__))
    try:
        child.send(asked, timeout_s=cpu_s * _WALL_PER_CPU)
        reply = child.receive_reply(timeout_s=cpu_s * _WALL_PER_CPU)
    except ChildSilent:
        raise ModelError(f"{source}: not added within {cpu_s * _WALL_PER_CPU} s") from None
    except ChildLost as lost:
        raise ModelError(f"{source}: {_describe(lost, cpu_s)}; it is not added") from None
    finally:
        child.end()
        for left in parent.glob(f"{UNFINISHED}{child.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)
    match reply:
        case {"op": "added", "name": str(added)}:
            return read_card(parent / added)
        case {"op": "failed", "kind": str(kind), "why": str(why)}:
            raise _error(kind)(why)
    raise ModelError(f"{source}: was not added; try again")


def main() -> None:
    """Add the model that the parent names, and tell it how that ended."""
    run_child(_serve)


def _serve(parent: Parent) -> None:
    message = parent.receive()
    if message is None:
        return
    cpu_s, memory_bytes, file_bytes = message["limits"]
    limit_process(memory_bytes=memory_bytes, file_bytes=file_bytes)
    limit_cpu(cpu_s)
    overrides, provenance = message["overrides"], message["provenance"]
    if overrides and overrides["languages"] is not None:
        overrides["languages"] = tuple(overrides["languages"])
    try:
        card = add_model(
            Path(message["source"]),
            name=message["name"],
            precision=message["precision"],
            into=Path(message["into"]),
            overrides=Overrides(**overrides) if overrides else None,
            accepted_licence=message["accepted_licence"],
            provenance=Provenance(**provenance) if provenance else None,
        )
    except CrxError as error:
        parent.send({"op": "failed", "kind": type(error).__name__, "why": str(error)})
    except MemoryError:
        why = f"{message['source']}: needs more than {memory_bytes / 1e9:.1f} GB; it is not added"
        parent.send({"op": "failed", "kind": ModelError.__name__, "why": why})
    else:
        parent.send({"op": "added", "name": card.name})


def _limits(source: Path) -> tuple[int, int, int]:
    """Return the seconds of the processor, the memory and the size of a file for a folder."""
    files = [Path(folder, name) for folder, _, names in os.walk(source) for name in names]
    kept = sum(map(_kept_bytes, files))
    return (
        _CPU_S + kept // _BYTES_PER_CPU_S,
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
