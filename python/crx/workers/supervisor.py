"""The supervisor of a child process: it starts the child, replaces it when it is lost, and ends it.

Every child answers its first message, `open`, with `ready`, or with `refused` and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crx.workers.child import Child
from crx.workers.messages import ChildLost, Message

# A starting child is silent while its libraries are read from the disk.
START_S = 120.0

OUT_OF_TURN = "an answer out of turn"


class ChildRefused(Exception):
    """The child cannot do its work; the message says why."""


def require_ready(reply: Message) -> Message:
    """Return the answer to `open`; raise `ChildRefused` or `ChildLost` for any but `ready`."""
    match reply:
        case {"op": "ready"}:
            return reply
        case {"op": "refused", "why": str(why)}:
            raise ChildRefused(why)
    raise ChildLost(OUT_OF_TURN)


class Supervisor:
    """A child process that is started when it is needed.

    A fork of this process starts a child of its own.
    """

    def __init__(
        self,
        command: Sequence[str],
        opening: Message,
        *,
        start_s: float = START_S,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._command = command
        self._opening = opening
        self._start_s = start_s
        self._env = env
        self._child: Child | None = None
        self._tasks = 0

    @property
    def child(self) -> Child | None:
        """The child, None if none runs."""
        return self._child

    @property
    def tasks(self) -> int:
        """How many tasks the child was taken for."""
        return self._tasks

    def start(self) -> Message:
        """Start a child, instead of the one before, and return its `ready`.

        Raises `ChildRefused`, `ChildLost`, and `SystemFailure` if the command cannot be run.
        """
        self.close()
        self._child = Child(self._command, env=self._env)
        try:
            self._child.send({**self._opening, "op": "open"}, timeout_s=self._start_s)
            return require_ready(self._child.receive_reply(timeout_s=self._start_s))
        except BaseException:
            self.close()
            raise

    def take(self) -> Child:
        """Return the child for a task, started if there is none; raises as `start` does."""
        if self._child is not None and self._child.inherited:
            self.close()
        if self._child is None:
            self.start()
        assert self._child is not None
        self._tasks += 1
        return self._child

    def close(self, *, within_s: float = 0.0) -> None:
        """End the child, which has so many seconds to end by itself."""
        if self._child is not None:
            self._child.end(within_s=within_s)
            self._child = None
        self._tasks = 0
