"""A child process from within: the way to its parent, and how it serves and ends."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

from crx.workers.limits import limit_process
from crx.workers.messages import Message, decode_message, encode_message

_INPUT = 0
_HEARTBEAT_S = 0.5
# The exit code of a child that cannot write to its parent: EX_IOERR of sysexits.h.
UNHEARD = 74


class _Unheard(Exception):
    """A message cannot be written to the parent."""


class Parent:
    """The parent process, as its child reaches it: messages on standard input and output.

    What libraries print to the standard output goes to the standard error instead.
    """

    def __init__(self) -> None:
        self._in, self._out = _INPUT, os.dup(1)
        os.dup2(2, 1)
        self._buffer = bytearray()
        self._last_sent = 0.0

    def send(self, message: Message) -> None:
        """Send a message."""
        rest = memoryview(encode_message(message))
        try:
            while rest:
                rest = rest[os.write(self._out, rest) :]
        except OSError as failed:
            raise _Unheard(str(failed)) from failed
        self._last_sent = time.monotonic()

    def send_heartbeat(self) -> None:
        """Send a heartbeat, unless a message was sent within the last half second."""
        if time.monotonic() - self._last_sent > _HEARTBEAT_S:
            self.send({"op": "heartbeat"})

    def receive(self) -> Message | None:
        """Wait for the next message and return it, None when the parent is gone."""
        while (message := decode_message(self._buffer)) is None:
            data = os.read(self._in, 1 << 20)
            if not data:
                return None
            self._buffer += data
        return message

    def receive_bytes(self, size: int) -> bytes | None:
        """Wait for bytes whose number a message has announced; None when the parent is gone."""
        while len(self._buffer) < size:
            data = os.read(self._in, 1 << 20)
            if not data:
                return None
            self._buffer += data
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def has_input(self) -> bool:
        """Return True if there is something to read, a message or the end."""
        waiting = select.poll()
        waiting.register(self._in, select.POLLIN)
        return bool(self._buffer) or bool(waiting.poll(0))


def run_child(
    serve: Callable[[Parent], None], *, at_end: Callable[[], None] = lambda: None
) -> None:
    """Let a function serve on the standard streams, then end this process.

    The process ends as soon as the parent is gone, whatever the function does; `at_end` is called
    before, from any thread or from two at once. It is also called if the function fails. The exit
    code is `UNHEARD` if a message could not be written.
    """
    limit_process()
    _end_with_parent(_INPUT, at_end)
    status = 0
    try:
        serve(Parent())
    except _Unheard as failed:
        sys.stderr.write(f"{failed}\n")
        sys.stderr.flush()
        status = UNHEARD
    finally:
        at_end()
    os._exit(status)  # native libraries may crash while they unload, and there is nothing to save


def _end_with_parent(pipe: int, at_end: Callable[[], None]) -> None:
    """End this process as soon as the other end of a pipe is closed.

    A thread waits for it. Code that never lets other threads run is ended by the limits of time.
    """
    threading.Thread(target=_end_when_closed, args=(pipe, at_end), daemon=True).start()


def _end_when_closed(pipe: int, at_end: Callable[[], None]) -> None:
    waiting = select.poll()
    waiting.register(pipe, 0)  # no event but the end: what is sent stays unread
    while not waiting.poll():
        pass
    at_end()
    os._exit(0)
