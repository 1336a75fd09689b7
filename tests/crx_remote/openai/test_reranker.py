"""Scores from a server with Cohere's rerank API, with a local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openai", exc_type=ImportError)

from local_server import Fault
from vector_server import MODEL, VectorServer, serving

import crx
from crx.errors import ModelError, UsageError
from crx.protocols import Metered, Remote, Reranker
from crx.registry import load_reranker
from crx_remote.openai.reranker import CohereReranker

TEXTS = ["bake the bread", "blue whales eat krill", "whales sing"]


@pytest.fixture
def server() -> VectorServer:
    return VectorServer()


@pytest.fixture
def url(server: VectorServer) -> Iterator[str]:
    with serving(server) as address:
        yield f"{address}/v1"


def test_scores_come_in_the_order_of_the_texts_within_0_and_1(
    url: str, server: VectorServer
) -> None:
    reranker = CohereReranker(f"{url}#{MODEL}", batch=2)
    assert isinstance(reranker, Reranker)
    assert isinstance(reranker, Remote)
    assert isinstance(reranker, Metered)
    scores = reranker.score("whales eat krill", TEXTS)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, [0, 1, 1 / 3], atol=1e-5)
    assert ((scores > 0) & (scores < 1)).all()
    first = {"model": MODEL, "query": "whales eat krill", "documents": TEXTS[:2], "top_n": 2}
    assert ("/v1/rerank", first) in [(path, body) for path, body, _ in server.seen]
    assert reranker.usage.requests == 2


def test_logits_are_refused_unless_they_are_said_to_be(url: str, server: VectorServer) -> None:
    server.logits = True
    with pytest.raises(ModelError, match=r"not between 0 and 1.*:scale=logit"):
        load_reranker(f"cohere:{url}#{MODEL}").score("whales eat krill", TEXTS)
    scores = load_reranker(f"cohere:{url}#{MODEL}:scale=logit").score("whales eat krill", TEXTS)
    np.testing.assert_allclose(scores, 1 / (1 + np.exp([4.0, -4.0, 4 / 3])), atol=1e-6)


def test_the_fingerprint_names_the_model_and_the_scale(url: str) -> None:
    first = load_reranker(f"cohere:{url}#{MODEL}")
    assert first.fingerprint == load_reranker(f"cohere:http://else/v1#{MODEL}").fingerprint
    logits = load_reranker(f"cohere:{url}#{MODEL}:scale=logit")
    assert first.fingerprint != logits.fingerprint


def test_an_answer_that_lacks_a_text_is_an_error(url: str, server: VectorServer) -> None:
    answer = b'{"results": [{"index": 0, "relevance_score": 0.5}]}'
    server.fault = lambda asked: Fault(garbage=("application/json", answer))
    with pytest.raises(ModelError, match="does not follow the protocol"):
        load_reranker(f"cohere:{url}#{MODEL}").score("whales", TEXTS)


def test_a_malformed_specification_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"cohere:http://127\.0\.0\.1/v1: names no model"):
        load_reranker("cohere:http://127.0.0.1/v1")
    with pytest.raises(UsageError, match="scale=odds: no such scale; known: probability, logit"):
        load_reranker("cohere:http://127.0.0.1/v1#small:scale=odds")


def test_a_search_is_reranked_by_a_server_and_goes_on_without_it(
    url: str, server: VectorServer, tmp_path: Path
) -> None:
    for n, text in enumerate(TEXTS):
        (tmp_path / f"{n}.md").write_text(text)
    away = url.replace("127.0.0.1", "0.0.0.0")
    settings = {"embedder": "hashed", "reranker": f"cohere:{away}#{MODEL}", "contexts": "none"}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(tmp_path)
        result = index.search("whales eat krill")
        assert result.hits[0].stages["rerank"].rank == 1
        assert Path(result.hits[0].uri).name == "1.md"
        n_bytes = sum(map(len, TEXTS))
        assert f"sending 1 query, 3 chunks ({n_bytes} bytes of text) to 0.0.0.0" in result.notes
        server.fault = lambda asked: Fault(401, message="no")
        result = index.search("whales sing")
        assert any(note.startswith("not reranked: cohere:") for note in result.notes)
        assert result.notes[0].startswith("sending 1 query, 2 chunks (")
        assert len(result.hits) == 3
