"""Messages to a child process and back, each with its length before it, and a limit to silence.

A message is a JSON object in UTF-8. Whoever reads never trusts: a frame that is too long, no JSON
or no object ends the conversation.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from crx.errors import SystemFailure

Message = dict[str, Any]

# A document travels as one message; a longer one is no document anybody situates chunks in.
MAX_BYTES = 256 << 20

_LENGTH = struct.Struct(">I")


def child_command(module: str) -> tuple[str, ...]:
    """Return the command that runs a module's `main` in a process of its own.

    Not `-m`: that imports from the current folder first, which may be one that is being indexed.
    """
    code = f"import sys; sys.path = [p for p in sys.path if p]; from {module} import main; main()"
    return (sys.executable, "-c", code)


class ChildLost(Exception):
    """The child died, fell silent or spoke nonsense; the message says which."""


def pack(message: Message) -> bytes:
    """Return a message as it goes through the pipe."""
    # A lone surrogate is not UTF-8 and would stop the run; JSON's escapes carry it.
    body = json.dumps(message, ensure_ascii=True).encode()
    return _LENGTH.pack(len(body)) + body


def unpack(buffer: bytearray) -> Message | None:
    """Take the first whole message off the buffer, or return None where there is none yet."""
    if len(buffer) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(buffer)
    if length > MAX_BYTES:
        raise ChildLost("an answer without end")
    end = _LENGTH.size + length
    if len(buffer) < end:
        return None
    body = bytes(buffer[_LENGTH.size : end])
    del buffer[:end]
    try:
        message = json.loads(body)
    except ValueError:
        raise ChildLost("an unreadable answer") from None
    if not isinstance(message, dict):
        raise ChildLost("an unreadable answer")
    return message


class Child:
    """A process that is spoken to in messages.

    It has its own session, so that Ctrl-C reaches the parent alone, which then ends it; when the
    parent dies its input ends, and so does it. `env` holds variables that the user may overrule.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        # What the child's libraries print goes to a file without a name, not to the terminal.
        self._stderr: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env={**(env or {}), **os.environ},
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            raise SystemFailure(f"{command[0]}: cannot be started: {error}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._buffer = bytearray()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Message, *, timeout_s: float) -> None:
        """Send a message; `ChildLost` where the child does not take it in time."""
        rest = memoryview(pack(message))
        while rest:
            readable, writable, _ = select.select([self._out], [self._in], [], timeout_s)
            if not readable and not writable:
                raise ChildLost(f"silent for {timeout_s:g} s")
            if readable:
                self._read()
            if writable:
                try:
                    rest = rest[os.write(self._in, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise ChildLost(self._cause()) from None

    def receive(self, *, timeout_s: float) -> Message:
        """Return the next message; `ChildLost` after `timeout_s` seconds without one."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = unpack(self._buffer)
            if message is not None:
                return message
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._out], [], [], left)[0]:
                raise ChildLost(f"silent for {timeout_s:g} s")
            self._read()

    def rest(self) -> Iterator[Message]:
        """Kill the child and yield what it had still said."""
        self._process.kill()
        os.set_blocking(self._out, True)
        with contextlib.suppress(ChildLost):
            while True:
                self._read()
        while (message := unpack(self._buffer)) is not None:
            yield message

    def end(self) -> None:
        """Kill the child and wait for it; harmless when it is gone."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        try:
            data = os.read(self._out, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            raise ChildLost(self._cause())
        self._buffer += data

    def _cause(self) -> str:
        """Say how the child ended, with the last line that its libraries printed."""
        code = self._process.wait()
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 4096))
        lines = self._stderr.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        if code == -signal.SIGKILL:
            return "killed, perhaps for want of memory"
        how = f"crashed with {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        return f"{how}: {last[:200]}" if last else how


class Parent:
    """The other end, as the child sees it: messages from its input, messages to its output.

    What libraries print to the standard output goes to the standard error instead.
    """

    def __init__(self) -> None:
        self._in, self._out = 0, os.dup(1)
        os.dup2(2, 1)
        self._buffer = bytearray()
        self._spoken = 0.0

    def say(self, message: Message) -> None:
        """Send a message."""
        rest = memoryview(pack(message))
        while rest:
            rest = rest[os.write(self._out, rest) :]
        self._spoken = time.monotonic()

    def beat(self) -> None:
        """Say that work goes on, unless something was said within half a second."""
        if time.monotonic() - self._spoken > 0.5:
            self.say({"op": "beat"})

    def next(self) -> Message | None:
        """Wait for the next message; None when the parent is gone."""
        while (message := unpack(self._buffer)) is None:
            data = os.read(self._in, 1 << 20)
            if not data:
                return None
            self._buffer += data
        return message

    def waiting(self) -> bool:
        """Is there something to read, a message or the end?"""
        return bool(self._buffer) or bool(select.select([self._in], [], [], 0)[0])
