"""Indexes and contexts made by actors of Ray on two local nodes: equal to those of one process."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from equal_indexes import read_tables

import crx
from crx._context.report import ContextProgress
from crx.errors import ModelError, Offline, SystemFailure
from crx.ingest.report import Progress

ray = pytest.importorskip("ray", reason='needs Ray: pip install "crx[ray]"')
ray_actors = pytest.importorskip("crx_engines.ray.ray_actors")
RayActors = ray_actors.RayActors

SETTINGS = {"embedder": "hashed:max_tokens=64", "chunk_chars": 60}
ON_RAY = {**SETTINGS, "workers_on": "ray", "workers": 2}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes of this machine, each with room for two workers."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    cluster.add_node(num_cpus=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster
    cluster.shutdown()


def actors() -> list[int]:
    """Return the processes of actors that descend from this process."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
        if name.startswith(b"ray::RayWorker"):
            found.append(int(folder.name))

    def is_own(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and is_own(parents[pid]))

    return sorted(filter(is_own, found))


@pytest.mark.filterwarnings("ignore")
def test_the_loss_of_a_worker_and_of_a_node_costs_nothing_but_time(
    tmp_path: Path, docs: Path, cluster: Any
) -> None:
    lost: list[str] = []

    def break_things(progress: Progress) -> None:
        if progress.embedded and not lost:
            lost.append("worker")
            os.kill(actors()[0], signal.SIGKILL)
        elif progress.embedded > 60 and len(lost) == 1:
            lost.append("node")
            cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)

    with crx.open(tmp_path / "ray", settings=ON_RAY) as index:
        index.add(docs, on_progress=break_things)
        found = index.search("what does whale 7 eat?").hits
    assert lost == ["worker", "node"]
    assert not ray.is_initialized()
    with crx.open(tmp_path / "one", settings=SETTINGS) as index:
        index.add(docs)
        assert index.search("what does whale 7 eat?").hits == found
    assert read_tables(tmp_path / "ray") == read_tables(tmp_path / "one")


class _TwoAnswers:
    """A job whose tasks have two answers; `ended` has the tasks whose work ended in order."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def load(self) -> _TwoAnswers:
        return self

    def count_answers(self, task: str) -> int:
        return 2

    def run(self, task: str) -> Iterator[str]:
        yield f"{task}1"
        yield f"{task}2"
        self.ended.append(task)


def test_an_actor_ends_the_work_of_a_task_with_its_last_answer() -> None:
    job, worker = _TwoAnswers(), ray_actors.RayWorker()
    worker.open(job)
    assert [worker.run("a"), worker.go_on()] == ["a1", "a2"]
    assert job.ended == ["a"]
    assert [worker.run("b"), worker.go_on()] == ["b1", "b2"]


@pytest.mark.filterwarnings("ignore")
def test_contexts_survive_the_loss_of_a_worker_and_of_a_node(
    tmp_path: Path, docs: Path, cluster: Any
) -> None:
    source = "fake:fail=0.1,refuse=0.1,preamble=0.1"
    cluster.add_node(num_cpus=2)
    lost: list[str] = []

    def break_things(progress: ContextProgress) -> None:
        if progress.done > 20 and not lost:
            lost.append("worker")
            os.kill(actors()[0], signal.SIGKILL)
        elif progress.done > 60 and len(lost) == 1:
            lost.append("node")
            cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)

    reports = []
    for name in ("ray", "one"):
        with crx.open(tmp_path / name, settings=SETTINGS) as index:
            index.add(docs)
            workers, on, watch = (3, "ray", break_things) if name == "ray" else (0, "", None)
            report = index.contextualize(source, workers=workers, workers_on=on, on_progress=watch)
            reports.append(report)
    assert lost == ["worker", "node"]
    assert not ray.is_initialized()
    assert reports[0].made == reports[1].made
    assert read_tables(tmp_path / "ray") == read_tables(tmp_path / "one")


@pytest.mark.filterwarnings("ignore")
def test_documents_for_another_machine_are_announced_and_refused_offline(
    tmp_path: Path, docs: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RayActors, "host", "node7.example.org")
    notices: list[str] = []
    with crx.open(tmp_path / "notes.crx", settings=SETTINGS) as index:
        index.add(docs)
        report = index.contextualize("fake:", workers_on="ray", on_notice=notices.append)
        assert report.coverage == 1.0
        assert re.fullmatch(r"sending 43 documents, \d+ chunks \(.* to node7.*", notices[0])
        monkeypatch.setenv("CRX_OFFLINE", "1")
        with pytest.raises(Offline, match=r"ray with a node on node7.*: needs the network"):
            index.contextualize("fake:refuse=0.1", workers_on="ray")


@pytest.mark.filterwarnings("ignore")
def test_texts_for_another_machine_are_announced_and_refused_offline(
    tmp_path: Path, docs: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RayActors, "host", "node7.example.org")
    notices: list[str] = []
    with crx.open(tmp_path / "notes.crx", settings=ON_RAY) as index:
        index.add(docs, on_notice=notices.append)
    assert re.fullmatch(r"sending \d+ chunks \(.* of text\) to node7.example.org", notices[0])
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with (
        crx.open(tmp_path / "notes.crx", settings=ON_RAY) as index,
        pytest.raises(Offline, match=r"ray with a node on node7.*: needs the network"),
    ):
        index.add(docs)


def test_an_actor_with_another_model_than_the_index_is_an_error(
    tmp_path: Path, docs: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with crx.open(tmp_path / "notes.crx", settings=ON_RAY) as index:
        monkeypatch.setattr(type(index.embedder), "fingerprint", "hashed:old")
        with pytest.raises(ModelError, match="a worker has hashed:1:256:64, the index needs hash"):
            index.add(docs)


def test_a_cluster_that_cannot_be_reached_is_an_error(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise ConnectionError("no cluster answers\nand more lines")

    monkeypatch.setattr(ray, "init", refuse)
    with (
        crx.open(tmp_path / "notes.crx", settings=ON_RAY) as index,
        pytest.raises(SystemFailure, match="ray: cannot be reached: no cluster answers"),
    ):
        index.add(docs)
