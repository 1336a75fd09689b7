"""Calls in a forked process, with a time limit."""

from __future__ import annotations

import os
import pickle
import select
import signal
import warnings
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def call_in_fork(call: Callable[[], T], *, timeout_s: float = 60.0) -> T:
    """Return what a call returns in a fork of this process.

    Raises `ChildProcessError` with the error's text if the call raises, and `TimeoutError` if it
    has not returned in time; the process is then killed.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of what is tested here: a fork of a process with several threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        _report(call, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as pipe:
            if not select.select([pipe], [], [], timeout_s)[0]:
                raise TimeoutError(f"the forked process did not end within {timeout_s:g} s")
            succeeded, result = pickle.loads(pipe.read())
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if not succeeded:
        raise ChildProcessError(result)
    returned: T = result
    return returned


def _report(call: Callable[[], T], writing: int) -> None:
    """Write what the call returns and end this process without any cleaning up."""
    try:
        outcome: tuple[bool, object] = (True, call())
    except BaseException as error:  # noqa: BLE001 - raised again in the parent
        outcome = (False, str(error))
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(pickle.dumps(outcome))
    finally:
        os._exit(0)
