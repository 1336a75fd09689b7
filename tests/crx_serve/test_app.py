"""The routes over HTTP."""

from __future__ import annotations

import msgspec
import pytest
from served import Client

from crx_serve.requests import SearchQuery
from crx_serve.service import SearchService


def test_a_search_over_http_is_that_of_the_service(client: Client, service: SearchService) -> None:
    answer = client.post("/v1/search", {"query": "what do whales eat", "index": "sea"})
    found = service.search(SearchQuery(query="what do whales eat", index="sea"))
    expected = msgspec.json.decode(msgspec.json.encode(found))
    assert answer.status == 200
    assert {**answer.json, "timings_ms": {}} == {**expected, "timings_ms": {}}


def test_a_pattern_and_excluded_words_are_searched_over_http(client: Client) -> None:
    def count(query: str, **body: object) -> int:
        return len(client.post("/v1/search", {"query": query, **body}).json["passages"])

    assert count("re:^# Wh.les$") == 1
    assert count("^# Wh.les$", match="regex") == 1
    assert count("^# Wh.les$", match="literal") == 0
    assert count("whales -krill", index="sea") == 0


def test_files_are_listed_once_with_their_best_lines(client: Client) -> None:
    answer = client.post("/v1/search", {"query": "krill bread", "by": "file"}).json
    assert answer["passages"] == []
    files = {each["title"]: each for each in answer["files"]}
    assert set(files) == {"Whales", "Bread"}
    (line,) = [each for each in files["Whales"]["lines"] if "krill" in each["text"]]
    assert line == {"number": 3, "text": "Blue whales eat krill."}
    one = client.post("/v1/search", {"query": "krill bread", "by": "file", "limit": 1}).json
    assert len(one["files"]) == 1


def test_a_document_is_read_by_its_lines(client: Client) -> None:
    document = client.get("/v1/documents").json["documents"][0]
    assert client.get(f"/v1/documents/{document['id']}?lines=3").json["text"] == (
        "Blue whales eat krill.\n"
    )
    refused = client.get(f"/v1/documents/{document['id']}?lines=99")
    assert (refused.status, "lines 1 to 7" in refused.body.decode()) == (400, True)


def test_documents_are_listed_and_read(client: Client) -> None:
    (document, _) = client.get("/v1/documents").json["documents"]
    whole = client.get(f"/v1/documents/{document['id']}").json
    assert whole["text"].startswith("# Whales")
    assert client.get(f"/v1/documents/{document['id']}?start=2&end=8").json["text"] == "Whales"


def test_an_answer_is_a_stream_of_events(client: Client) -> None:
    answer = client.post("/v1/ask", {"question": "what do whales eat", "index": "sea"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in answer.events]
    assert set(names) == {"delta", "citation", "done"}
    assert names[-1] == "done"
    text = "".join(data["text"] for name, data in answer.events if name == "delta")
    assert answer.events[-1][1]["text"] == text


def test_the_state_of_server_and_indexes_is_reported(client: Client) -> None:
    assert client.get("/health").json == {"status": "loading models"}
    status = client.get("/v1/status").json
    assert [each["name"] for each in status["indexes"]] == ["sea", "kitchen"]
    assert status["indexes"][0]["counts"]["documents"] == 1


@pytest.mark.parametrize(
    ("body", "status", "fact"),
    [
        (b"{", 400, "not valid JSON"),
        (b'{"query": "a", "limits": 3}', 422, "unknown field `limits`"),
        (b'{"query": 3}', 422, "Expected `str`, got `int` - at `$.query`"),
        (b'{"query": " "}', 400, "the query is empty"),
        (b'{"query": "re:("}', 400, "unclosed group"),
        (b'{"query": "a", "match": "glob"}', 422, "Invalid enum value"),
        (b'{"query": "a", "k": 0}', 422, "$.k"),
        (b'{"query": "a", "index": "land"}', 404, "land: no such index here; there is sea, kitch"),
        (b'{"query": "a", "where": {"year": {"~": 3}}}', 400, "~"),
        (b'{"query": "\xff"}', 400, "the body is not valid UTF-8"),
    ],
)
def test_a_bad_request_is_one_line_that_names_the_fault(
    body: bytes, status: int, fact: str, client: Client
) -> None:
    answer = client.send(
        "POST", "/v1/search", body=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status == status
    assert fact in answer.json["error"]["message"]
    assert "\n" not in answer.json["error"]["message"]


def test_an_unknown_path_and_method_are_failures_in_json(client: Client) -> None:
    assert client.get("/v2").json["error"]["message"] == (
        "/v2: no such path; /openapi.json lists them"
    )
    assert client.get("/v1/search").status == 405


def test_an_id_that_no_document_has_is_not_found(client: Client) -> None:
    for unknown in ("zzz", "sea-999-00000000"):
        for path in (f"/v1/documents/{unknown}", f"/v1/documents/{unknown}/page"):
            assert client.get(path).status == 404


def test_the_description_names_every_route_and_field(client: Client) -> None:
    described = client.get("/openapi.json").json
    own = {"/v1/search", "/v1/ask", "/v1/documents", "/v1/documents/{id}", "/v1/status"}
    assert own | {"/v1/documents/{id}/page", "/health", "/metrics"} <= set(described["paths"])
    search = described["components"]["schemas"]["SearchQuery"]
    assert search["additionalProperties"] is False
    assert set(search["properties"]) == set(SearchQuery.__struct_fields__)
