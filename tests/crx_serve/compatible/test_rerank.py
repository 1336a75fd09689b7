"""Reranking with the requests of Cohere, Jina and vLLM."""

from __future__ import annotations

import pytest
from served import Client

pytestmark = pytest.mark.parametrize("reranker", ["overlap"], indirect=True)

DOCUMENTS = ["Bake bread.", "Blue whales eat krill.", "Seals eat squid."]


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
def test_the_best_documents_come_first(path: str, client: Client) -> None:
    recorded = {"model": "overlap", "query": "whales eat", "documents": DOCUMENTS, "top_n": 2}
    results = client.post(path, recorded).json["results"]
    assert [each["index"] for each in results] == [1, 2]
    assert all(each.keys() == {"index", "relevance_score"} for each in results)
    assert 1 > results[0]["relevance_score"] > results[1]["relevance_score"] > 0


def test_documents_may_be_objects_and_be_returned(client: Client) -> None:
    recorded = {
        "model": "overlap",
        "query": "whales eat",
        "documents": [{"text": each} for each in DOCUMENTS],
        "return_documents": True,
        "max_chunks_per_doc": 10,
    }
    results = client.post("/v1/rerank", recorded).json["results"]
    assert [each["document"] for each in results] == [{"text": DOCUMENTS[at]} for at in (1, 2, 0)]


def test_no_documents_have_no_scores(client: Client) -> None:
    assert client.post("/v1/rerank", {"query": "a", "documents": []}).json["results"] == []


def test_another_model_is_not_guessed(client: Client) -> None:
    recorded = {"model": "rerank-v3.5", "query": "a", "documents": ["a"]}
    answer = client.post("/v1/rerank", recorded)
    assert answer.status == 404
    assert answer.json["error"]["message"] == (
        "rerank-v3.5: no such reranker here; there is overlap"
    )
