"""Embedders, contexts and answers of Ollama, with a local server that speaks its APIs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openai", exc_type=ImportError)

from ollama_server import OllamaServer, serving

import crx
from crx._cli import run
from crx.context_registry import load_contextualizer
from crx.errors import ModelError, Offline, Unavailable, UsageError
from crx.registry import load_embedder, load_generator
from crx_remote import ollama

DOWN = "127.0.0.1:9"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    service = OllamaServer()
    with serving(service) as url:
        monkeypatch.setenv("OLLAMA_HOST", url)
        yield service


def test_an_embedder_sends_its_prefixes(server: OllamaServer) -> None:
    embedder = load_embedder("ollama:nomic-embed-text")
    vectors = embedder.embed(["blue whales"])
    expected = server.vectors.embedder.embed(["search_document: blue whales"])
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert embedder.fingerprint.startswith("ollama:nomic-embed-text {")
    plain = load_embedder("ollama:nomic-embed-text:prefixes=none,dimensions=32")
    assert plain.embed(["krill"]).shape == (1, 32)


def test_an_answer_is_streamed(server: OllamaServer) -> None:
    server.chat.answer = lambda body: "Krill [1]."
    generator = load_generator("ollama:llama3.2:3b")
    assert "".join(generator.generate("what do whales eat?")) == "Krill [1]."
    assert server.chat.seen[0][0]["model"] == "llama3.2:3b"


@pytest.mark.usefixtures("accept_generic_contexts")
def test_contexts_are_asked_for_within_the_window_of_the_model(
    server: OllamaServer, tmp_path: Path
) -> None:
    text = "# Herons\n\n" + "The heron colony counted nests near the river bend.\n\n" * 800
    with crx.open(tmp_path / "notes.crx", settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("a", text)])
        index.contextualize("ollama:llama3.2:3b")
    longest = max(len(body["messages"][0]["content"]) for body, _ in server.chat.seen)
    assert longest / 3.5 < 4096 < len(text) / 3.5


def test_the_window_is_that_of_the_model_or_the_given_one(server: OllamaServer) -> None:
    server.parameters = 'stop "<|eot|>"\nnum_ctx                        16384'
    of_model = load_contextualizer("ollama:llama3.2:3b")
    assert "window=16384" in of_model.fingerprint
    given = load_contextualizer("ollama:llama3.2:3b:window=8192")
    assert "window=8192" in given.fingerprint


# What is refused


def test_a_wrong_name_lists_the_models_of_the_server(server: OllamaServer) -> None:
    message = r"no such model on http://.*; there: llama3\.2:3b, nomic-embed-text; get it with"
    for load in (load_embedder, load_generator, load_contextualizer):
        with pytest.raises(ModelError, match=message):
            load("ollama:llama3")


def test_a_model_for_another_purpose_is_refused(server: OllamaServer) -> None:
    with pytest.raises(ModelError, match="no embedder; it is for completion, tools"):
        load_embedder("ollama:llama3.2:3b")
    with pytest.raises(ModelError, match="no generator; it is for embedding"):
        load_generator("ollama:nomic-embed-text")
    server.capabilities["nomic-embed-text:latest"] = []
    load_generator("ollama:nomic-embed-text")


def test_another_server_is_refused(server: OllamaServer) -> None:
    server.html = True
    with pytest.raises(ModelError, match="is not Ollama; set OLLAMA_HOST"):
        load_generator("ollama:llama3.2:3b")


def test_an_address_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:abc")
    with pytest.raises(ModelError, match="is not Ollama; set OLLAMA_HOST"):
        load_generator("ollama:llama3.2:3b")


def test_a_server_that_is_down_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", DOWN)
    for load in (load_embedder, load_generator, load_contextualizer):
        with pytest.raises(Unavailable, match=r"be reached \(.*\); start it with ollama serve"):
            load("ollama:llama3.2:3b")


def test_offline_and_without_a_name_are_errors(
    server: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="names no model; write ollama:NAME"):
        load_generator("ollama:")
    with pytest.raises(ModelError, match="no such option"):
        load_embedder("ollama:nomic-embed-text:colour=red")
    monkeypatch.setenv("CRX_OFFLINE", "1")
    with pytest.raises(Offline, match=r"ollama:llama3\.2:3b: needs the network"):
        load_generator("ollama:llama3.2:3b")
    assert server.chat.seen == []


# Indexes and addresses


def test_an_index_is_searched_with_bm25_while_the_server_is_down(
    server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"embedder": "ollama:nomic-embed-text"}
    with crx.open(tmp_path / "notes.crx", settings=settings) as index:
        index.add_documents([crx.Document("a", "Blue whales eat krill.")])
        assert index.search("krill", legs=["dense"]).hits
    monkeypatch.setenv("OLLAMA_HOST", DOWN)
    with crx.open(tmp_path / "notes.crx") as index:
        result = index.search("krill")
    assert [hit.text for hit in result.hits] == ["Blue whales eat krill."]
    assert any("dense leg left out" in note for note in result.notes)


def test_the_command_asks_a_model_of_ollama(
    server: OllamaServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "notes.crx"
    with crx.open(place, settings={"embedder": "hashed"}) as index:
        index.add_documents([crx.Document("a", "Blue whales eat krill.")])
    server.chat.answer = lambda body: "Krill [1]."
    assert (
        run(["ask", "what do whales eat?", "--with", "ollama:llama3.2:3b", "--index", str(place)])
        == 0
    )
    assert "Krill" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":11435", "http://127.0.0.1:11435"),
        ("box.lan", "http://box.lan:11434"),
        ("https://box.lan", "https://box.lan"),
        ("http://box.lan:80/", "http://box.lan:80"),
        ("[::1]", "http://[::1]:11434"),
        ("[::]:11434", "http://127.0.0.1:11434"),
    ],
)
def test_the_host_is_read_in_the_forms_that_ollama_reads(host: str, url: str) -> None:
    assert ollama.server_url(host) == url
