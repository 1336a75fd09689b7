"""A child process as its parent uses it: messages through pipes, with a limit on silence."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from crx.errors import SystemFailure
from crx.workers.messages import (
    ChildLost,
    ChildSilent,
    ChildUnheard,
    Message,
    decode_message,
    encode_message,
)
from crx.workers.parent import UNHEARD

# Seconds after which an interrupt that came just before a wait is handled.
_SIGNAL_S = 0.5
_PIPE_BYTES = 1 << 20
# Beginnings of the lines that Rust prints after its message.
_BACKTRACE = ("note: ", "stack backtrace:", "   ")


def child_command(module: str) -> tuple[str, ...]:
    """Return the command that runs a module's `main` in a new process.

    Not `-m`: that imports from the current folder first, which may be a folder to be indexed.
    """
    code = f"import sys; sys.path = [p for p in sys.path if p]; from {module} import main; main()"
    return (sys.executable, "-c", code)


def script_command(module: str) -> tuple[str, ...]:
    """Return the command that runs a module as `-m` does, but not from the current folder."""
    code = (
        "import sys; sys.path = [p for p in sys.path if p]; "
        f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    )
    return (sys.executable, "-c", code)


class Child:
    """A process that exchanges messages with this one.

    It runs in a session of its own, so that Ctrl-C reaches this process alone, which then ends it.
    When this process dies, the child's input ends, and so does the child. `env` holds defaults of
    environment variables.
    """

    def __init__(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        # The output of the child's libraries goes to an unnamed file, not to the terminal.
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
        _widen_pipes(self._in, self._out)
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._buffer = bytearray()
        self._owner = os.getpid()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def inherited(self) -> bool:
        """Whether this process is a fork of the one that started the child."""
        return os.getpid() != self._owner

    def send(self, *messages: Message, timeout_s: float) -> None:
        """Send messages at once; raise `ChildLost` if the child does not read them in time."""
        self.send_bytes(b"".join(map(encode_message, messages)), timeout_s=timeout_s)

    def send_bytes(self, data: bytes, *, timeout_s: float) -> None:
        """Send bytes whose number a message has announced, likewise."""
        rest = memoryview(data)
        while rest:
            readable, writable = self._select(writing=True, timeout_s=timeout_s)
            if not readable and not writable:
                raise ChildSilent(f"silent for {timeout_s:g} s")
            if readable:
                self._read()
            if writable:
                try:
                    rest = rest[os.write(self._in, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise self._cause_of_death() from None

    def receive(self, *, timeout_s: float) -> Message:
        """Return the next message; raise `ChildLost` after `timeout_s` seconds without one."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = decode_message(self._buffer)
            if message is not None:
                return message
            left = deadline - time.monotonic()
            if left <= 0 or not self._select(writing=False, timeout_s=left)[0]:
                raise ChildSilent(f"silent for {timeout_s:g} s")
            self._read()

    def receive_reply(self, *, timeout_s: float) -> Message:
        """Return the next message that is not a heartbeat, likewise."""
        while (message := self.receive(timeout_s=timeout_s)).get("op") == "heartbeat":
            pass
        return message

    def fileno(self) -> int:
        """Return the descriptor of the child's output, for `select`."""
        return self._out

    def arrived(self) -> Iterator[Message]:
        """Yield the messages that have arrived, without waiting; then raise `ChildLost` if it died.

        What `send` has read meanwhile is among them, so it comes before a `select`.
        """
        lost: ChildLost | None = None
        try:
            while self._select(writing=False, timeout_s=0)[0]:
                self._read()
        except ChildLost as why:
            lost = why
        while (message := decode_message(self._buffer)) is not None:
            yield message
        if lost is not None:
            raise lost

    def kill_and_drain(self) -> Iterator[Message]:
        """Kill the child and yield the messages that it had already sent."""
        self._process.kill()
        os.set_blocking(self._out, True)
        with contextlib.suppress(ChildLost):
            while True:
                self._read()
        while (message := decode_message(self._buffer)) is not None:
            yield message

    def end(self, *, within_s: float = 0.0) -> None:
        """Kill the child and wait for it; in a fork, only close this process's pipes.

        The child has `within_s` seconds to end by itself, as it does when its input ends.
        """
        if self.inherited:
            self._process.poll()  # forgets a process that is not this one's child
        else:
            if within_s and self._process.stdin is not None:
                self._process.stdin.close()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(within_s)
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                stream.close()

    def _select(self, *, writing: bool, timeout_s: float) -> tuple[bool, bool]:
        """Wait until the child's output can be read or, if wanted, its input be written.

        Returns which of the two is ready, neither after `timeout_s` seconds.
        """
        waiting = select.poll()  # `select.select` takes no descriptor from 1,024
        waiting.register(self._out, select.POLLIN)
        if writing:
            waiting.register(self._in, select.POLLOUT)
        deadline = time.monotonic() + timeout_s
        while True:
            left = max(0.0, deadline - time.monotonic())
            # A signal that comes just before the call does not end it, and is handled after it.
            ready = {handle for handle, _ in waiting.poll(1000 * min(left, _SIGNAL_S))}
            if ready or left <= _SIGNAL_S:
                return self._out in ready, self._in in ready

    def _read(self) -> None:
        try:
            data = os.read(self._out, 1 << 20)
        except BlockingIOError:
            return
        if not data:
            raise self._cause_of_death()
        self._buffer += data

    def _cause_of_death(self) -> ChildLost:
        """Return how the child ended, with the last line that its libraries printed."""
        code = self._process.wait()
        self._stderr.seek(max(0, self._stderr.seek(0, os.SEEK_END) - 4096))
        last = _last_message(self._stderr.read().decode(errors="replace"))
        if code == -signal.SIGKILL:
            return ChildLost("killed, perhaps for want of memory", signal=-code)
        how = f"crashed with {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        kind = ChildUnheard if code == UNHEARD else ChildLost
        return kind(f"{how}: {last[:200]}" if last else how, signal=max(-code, 0))


def _last_message(printed: str) -> str:
    """Return the last line that is not of a backtrace."""
    lines = [line.rstrip() for line in printed.split("\n") if line.strip()]
    said = [line for line in lines if not line.startswith(_BACKTRACE)]
    return said[-1].strip() if said else ""


def _widen_pipes(*pipes: int) -> None:
    """Let pipes hold a whole message of usual size, so that fewer turns of both sides send it."""
    for pipe in pipes if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):  # the user's share of such memory is used up
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
