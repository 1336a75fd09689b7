"""Models in forks of the process that loaded them: the same results, or an error at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from forked import call_in_fork
from optional import installed
from tiny_model import make_model

from crx._backends.fork import ForkGuard
from crx._models.store import add_model, is_installed
from crx.protocols import Embedder
from crx.registry import load_embedder, load_reranker
from crx.types import Chunk, Context, Document
from crx_runtimes.fake.contextualizer import Fake, Faults

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

TEXTS = ["the revenue of the second grew" + " the revenue" * (n % 7) for n in range(200)]

# The default model is not part of the repository.
MINILM = pytest.mark.skipif(not is_installed("minilm"), reason="minilm is not installed")


@pytest.fixture(params=["hashed", "tiny", pytest.param("minilm", marks=MINILM)])
def embedder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Embedder:
    if request.param == "tiny":
        monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
        add_model(make_model(tmp_path / "tiny"))
    return load_embedder(request.param)


def test_an_embedder_that_was_used_gives_the_same_vectors_in_a_fork(embedder: Embedder) -> None:
    texts = TEXTS[:40]
    here = embedder.embed(texts)
    assert np.array_equal(call_in_fork(lambda: embedder.embed(texts)), here)
    assert np.array_equal(embedder.embed(texts), here)


def test_an_embedder_works_in_a_fork_made_while_other_threads_embed(embedder: Embedder) -> None:
    texts = TEXTS[:8]
    here = embedder.embed(texts)
    stop = threading.Event()

    def embed_until_stopped() -> None:
        while not stop.is_set():
            embedder.embed(texts)

    threads = [threading.Thread(target=embed_until_stopped) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            assert np.array_equal(call_in_fork(lambda: embedder.embed(texts)), here)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_a_reranker_that_was_used_gives_the_same_scores_in_a_fork() -> None:
    reranker = load_reranker("crx")
    here = reranker.score("revenue", TEXTS[:40])
    assert np.array_equal(call_in_fork(lambda: reranker.score("revenue", TEXTS[:40])), here)


@installed("openvino")
def test_openvino_refuses_to_run_in_a_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRX_MODELS", str(tmp_path / "store"))
    add_model(make_model(tmp_path / "tiny"))
    embedder = load_embedder("openvino:tiny")
    with pytest.raises(ChildProcessError, match="tiny: cannot run in a fork of the process"):
        call_in_fork(lambda: embedder.embed(TEXTS[:1]))


def test_a_guard_raises_in_a_fork_alone() -> None:
    guard = ForkGuard()
    guard.check("tiny")
    with pytest.raises(ChildProcessError, match=r'load it in the new process, or .* by "spawn"'):
        call_in_fork(lambda: guard.check("tiny"))


DOCUMENT = Document("file:herons.txt", "Herons wait by the river.", title="Heron survey")
CHUNKS = [Chunk(0, 0, len(DOCUMENT.text), 0, 0, 0, DOCUMENT.text)]


@pytest.fixture
def supervised() -> Iterator[Fake]:
    """A contextualizer whose model runs in a child process."""
    fake = Fake(Faults(crash=1e-9), timeout_s=30.0)
    yield fake
    fake.close()


def test_a_fork_starts_a_child_process_of_its_own_and_leaves_the_parents_alone(
    supervised: Fake,
) -> None:
    expected = list(supervised.situate(DOCUMENT, CHUNKS))
    assert expected[0].status == "ok"
    own_pid = child_pid(supervised)

    def situate_and_close() -> tuple[list[Context], int]:
        contexts, pid = list(supervised.situate(DOCUMENT, CHUNKS)), child_pid(supervised)
        supervised.close()
        return contexts, pid

    contexts, other_pid = call_in_fork(situate_and_close)
    assert contexts == expected
    assert other_pid != own_pid
    assert list(supervised.situate(DOCUMENT, CHUNKS)) == expected
    assert child_pid(supervised) == own_pid


def child_pid(fake: Fake) -> int:
    assert fake._process is not None
    assert fake._process._supervisor.child is not None
    return fake._process._supervisor.child.pid
