"""Commands under `strace`, which kills them at a system call or has one fail.

A command is forked and begins when `strace` has attached to its process: to start an interpreter
under `strace` takes a second, and this a tenth of it.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from fault_injection.processes import Command, Ended, Process

# System calls that write.
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "renameat", "mkdir", "unlink")


def run_with_fault(
    arguments: tuple[str, ...],
    *,
    call: str,
    fault: str,
    folder: Path,
    before: Callable[[], object] | None = None,
) -> Ended:
    """Run a command line with a fault, as `strace` writes it, in one of its system calls.

    `before` is called first, in the process of the command.
    """
    options = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}"]
    return _run(arguments, options, folder=folder, before=before)


def count_calls(arguments: tuple[str, ...], *, folder: Path) -> Counter[str]:
    """Return how often a run without a fault makes each system call in one thread.

    `strace` counts the calls of each thread by itself.
    """
    trace = folder / "trace.txt"
    ended = _run(arguments, ["-e", f"trace={','.join(CALLS)}", "-o", str(trace)], folder=folder)
    assert ended.code == 0, ended.output
    found = re.findall(r"^(\d+) +(\w+)\(", trace.read_text(errors="replace"), re.MULTILINE)
    most: Counter[str] = Counter()
    for (_, name), count in Counter(found).items():
        most[name] = max(most[name], count)
    return most


def _run(
    arguments: tuple[str, ...],
    options: Sequence[str],
    *,
    folder: Path,
    before: Callable[[], object] | None = None,
) -> Ended:
    command = Command(arguments, before=partial(_wait_for_tracer, before))
    process = Process(command, folder=folder)
    tracer = ["strace", "-f", "-qq", "-p", str(process.pid), *options]
    with subprocess.Popen(tracer, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as strace:
        ended = process.wait()
        assert strace.stderr is not None
        said = strace.stderr.read().decode(errors="replace")
    assert strace.returncode == 0, said
    return ended


def _wait_for_tracer(before: Callable[[], object] | None) -> None:
    """Wait until a tracer has attached to this process."""
    sys.dont_write_bytecode = True
    # PR_SET_PTRACER, PR_SET_PTRACER_ANY: `strace` is no parent of this process.
    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1))
    status = Path("/proc/self/status")
    while "TracerPid:\t0\n" in status.read_text():
        time.sleep(0.001)
    time.sleep(0.005)  # from the attachment to the first system call that is seen
    if before is not None:
        before()
