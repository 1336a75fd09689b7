"""Opening of workers by the address of a transport: one of a third party, and what is refused."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from equal_indexes import read_tables

import crx
from crx.errors import Offline, UsageError
from crx_engines.pools import embedding
from crx_engines.pools.job import Job
from crx_engines.pools.transport import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady

SETTINGS = {"embedder": "hashed:max_tokens=64", "chunk_chars": 60}


def through_a_wire(message: dict[str, Any]) -> dict[str, Any]:
    passed: dict[str, Any] = json.loads(json.dumps(message))
    return passed


class OwnThread:
    """A transport whose workers run in this thread; the first is lost after some answers."""

    host = "localhost"
    capacity = 2

    def __init__(self, address: str, job: Job[Any, Any]) -> None:
        self.address = address
        self.closed = False
        self.started = 0
        self._job = job
        self._to_lose = 3
        self._events: deque[WorkerEvent[Any]] = deque()
        self._tasks: deque[tuple[int, Any]] = deque()

    def start(self) -> int:
        self.started += 1
        self._events.append(WorkerReady(self.started))
        return self.started

    def send(self, worker: int, task: Any) -> None:
        self._tasks.append((worker, task))

    def receive(self, *, timeout_s: float) -> Sequence[WorkerEvent[Any]]:
        if not self._events and self._tasks:
            self._run(*self._tasks.popleft())
        events = list(self._events)
        self._events.clear()
        return events

    def close(self) -> None:
        self.closed = True

    def _run(self, worker: int, task: Any) -> None:
        self._to_lose -= 1
        if not self._to_lose:
            self._tasks = deque(each for each in self._tasks if each[0] != worker)
            self._events.append(WorkerLost(worker, "switched off"))
            return
        sent = self._job.decode_task(through_a_wire(self._job.encode_task(task)))
        for answer in self._job.load().run(sent):
            encoded = through_a_wire(self._job.encode_answer(answer))
            self._events.append(
                WorkerAnswer(worker, self._job.decode_answer(encoded, task), last=True)
            )


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[OwnThread]:
    """The transports that `thread:` addresses open, by an entry point of this module."""
    transports: list[OwnThread] = []

    def open_thread(address: str, job: Job[Any, Any]) -> OwnThread:
        transports.append(OwnThread(address, job))
        return transports[-1]

    install(monkeypatch, open_thread)
    monkeypatch.setattr(embedding, "use_threads", lambda threads: None)
    return transports


def install(monkeypatch: pytest.MonkeyPatch, opener: Callable[..., object]) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: opener)
    points = {"thread": EntryPoint("thread", "nowhere:open", "crx.workers")}
    monkeypatch.setattr("crx.plugins.find_plugins", lambda group: points)


def test_a_transport_of_a_third_party_makes_the_same_index_though_it_loses_a_worker(
    tmp_path: Path, docs: Path, opened: list[OwnThread]
) -> None:
    with crx.open(tmp_path / "one", settings=SETTINGS) as index:
        index.add(docs)
    on = {"workers_on": "thread://localhost?speed=1"}
    with crx.open(tmp_path / "two", settings={**SETTINGS, **on}) as index:
        index.add(docs)
    assert read_tables(tmp_path / "two") == read_tables(tmp_path / "one")
    (transport,) = opened
    assert transport.address == "thread://localhost?speed=1"
    assert transport.started == 3
    assert transport.closed


def test_a_transport_to_another_machine_is_refused_offline_and_closed(
    tmp_path: Path, docs: Path, opened: list[OwnThread], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    monkeypatch.setattr(OwnThread, "host", "node7.example.org")
    for address, refused in (
        ("thread:", r"thread: with a node on node7.example.org: needs the network"),
        ("thread://node7.example.org?a=1", r"thread://node7.example.org: needs the network"),
    ):
        settings = {**SETTINGS, "workers_on": address}
        with (
            crx.open(tmp_path / "notes.crx", settings=settings) as index,
            pytest.raises(Offline, match=refused),
        ):
            index.add(docs)
    assert [each.closed for each in opened] == [True]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("spark", "spark: no installed package opens spark: addresses; install one that does"),
        ("ray://h?cpus=2", r'ray://h: no installed .* ray: addresses; pip install "crx\[ray\]"'),
        ("thread://[", r"thread://\[: the plugin \"thread\" returned int, which is not a WorkerT"),
    ],
)
def test_an_address_that_leads_to_no_workers_is_refused(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch, address: str, why: str
) -> None:
    install(monkeypatch, lambda address, job: 7)
    with (
        crx.open(tmp_path / "notes.crx", settings={**SETTINGS, "workers_on": address}) as index,
        pytest.raises(UsageError, match=why),
    ):
        index.add(docs)
