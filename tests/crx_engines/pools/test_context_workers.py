"""Contexts that local workers write: those of one process, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from equal_indexes import read_tables

import crx
from crx._context.documents import DocumentTask
from crx._context.report import ContextProgress, ContextReport
from crx.errors import ModelError, UsageError
from crx.types import Chunk, Context, Document
from crx.workers.child import Child
from crx_engines.pools.contexts import (
    DOCUMENTS_AHEAD,
    MAX_LOST_CHUNKS,
    ContextJob,
    ContextWorkers,
    NumberedTask,
    WrittenContext,
)
from crx_engines.pools.pool import MAX_LOSSES, WorkerPool
from crx_engines.pools.transport import WorkerAnswer, WorkerEvent, WorkerLost, WorkerReady
from crx_runtimes.fake.contextualizer import Fake

SETTINGS = {"embedder": "hashed:max_tokens=64", "chunk_chars": 120}
FAULTY = "fake:fail=0.1,empty=0.1,refuse=0.1,preamble=0.2,crash=0.02"


def write(
    folder: Path,
    docs: Path,
    source: str = "fake:",
    *,
    workers: int = 0,
    templates: dict[str, str] | None = None,
    on_progress: Callable[[ContextProgress], None] | None = None,
) -> tuple[ContextReport, dict[str, list[str]]]:
    """Return the report of a run over an index, which is made if need be, and the index's rows."""
    with crx.open(folder, settings=SETTINGS) as index:
        index.add(docs)
        report = index.contextualize(
            source, workers=workers, templates=templates, on_progress=on_progress
        )
    return report, read_tables(folder)


def test_workers_write_the_contexts_of_one_process(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    told: dict[int, list[ContextProgress]] = {0: [], 2: []}
    one, rows = write(tmp_path / "one", docs, FAULTY, on_progress=told[0].append)
    two, same = write(tmp_path / "two", docs, FAULTY, workers=2, on_progress=told[2].append)
    assert same == rows
    assert (two.made, two.embedded, two.coverage) == (one.made, one.embedded, one.coverage)
    assert [(now.done, now.total, now.tokens_reused) for now in told[2]] == [
        (now.done, now.total, now.tokens_reused) for now in told[0]
    ]
    assert len(children) == 2


def test_workers_use_the_prompts_of_folders(tmp_path: Path, children: list[Child]) -> None:
    docs = tmp_path / "docs"
    (docs / "legal").mkdir(parents=True)
    (docs / "whale.md").write_text("# Whale\n\nThe whale eats krill off the coast.\n")
    (docs / "legal" / "terms.md").write_text("# Terms\n\nThe buyer pays within 30 days.\n")
    (tmp_path / "legal.txt").write_text("{document}\n\nSituate: {chunk}\n")
    templates = {str(docs / "legal"): str(tmp_path / "legal.txt")}
    one = write(tmp_path / "one", docs, templates=templates)
    two = write(tmp_path / "two", docs, templates=templates, workers=2)
    assert two[1] == one[1]
    assert any("prompt=" in row for row in two[1]["context"])


def test_a_worker_that_is_killed_costs_at_most_the_context_that_it_writes(
    tmp_path: Path, docs: Path, children: list[Child], traced: Path
) -> None:
    def kill_the_first(now: ContextProgress) -> None:
        if now.done == 20:
            os.kill(children[0].pid, signal.SIGKILL)

    one = write(tmp_path / "one", docs, "traced:")
    assert max(Counter(traced.read_text().split()).values()) == 1
    traced.write_text("")
    two = write(tmp_path / "two", docs, "traced:", workers=2, on_progress=kill_the_first)
    assert two[1] == one[1]
    assert two[0].made == one[0].made == {"ok": one[0].chunks}
    written = Counter(traced.read_text().split())
    assert len(children) == 3
    assert one[0].chunks <= sum(written.values()) <= one[0].chunks + 1


def test_a_chunk_that_kills_workers_fails_and_the_others_are_written(
    tmp_path: Path, docs: Path, children: list[Child], traced: Path
) -> None:
    (docs / "bad.md").write_text("# Bad\n\n" + "Whales eat krill off the coast.\n\n" * 3 + "poison")
    report, _ = write(tmp_path / "index", docs, "traced:", workers=2)
    why = "3 workers were lost at this chunk, the last one killed, perhaps for want of memory"
    assert report.made == {"ok": report.chunks - 1, f"failed:{why}": 1}


def test_a_model_that_is_not_up_to_the_task_stops_workers_as_it_stops_one_process(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    errors = []
    for workers in (0, 1):
        with pytest.raises(ModelError, match="this model is not up to the task: 100") as e:
            write(tmp_path / str(workers), docs, "fake:refuse=1", workers=workers)
        errors.append(str(e.value))
    assert errors[0] == errors[1]
    assert are_gone(children)


def test_a_time_budget_stops_workers_and_the_next_run_continues(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    # A context that is made for one of two equal documents is reused for the other.
    (docs / "copy.md").unlink()
    with crx.open(tmp_path / "index", settings=SETTINGS) as index:
        index.add(docs)
        some = index.contextualize("fake:latency=20ms", workers=2, budget="0.05s")
        assert some.stopped == "the budget of 0.05 s is spent"
        assert are_gone(children)
        made = sum(some.made.values())
        assert 1 <= made < some.chunks
        rest = index.contextualize("fake:", workers=2)
        assert (rest.made, rest.reused) == ({"ok": rest.chunks - made}, made)


def test_an_interrupt_ends_the_workers_and_the_same_command_resumes(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    def interrupt(now: ContextProgress) -> None:
        if now.done == 20:
            raise KeyboardInterrupt

    # A context that is made for one of two equal documents is reused for the other.
    (docs / "copy.md").unlink()
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "two", docs, workers=2, on_progress=interrupt)
    assert are_gone(children)
    report, rows = write(tmp_path / "two", docs, workers=2)
    assert report.reused == 20
    assert rows == write(tmp_path / "one", docs)[1]


def test_contexts_are_embedded_by_the_workers_of_the_settings(
    tmp_path: Path, docs: Path, children: list[Child]
) -> None:
    with crx.open(tmp_path / "two", settings=SETTINGS) as index:
        index.add(docs)
    with crx.open(tmp_path / "two", settings={**SETTINGS, "workers": 1}) as index:
        two = index.contextualize("fake:", workers=1)
    one, rows = write(tmp_path / "one", docs)
    assert two.embedded == one.embedded
    assert len(children) == 2
    assert read_tables(tmp_path / "two") == rows


def test_a_worker_with_another_model_is_an_error(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "fingerprint", "fake:new")
    with pytest.raises(ModelError, match=r"fake:: a worker has fake:fail.*, this run needs fake:n"):
        write(tmp_path / "index", docs, workers=1)


def test_a_source_that_workers_cannot_load_is_refused(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "contexts.jsonl"
    file.write_text("")
    with crx.open(tmp_path / "index", settings=SETTINGS) as index:
        with pytest.raises(UsageError, match="workers load a model by its specification"):
            index.contextualize(Fake(), workers=2)
        with pytest.raises(UsageError, match="workers = -1: must be 0 or more"):
            index.contextualize("fake:", workers=-1)
        with pytest.raises(UsageError, match="is a file of contexts, which needs no workers"):
            index.contextualize(str(file), workers=2)
        monkeypatch.setattr(Fake, "destination", "example.org", raising=False)
        with pytest.raises(UsageError, match="fake:: is on a server"):
            index.contextualize("fake:", workers=2)


JOB = ContextJob("fake:", (None,), ("",))


class Scripted:
    """Workers of which each writes a context a wait, in order, and is lost at some chunks."""

    host = "localhost"
    capacity = 1

    def __init__(self, *deadly: int) -> None:
        self.deadly = set(deadly)
        self.sent: list[tuple[int, list[int]]] = []
        self.most = 0
        self.closed = False
        self._events: list[WorkerEvent[WrittenContext]] = []
        self._tasks: dict[int, list[tuple[NumberedTask, list[int]]]] = {}

    def start(self) -> int:
        worker = len(self._tasks)
        self._tasks[worker] = []
        self._events.append(WorkerReady(worker))
        return worker

    def send(self, worker: int, task: NumberedTask) -> None:
        self.sent.append((task.number, list(task.task.chunks)))
        self._tasks[worker].append((task, list(task.task.chunks)))
        self.most = max(self.most, sum(map(len, self._tasks.values())))

    def receive(self, *, timeout_s: float) -> list[WorkerEvent[WrittenContext]]:
        for worker, tasks in self._tasks.items():
            if not tasks:
                continue
            task, left = tasks[0]
            if task.task.chunks[left[0]].start in self.deadly:
                tasks.clear()
                self._events.append(WorkerLost(worker, "killed"))
                continue
            written = WrittenContext(left.pop(0), Context("written"))
            self._events.append(WorkerAnswer(worker, written, last=not left))
            if not left:
                tasks.pop(0)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        self.closed = True


def asked(*sizes: int) -> Iterator[tuple[str, DocumentTask]]:
    """Yield documents of so many chunks, which are numbered through the documents."""
    number = 0
    for name, size in zip("abcdefghijklmnop", sizes, strict=False):
        chunks = {}
        for at in range(size):
            chunks[at] = Chunk(at, number, number + 1, 0, 0, 0, "x")
            number += 1
        yield name, DocumentTask(Document(name, "x" * number), chunks)


def situate(transport: Scripted, *sizes: int, count: int = 1) -> list[tuple[str, int, str]]:
    workers = ContextWorkers(WorkerPool(transport, JOB, count=count, ahead=DOCUMENTS_AHEAD))
    with closing(workers.situate(asked(*sizes))) as contexts:
        return [(name, at, context.outcome) for name, at, context in contexts]


LOST = f"failed:{MAX_LOSSES} workers were lost at this chunk, the last one killed"


def test_documents_in_flight_are_bounded() -> None:
    transport = Scripted()
    taken: list[str] = []

    def take() -> Iterator[tuple[str, DocumentTask]]:
        for name, task in asked(*[2] * 9):
            taken.append(name)
            yield name, task

    workers = ContextWorkers(WorkerPool(transport, JOB, count=2, ahead=DOCUMENTS_AHEAD))
    with closing(workers.situate(take())) as contexts:
        next(contexts)
        assert len(taken) == 2 * DOCUMENTS_AHEAD
        assert len(list(contexts)) == 17
    assert transport.most == 2 * DOCUMENTS_AHEAD
    assert transport.closed


def test_a_lost_worker_is_replaced_by_one_that_writes_the_rest() -> None:
    transport = Scripted(2)
    transport.receive = _forgiving(transport)  # type: ignore[method-assign]
    assert situate(transport, 4, 1) == [
        ("a", 0, "ok"), ("a", 1, "ok"), ("a", 2, "ok"), ("a", 3, "ok"), ("b", 0, "ok")
    ]  # fmt: skip
    assert transport.sent == [(0, [0, 1, 2, 3]), (1, [0]), (0, [2, 3]), (1, [0])]


def _forgiving(transport: Scripted) -> Callable[..., list[WorkerEvent[WrittenContext]]]:
    """Let a chunk be deadly once."""
    receive = transport.receive

    def receive_once(*, timeout_s: float) -> list[WorkerEvent[WrittenContext]]:
        events = receive(timeout_s=timeout_s)
        if any(isinstance(event, WorkerLost) for event in events):
            transport.deadly.clear()
        return events

    return receive_once


def test_a_chunk_at_which_workers_are_lost_is_asked_for_alone_and_fails() -> None:
    transport = Scripted(1)
    outcomes = [("a", 0, "ok"), ("a", 1, LOST), ("a", 2, "ok"), ("a", 3, "ok"), ("b", 0, "ok")]
    assert situate(transport, 4, 1) == outcomes
    assert (0, [1]) in transport.sent
    assert transport.sent[-2:] == [(0, [2, 3]), (1, [0])]


def test_chunks_that_are_lost_in_a_row_end_the_run() -> None:
    with pytest.raises(ModelError, match="3 workers were lost at each of 3 chunks in a row, the l"):
        situate(Scripted(*range(MAX_LOST_CHUNKS)), MAX_LOST_CHUNKS + 1)
    kept = [("a", 0, LOST), ("a", 1, LOST), ("a", 2, "ok"), ("a", 3, LOST), ("a", 4, LOST)]
    assert situate(Scripted(0, 1, 3, 4), 5) == kept


def are_gone(children: list[Child]) -> bool:
    """Return whether all processes that were started have ended."""
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    return bool(children)
