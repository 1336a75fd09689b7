"""Workers that are actors of a Ray cluster."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

import ray
from ray.exceptions import RayError, RayTaskError

from crx.errors import CrxError, ModelError, SystemFailure
from crx_engines.pools.job import Answer, Job, Task
from crx_engines.pools.transport import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady
from crx_engines.ray.ray_address import RayAddress, parse_ray_address

# Seconds without any worker, after which the cluster is taken to have no room for one.
_START_S = 300.0
# Calls of an actor that are under way: it need not wait for this process.
_CALLS_AHEAD = 16


def open_ray(address: str, job: Job[Task, Answer]) -> RayActors[Task, Answer]:
    """Return workers on the cluster of an address; see `parse_ray_address` and `RayActors`."""
    return RayActors(parse_ray_address(address), job)


class RayWorker:
    """The actor: a worker that loads its model when it is told to, so that failures are told."""

    def open(self, job: Job[Any, Any]) -> None:
        """Load the model; raises what `Job.load` raises."""
        self._job = job
        self._worker = job.load()

    def run(self, task: Any) -> Any:
        """Begin with a task and return its first answer."""
        self._to_come = self._job.count_answers(task)
        self._answers = self._worker.run(task)
        return self.go_on()

    def go_on(self) -> Any:
        """Return the next answer to the task."""
        answer = next(self._answers)
        self._to_come -= 1
        if not self._to_come:
            deque(self._answers, maxlen=0)  # a model's process is kept if its work ends in order
        return answer


@dataclass(slots=True)
class _Step:
    """The call of an actor for one answer: it begins with a task, or goes on if that is None."""

    task: Any
    last: bool


@dataclass(slots=True)
class _Actor:
    """An actor, its calls that were not answered, and steps to call for.

    The first call is `open` until the actor is `ready`; each other one is a step.
    """

    handle: Any
    calls: deque[Any]
    ready: bool = False
    called: deque[_Step] = field(default_factory=deque)
    waiting: deque[_Step] = field(default_factory=deque)
    started: float = field(default_factory=time.monotonic)

    def call_ahead(self) -> None:
        """Call for waiting steps as far as their number is bounded."""
        while self.waiting and len(self.called) < _CALLS_AHEAD:
            step = self.waiting.popleft()
            self.called.append(step)
            handle = self.handle
            call = handle.go_on.remote() if step.task is None else handle.run.remote(step.task)
            self.calls.append(call)


class RayActors(Generic[Task, Answer]):
    """Workers on the nodes of a cluster, which is joined or, without an address, may be started.

    A node needs crx and the model of the same specification. An actor has the processors and the
    share of a GPU that the address gives.
    """

    def __init__(self, address: RayAddress, job: Job[Task, Answer]) -> None:
        """Join the cluster; raises `SystemFailure` if it cannot be reached."""
        self._address = address
        self._job = job.with_threads(address.threads)
        self._numbers = itertools.count()
        self._actors: dict[int, _Actor] = {}
        self._joined = not ray.is_initialized()
        if self._joined:
            _join(address)

    @property
    def capacity(self) -> int:
        """How many workers the cluster has room for, at least 1."""
        total = ray.cluster_resources()
        room = [total.get("CPU", 1) / self._address.cpus] if self._address.cpus else []
        room += [total.get("GPU", 0) / self._address.gpus] if self._address.gpus else []
        return max(1, int(min(room, default=1)))

    @property
    def host(self) -> str:
        """The host that texts are sent to: one of another machine if the cluster has any."""
        if self._address.host:
            return self._address.host
        own = ray.util.get_node_ip_address()
        nodes = sorted(node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"])
        return next((node for node in nodes if node != own), "localhost")

    def start(self) -> int:
        """Ask the cluster for an actor and return its number."""
        number = next(self._numbers)
        kind = ray.remote(RayWorker).options(
            num_cpus=self._address.cpus, num_gpus=self._address.gpus, max_restarts=0
        )
        handle = kind.remote()
        self._actors[number] = _Actor(handle, deque([handle.open.remote(self._job)]))
        return number

    def send(self, worker: int, task: Task) -> None:
        """Send a task to an actor that is ready."""
        actor = self._actors[worker]
        answers = self._job.count_answers(task)
        actor.waiting.extend(
            _Step(None if n else task, last=n == answers - 1) for n in range(answers)
        )
        actor.call_ahead()

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[Answer]]:
        """Wait for the next events; empty after the timeout."""
        first = {actor.calls[0]: number for number, actor in self._actors.items() if actor.calls}
        if not first:
            return []
        calls = list(first)
        ray.wait(calls, num_returns=1, timeout=timeout_s, fetch_local=False)
        done, _ = ray.wait(calls, num_returns=len(calls), timeout=0, fetch_local=False)
        if not done:
            self._require_room()
        return [self._take(first[call]) for call in done]

    def close(self) -> None:
        """End all actors, and leave the cluster if it was joined here."""
        for each in self._actors.values():
            _end(each)
        self._actors.clear()
        if self._joined:
            self._joined = False
            ray.shutdown()

    def _take(self, number: int) -> WorkerEvent[Answer]:
        """Return the result of an actor's first call."""
        actor = self._actors[number]
        try:
            answer = ray.get(actor.calls.popleft())
        except RayTaskError as failed:
            raise ModelError(_describe(failed)) from failed
        except RayError as lost:
            del self._actors[number]
            _end(actor)
            return WorkerLost(number, f"with {type(lost).__name__}")
        if not actor.ready:
            actor.ready = True
            return WorkerReady(number)
        step = actor.called.popleft()
        actor.call_ahead()
        return WorkerAnswer(number, answer, step.last)

    def _require_room(self) -> None:
        """Raise `SystemFailure` if no actor has been started for long."""
        since = max((each.started for each in self._actors.values()), default=0.0)
        ready = any(each.ready for each in self._actors.values())
        if not ready and time.monotonic() - since > _START_S:
            raise SystemFailure(
                f"{self._address}: no worker has started in {_START_S:g} s; the cluster has no "
                f'room for one, as "ray status" shows'
            )


def _join(address: RayAddress) -> None:
    # Ray would otherwise report its use to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(
            address=address.cluster,
            log_to_driver=False,
            logging_level=logging.ERROR,
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise SystemFailure(f"{address}: cannot be reached: {why}") from error


def _end(actor: _Actor) -> None:
    with contextlib.suppress(RayError):
        ray.kill(actor.handle)


def _describe(failed: RayTaskError) -> str:
    cause = failed.cause
    if isinstance(cause, CrxError):
        return str(cause)
    return f"a worker failed: {type(cause).__name__}: {cause}"
