"""Ollama on 127.0.0.1, for tests: its own API for what it has, and those of OpenAI."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from chat_server import ChatServer, completion_pieces
from local_server import JsonHandler, serving_with
from vector_server import VectorServer

EMBEDDER, GENERATOR = "nomic-embed-text:latest", "llama3.2:3b"


class OllamaServer:
    """The state that a test sets and reads: the models, and what each can do."""

    def __init__(self) -> None:
        self.capabilities: dict[str, list[str]] = {
            EMBEDDER: ["embedding"],
            GENERATOR: ["completion", "tools"],
        }
        self.parameters = ""
        self.html = False
        self.vectors = VectorServer()
        self.chat = ChatServer()

    def show(self, name: str) -> dict[str, Any]:
        return {
            "capabilities": self.capabilities[name],
            "parameters": self.parameters,
            "license": "\n   Apache License\n   Version 2.0, January 2004\n",
        }

    def find(self, name: str) -> str | None:
        """Return the full name of a model, which has the tag "latest" if none is given."""
        names = (name, f"{name}:latest")
        return next((each for each in names if each in self.capabilities), None)


class _Handler(JsonHandler[OllamaServer]):
    def do_GET(self) -> None:  # noqa: N802 - the name is http.server's
        if self.service.html:
            return self.send_bytes(200, b"<html>a printer</html>", "text/html")
        if self.path != "/api/tags":
            return self.send(404, {"error": "no such path"})
        models = [{"name": each, "size": 274302450} for each in self.service.capabilities]
        return self.send(200, {"models": models})

    def do_POST(self) -> None:  # noqa: N802 - the name is http.server's
        body = self.body()
        name = self.service.find(body["model"])
        if name is None:
            return self.send(404, {"error": f"model {body['model']!r} not found"})
        if self.path == "/api/show":
            return self.send(200, self.service.show(name))
        if self.path == "/v1/embeddings":
            self.service.vectors.begin(self.path, body, "")
            return self.send(200, self.service.vectors.embed(body))
        completion = self.service.chat.respond(body, {})
        if body.get("stream"):
            return self.send_events(completion_pieces(completion))
        return self.send(200, completion)


def serving(service: OllamaServer) -> AbstractContextManager[str]:
    """Serve on a free port of 127.0.0.1; yield the address."""
    return serving_with(_Handler, service)
