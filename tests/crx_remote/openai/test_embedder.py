"""Vectors from a server with the embeddings API, with the real SDK and a local server."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openai", exc_type=ImportError)

from local_server import Fault
from numbered import RecordedSleep
from vector_server import MODEL, VectorServer, serving

import crx
from crx._services.service_usage import ServiceUsage
from crx.errors import Incompatible, ModelError, Offline, Unavailable, UsageError
from crx.protocols import BatchSized, Embedder, Metered, Remote
from crx.registry import load_embedder
from crx_remote.metering import parse_price
from crx_remote.openai.embedder import OpenAIEmbedder
from crx_remote.retry import RetryPolicy

Make = Callable[..., OpenAIEmbedder]


@pytest.fixture
def server() -> VectorServer:
    return VectorServer()


@pytest.fixture
def url(server: VectorServer) -> Iterator[str]:
    with serving(server) as address:
        yield f"{address}/v1"


@pytest.fixture
def sleep() -> RecordedSleep:
    return RecordedSleep()


@pytest.fixture
def make(url: str, sleep: RecordedSleep) -> Make:
    """Make an embedder of the local server that does not wait."""

    def made(model: str = MODEL, **options: Any) -> OpenAIEmbedder:
        return OpenAIEmbedder(f"{url}#{model}", retry_policy=RetryPolicy(sleep=sleep), **options)

    return made


def test_it_has_the_protocols_of_an_embedder_on_a_server(make: Make) -> None:
    embedder = make()
    assert isinstance(embedder, Embedder)
    assert isinstance(embedder, Remote)
    assert isinstance(embedder, Metered)
    assert isinstance(embedder, BatchSized)


def test_texts_are_sent_in_batches_and_their_unit_vectors_come_in_order(
    make: Make, server: VectorServer
) -> None:
    texts = [f"whale number {n}" for n in range(10)]
    vectors = make(batch=4).embed(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, server.embedder.embed(texts), atol=1e-6)
    sent = sorted(len(body["input"]) for _, body, _ in server.seen)
    # One request asks for the length of the vectors.
    assert sent == [1, 2, 4, 4]


def test_a_query_and_a_passage_get_the_prefixes_of_the_model(
    make: Make, server: VectorServer
) -> None:
    embedder = make(prefixes="e5", dimensions=32)
    embedder.embed(["krill"])
    embedder.embed(["krill"], query=True)
    bodies = [body for _, body, _ in server.seen]
    assert [body["input"] for body in bodies] == [["passage: krill"], ["query: krill"]]
    assert {body["dimensions"] for body in bodies} == {32}
    assert {body["encoding_format"] for body in bodies} == {"float"}


def test_the_fingerprint_names_the_model_and_what_changes_its_vectors(url: str) -> None:
    first = load_embedder(f"openai:{url}#{MODEL}:dimensions=64,width=2")
    other = load_embedder(f"openai:http://other.example/v1#{MODEL}:dimensions=64")
    assert first.fingerprint == other.fingerprint
    for option in ("dimensions=8", "dimensions=64,max_tokens=99", "dimensions=64,prefixes=e5"):
        assert load_embedder(f"openai:{url}#{MODEL}:{option}").fingerprint != first.fingerprint


def test_a_server_that_cannot_be_reached_is_an_error_when_the_model_is_loaded(url: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(ModelError, match=f"openai:http://127.0.0.1:{port}/v1: cannot be reach"):
            _ = OpenAIEmbedder(
                f"http://127.0.0.1:{port}/v1#{MODEL}",
                retry_policy=RetryPolicy(sleep=RecordedSleep()),
            ).dimensions


def test_a_request_that_fails_is_sent_again_and_tokens_are_counted_once(
    make: Make, server: VectorServer, sleep: RecordedSleep
) -> None:
    server.fault = lambda asked: Fault(429, {"retry-after": "7"}) if asked == 1 else None
    embedder = make(dimensions=64, price=parse_price("1/0"))
    embedder.embed(["blue whales eat krill"])
    assert sleep.waits_s == [7.0]
    assert embedder.usage == ServiceUsage(requests=1, input=9, dollars=9 / 1_000_000)


def test_a_query_is_retried_only_once(
    make: Make, server: VectorServer, sleep: RecordedSleep
) -> None:
    server.fault = lambda asked: Fault(503, message="busy")
    with pytest.raises(ModelError, match="503: busy"):
        make(dimensions=64).embed(["krill"], query=True)
    assert len(sleep.waits_s) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(401, message="no"), "refuses the key .* check CRX_OPENAI_API_KEY"),
        (Fault(400, message="input is too long"), "400: input is too long"),
        (Fault(garbage=("application/json", b'{"data": [{"index": 5}]}')), "does not follow"),
        (Fault(cut=True), "broke off|does not follow"),
    ],
)
def test_a_failure_is_one_line_that_says_why(
    fault: Fault, message: str, make: Make, server: VectorServer
) -> None:
    server.fault = lambda asked: fault
    with pytest.raises(ModelError, match=message):
        make(dimensions=64).embed(["krill"])


def test_another_length_of_vectors_is_an_error(make: Make) -> None:
    embedder = make()
    embedder.embed(["krill"])
    embedder._dimensions = 65
    with pytest.raises(ModelError, match="vectors of 64 numbers, not 65"):
        embedder.embed(["krill"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("openai:127.0.0.1:8080#small", "not an address"),
        ("openai:http://127.0.0.1:8080/v1", "names no model"),
        ("openai:http://127.0.0.1/v1#small:prefixes=bge", "no such prefixes; known: none, e5"),
        ("openai:http://127.0.0.1/v1#small:batch=0", "batch=0: too small"),
    ],
)
def test_a_malformed_specification_is_a_usage_error(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_embedder(spec)


def test_without_a_network_it_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with pytest.raises(Offline):
        load_embedder(f"openai:{url}#{MODEL}")


def test_an_index_is_made_and_searched_with_vectors_of_a_server(
    url: str, server: VectorServer, tmp_path: Path
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(40):
        (docs / f"{n}.md").write_text(f"# Whale {n}\n\nWhale number {n} eats krill.\n")
    settings = {"embedder": f"openai:{url}#{MODEL}"}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        assert index.add(docs).embedded == 40
        # One request for the length of the vectors, and two batches at a time.
        assert len(server.seen) == 3
        (hit, *_) = index.search("whale number 7", legs=["dense"]).hits
        assert Path(hit.uri).name == "7.md"
    other = {"embedder": f"openai:{url}#{MODEL}:prefixes=e5"}
    with pytest.raises(Incompatible), crx.open(tmp_path / "notes.crx", settings=other) as index:
        index.search("krill")


@pytest.mark.parametrize("before", [(), ("seals",)])
def test_a_search_without_the_server_is_by_bm25_and_says_so(
    before: tuple[str, ...], url: str, server: VectorServer, tmp_path: Path
) -> None:
    place = tmp_path / "notes.crx"
    whale = crx.Document("mem:1", "Whales eat krill.")
    with crx.open(place, settings={"embedder": f"openai:{url}#{MODEL}"}) as made:
        made.add_documents([whale, crx.Document("mem:2", "Seals eat squid.")])
    with crx.open(place) as index:
        for query in before:
            assert "dense" in index.search(query).hits[0].stages
        server.fault = lambda asked: Fault(503, message="busy")
        result = index.search("whales")
        assert [set(hit.stages) for hit in result.hits] == [{"bm25"}]
        (note,) = [each for each in result.notes if each.startswith("dense leg left out: openai:")]
        assert "503: busy" in note
        with pytest.raises(Unavailable, match="503: busy"):
            index.search("whales", legs=["dense"])
        server.fault = lambda asked: None
        assert "dense" in index.search("whales").hits[0].stages


def test_a_refused_key_is_an_error_of_a_search(
    url: str, server: VectorServer, tmp_path: Path
) -> None:
    settings = {"embedder": f"openai:{url}#{MODEL}"}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add_documents([crx.Document("mem:1", "Whales eat krill.")])
        server.fault = lambda asked: Fault(401, message="no")
        with pytest.raises(ModelError, match="refuses the key"):
            index.search("seals")


def test_documents_are_not_added_without_the_server(
    url: str, server: VectorServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crx_remote.openai.embedder.RetryPolicy", lambda: RetryPolicy((), sleep))
    sleep = RecordedSleep()
    place = tmp_path / "notes.crx"
    with crx.open(place, settings={"embedder": f"openai:{url}#{MODEL}"}) as index:
        index.add_documents([crx.Document("mem:1", "Whales eat krill.")])
        server.fault = lambda asked: Fault(503, message="busy")
        with pytest.raises(ModelError, match="503: busy"):
            index.add_documents([crx.Document("mem:2", "Seals eat squid.")])


def test_texts_for_another_machine_are_announced(
    url: str, server: VectorServer, tmp_path: Path
) -> None:
    away = url.replace("127.0.0.1", "0.0.0.0")
    (tmp_path / "whales.md").write_text("Blue whales eat krill.\n")
    told: list[tuple[str, int]] = []
    settings = {"embedder": f"openai:{away}#{MODEL}:dimensions=64", "contexts": "none"}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add(tmp_path / "whales.md", on_notice=lambda line: told.append((line, server.asked)))
        assert told == [("sending 1 chunk (23 bytes of text) to 0.0.0.0", 0)]
        notes = index.search("krill").notes
        assert "sending 1 query (5 bytes of text) to 0.0.0.0" in notes
        # Its vector is in the cache now, and nothing is sent.
        assert index.search("krill").notes == ()
        assert index.search("krill", legs=["bm25"]).notes == ()
