"""Workers that are processes of this machine."""

from __future__ import annotations

import base64
import itertools
import select
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from crx.errors import ModelError
from crx.ingest.embedding_pool import TextBatch
from crx.process.pipe import Child, ChildLost, Message, child_command
from crx.workers.embedding_worker import WorkerModel
from crx.workers.pool import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady

_COMMAND = child_command("crx.workers.child")
# A worker that loads its model or embeds a batch is silent. It is taken for lost after these
# seconds and one for each thousand characters that it was sent: far slower than any model.
_SILENT_S = 300.0
_CHARS_A_SECOND = 1000


@dataclass(slots=True)
class _Process:
    """A worker's process, the batches that it has not answered, and when it was heard of.

    `lost` is why nothing more could be sent, "" while something can.
    """

    child: Child
    heard: float = field(default_factory=time.monotonic)
    ready: bool = False
    unanswered: deque[TextBatch] = field(default_factory=deque)
    lost: str = ""

    @property
    def silent_s(self) -> float:
        """How long the worker may be silent."""
        return _SILENT_S + sum(batch.chars for batch in self.unanswered) / _CHARS_A_SECOND

    @property
    def is_overdue(self) -> bool:
        """Whether the worker has something to answer and has been silent for too long."""
        busy = bool(self.unanswered) or not self.ready
        return busy and time.monotonic() - self.heard > self.silent_s


class LocalProcesses:
    """Workers in processes that end with this one."""

    def __init__(self, model: WorkerModel) -> None:
        self._model = model
        self._numbers = itertools.count()
        self._processes: dict[int, _Process] = {}

    @property
    def pids(self) -> dict[int, int]:
        """The process ids of the workers."""
        return {number: each.child.pid for number, each in self._processes.items()}

    def start(self) -> int:
        """Start a worker and return its number; raises `SystemFailure` if there is no process."""
        number = next(self._numbers)
        self._processes[number] = _Process(Child(_COMMAND))
        self._send(number, {"op": "open", "model": asdict(self._model)})
        return number

    def send(self, worker: int, batch: TextBatch) -> None:
        """Send a batch to a worker that is ready."""
        process = self._processes[worker]
        if not process.unanswered:
            process.heard = time.monotonic()
        process.unanswered.append(batch)
        texts = [(each.before, each.text, each.tokens) for each in batch.texts]
        self._send(worker, {"op": "embed", "texts": texts})

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent]:
        """Wait for the next events; empty after the timeout."""
        # What was read while something was sent is no longer in a pipe.
        events = self._take_events()
        if not events and self._processes:
            outputs = [each.child for each in self._processes.values()]
            select.select(outputs, [], [], timeout_s)
            events = self._take_events()
        return events

    def close(self) -> None:
        """End all workers."""
        for each in self._processes.values():
            each.child.end()
        self._processes.clear()

    def _send(self, worker: int, message: Message) -> None:
        process = self._processes[worker]
        try:
            process.child.send(message, timeout_s=process.silent_s)
        except ChildLost as lost:
            process.lost = str(lost)

    def _take_events(self) -> list[WorkerEvent]:
        return [event for number in list(self._processes) for event in self._events_of(number)]

    def _events_of(self, number: int) -> Iterator[WorkerEvent]:
        """Yield what a worker has told, and in the end that it is lost."""
        process = self._processes[number]
        try:
            for message in process.child.arrived():
                yield self._event(number, message)
            if process.lost:
                raise ChildLost(process.lost)
            if process.is_overdue:
                raise ChildLost(f"silent for {process.silent_s:.0f} s")
        except ChildLost as lost:
            process.child.end()
            del self._processes[number]
            yield WorkerLost(number, str(lost))

    def _event(self, number: int, message: Message) -> WorkerEvent:
        process = self._processes[number]
        process.heard = time.monotonic()
        match message:
            case {"op": "ready"}:
                process.ready = True
                return WorkerReady(number)
            case {"op": "embedded", "rows": str(data), "windowed": int(windowed)} if (
                process.unanswered
            ):
                count = len(process.unanswered.popleft().keys)
                return WorkerAnswer(number, _decode_rows(data, count), windowed)
            case {"op": "refused" | "failed", "why": str(why)}:
                raise ModelError(why)
        raise ChildLost("an answer out of turn")


def _decode_rows(data: str, count: int) -> NDArray[np.float32]:
    try:
        return np.frombuffer(base64.b64decode(data), np.float32).reshape(count, -1)
    except ValueError:
        raise ChildLost("an unreadable answer") from None
