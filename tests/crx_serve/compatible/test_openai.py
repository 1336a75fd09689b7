"""Vector stores and embeddings, by OpenAI's own client."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import numpy as np
import pytest
from served import Client

from crx._backends.hashed import load_embedder

openai = pytest.importorskip("openai")


@pytest.fixture
def service(client: Client) -> Iterator[openai.OpenAI]:  # type: ignore[name-defined]
    """OpenAI's client of the server."""
    with openai.OpenAI(base_url=f"{client.url}/v1", api_key=client.token, max_retries=0) as made:
        yield made


def test_an_index_is_searched_as_a_vector_store(
    service: openai.OpenAI,  # type: ignore[name-defined]
) -> None:
    page = service.vector_stores.search("notes", query="what do whales eat", max_num_results=2)
    first = page.data[0]
    assert (first.filename, first.score, first.content[0].text) == (
        "mem:whales",
        1.0,
        "Blue whales eat krill.",
    )
    assert first.file_id.startswith("notes-")
    assert first.attributes["uri"] == "mem:whales"
    assert len(page.data) == 2
    assert not page.has_next_page()


def test_filters_and_several_queries_are_understood(
    service: openai.OpenAI,  # type: ignore[name-defined]
) -> None:
    old = {"type": "and", "filters": [{"type": "lt", "key": "year", "value": 2021}]}
    page = service.vector_stores.search("notes", query=["whales", "seals"], filters=old)
    assert {each.filename for each in page.data} == {"mem:whales", "mem:seals"}
    with pytest.raises(openai.BadRequestError, match='no type "or" here'):
        service.vector_stores.search("notes", query="a", filters={"type": "or", "filters": []})
    with pytest.raises(openai.NotFoundError, match="no such index here; there is notes"):
        service.vector_stores.search("other", query="a")


def test_embeddings_are_those_of_the_embedder(
    service: openai.OpenAI,  # type: ignore[name-defined]
) -> None:
    made = service.embeddings.create(model="hashed", input=["whales", "bread"])
    expected = load_embedder("").embed(["whales", "bread"])
    assert np.allclose([each.embedding for each in made.data], expected)
    assert [each.index for each in made.data] == [0, 1]
    assert made.usage.prompt_tokens == 2


def test_embeddings_come_as_numbers_or_base64(client: Client) -> None:
    recorded = {"input": "whales", "model": "notes"}
    numbers = client.post("/v1/embeddings", recorded).json
    packed = client.post("/v1/embeddings", {**recorded, "encoding_format": "base64"}).json
    decoded = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), "<f4")
    assert np.array_equal(decoded, np.array(numbers["data"][0]["embedding"], np.float32))
    assert (numbers["object"], numbers["data"][0]["object"]) == ("list", "embedding")


@pytest.mark.parametrize(
    ("change", "status", "fact"),
    [
        ({"model": "text-embedding-3-small"}, 404, "there is hashed, notes"),
        ({"input": ""}, 400, "a text is empty"),
        ({"input": [[1, 2]]}, 422, "$.input"),
        ({"dimensions": 3}, 400, "dimensions: hashed has"),
    ],
)
def test_what_cannot_be_embedded_is_refused(
    change: dict[str, object], status: int, fact: str, client: Client
) -> None:
    answer = client.post("/v1/embeddings", {"input": "whales", "model": "hashed", **change})
    assert (answer.status, fact in answer.json["error"]["message"]) == (status, True)
