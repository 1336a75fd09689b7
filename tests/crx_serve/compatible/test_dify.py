"""Dify's external knowledge API, with the requests that Dify sends."""

from __future__ import annotations

from typing import Any

import pytest
from served import Client

# As in Dify's documentation of its external knowledge API.
RECORDED = {
    "knowledge_id": "notes",
    "query": "what do whales eat",
    "retrieval_setting": {"top_k": 2, "score_threshold": 0.5},
}


def test_records_have_content_score_title_and_metadata(client: Client) -> None:
    answer = client.post("/retrieval", RECORDED)
    assert answer.status == 200
    first, *rest = answer.json["records"]
    assert (first["content"], first["title"], first["score"]) == (
        "Blue whales eat krill.",
        "Whales",
        1.0,
    )
    assert first["metadata"]["uri"] == "mem:whales"
    assert len(rest) <= 1
    assert all(0 <= each["score"] <= 1 and each["metadata"] for each in answer.json["records"])


def condition(name: str, operator: str, value: object) -> dict[str, Any]:
    conditions = [{"name": [name], "comparison_operator": operator, "value": value}]
    return {
        **RECORDED,
        "query": "whales seals bread eat",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        "metadata_condition": {"logical_operator": "and", "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("name", "operator", "value", "found"),
    [
        ("title", "is", "Whales", {"mem:whales"}),
        ("title", "is not", "Whales", {"mem:seals", "mem:bread"}),
        ("title", "contains", "eal", {"mem:seals"}),
        ("title", "start with", "Wh", {"mem:whales"}),
        ("title", "end with", "als", {"mem:seals"}),
        ("title", "in", "Whales, Seals", {"mem:whales", "mem:seals"}),
        ("year", "≥", 2020, {"mem:whales", "mem:bread"}),
        ("year", "before", 2000, {"mem:seals"}),
        ("title", "contains", "*", set()),
    ],
)
def test_conditions_on_metadata_filter_the_documents(
    name: str, operator: str, value: object, found: set[str], client: Client
) -> None:
    records = client.post("/retrieval", condition(name, operator, value)).json["records"]
    assert {each["metadata"]["uri"] for each in records} == found


def test_nothing_found_is_an_empty_list(client: Client) -> None:
    assert client.post("/retrieval", condition("title", "is", "?")).json == {"records": []}


def test_what_cannot_be_translated_is_refused(client: Client) -> None:
    answer = client.post("/retrieval", condition("title", "not contains", "a"))
    assert (answer.status, "not contains" in answer.json["error"]["message"]) == (400, True)
    unknown = client.post("/retrieval", {**RECORDED, "knowledge_id": "other"})
    assert (unknown.status, unknown.json["error"]["type"]) == (404, "NotFound")


def test_a_threshold_without_a_reranker_is_ignored_with_a_warning(
    client: Client, warnings: list[str]
) -> None:
    setting = {"top_k": 5, "score_threshold": 0.99}
    answer = client.post("/retrieval", {**RECORDED, "retrieval_setting": setting})
    assert len(answer.json["records"]) == 3
    assert "score_threshold is ignored" in warnings[0]


@pytest.mark.parametrize("reranker", ["overlap"], indirect=True)
def test_a_threshold_is_that_of_the_reranker(client: Client, warnings: list[str]) -> None:
    setting = {"top_k": 5, "score_threshold": 0.4}
    records = client.post("/retrieval", {**RECORDED, "retrieval_setting": setting}).json["records"]
    assert [each["metadata"]["uri"] for each in records] == ["mem:whales"]
    assert 0.4 <= records[0]["score"] < 1
    assert warnings == []


def test_without_the_token_nothing_is_answered(client: Client) -> None:
    assert client.post("/retrieval", RECORDED, Authorization="Bearer wrong").status == 401
