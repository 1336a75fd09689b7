"""Open WebUI's external web search and reranker, with the requests that it sends."""

from __future__ import annotations

from served import Client


def test_a_search_is_a_bare_list_of_links(client: Client) -> None:
    recorded = {"query": "what do whales eat", "count": 2}
    agent = "Open WebUI (https://github.com/open-webui/open-webui) RAG Bot"
    results = client.post("/open-webui/search", recorded, User_Agent=agent).json
    assert results[0] == {
        "link": "mem:whales",
        "title": "Whales",
        "snippet": "Blue whales eat krill.",
    }
    assert len(results) == 2


def test_scores_can_be_put_into_the_order_of_the_documents(client: Client) -> None:
    documents = ["Bake bread.", "Blue whales eat krill.", "Seals eat squid."]
    recorded = {
        "model": "crx",
        "query": "what do whales eat",
        "documents": documents,
        "top_n": len(documents),
    }
    answer = client.post("/v1/rerank", recorded).json
    # As Open WebUI reads it: every document has a score.
    in_order = sorted(answer["results"], key=lambda each: each["index"])
    scores = [each["relevance_score"] for each in in_order]
    assert [each["index"] for each in in_order] == [0, 1, 2]
    assert max(scores) == scores[1]
