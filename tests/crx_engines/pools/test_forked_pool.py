"""A pool of local processes in a fork: the workers stay with the process that started them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest
from forked import call_in_fork

from crx.ingest.embed import Situated
from crx.ingest.embedding_pool import TextBatch
from crx.registry import load_embedder
from crx.workers.child import Child
from crx_engines.pools.embedding import EmbeddedRows, EmbeddingJob
from crx_engines.pools.local_processes import LocalProcesses
from crx_engines.pools.pool import TaskAnswer, WorkerPool

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def pool() -> Iterator[WorkerPool[TextBatch, EmbeddedRows]]:
    job = EmbeddingJob("hashed", load_embedder("hashed").fingerprint)
    with closing(WorkerPool(LocalProcesses(job), job, count=1, ahead=1)) as pool:
        yield pool


def embed(pool: WorkerPool[TextBatch, EmbeddedRows], text: str) -> list[list[float]]:
    pool.submit(TextBatch([text.encode()], [Situated("", text)]))
    while True:
        for event in pool.advance(timeout_s=60):
            assert isinstance(event, TaskAnswer)
            rows: list[list[float]] = event.answer.rows.tolist()
            return rows


def test_a_fork_that_closes_a_pool_leaves_the_workers_to_its_parent(
    pool: WorkerPool[TextBatch, EmbeddedRows], children: list[Child]
) -> None:
    rows = embed(pool, "the whale")
    call_in_fork(pool.close)
    assert embed(pool, "the whale") == rows
    assert len(children) == 1
