"""A server of one index whose searches are reranked by word overlap, behind its guard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.access import make_policy
from crx_serve.app import create_app
from crx_serve.guard import Guard
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

TOKEN = "0123456789abcdef0123456789abcdef"
DOCUMENTS = (
    crx.Document("mem:whales", "Blue whales eat krill.", "Whales", metadata={"year": 2020}),
    crx.Document("mem:seals", "Seals eat squid and fish.", "Seals", metadata={"year": 1999}),
    crx.Document("mem:bread", "Bake bread at 240 degrees.", metadata={"year": 2021}),
)


@pytest.fixture
def warnings() -> list[str]:
    """What the service had to warn of."""
    return []


@pytest.fixture(params=[""])
def reranker(request: pytest.FixtureRequest) -> str:
    """The setting `reranker`."""
    return str(request.param)


@pytest.fixture
def client(tmp_path: Path, reranker: str, warnings: list[str]) -> Iterator[Client]:
    """A client that sends the token."""
    place = tmp_path / "notes.crx"
    settings = {**SETTINGS, "reranker": reranker}
    with crx.open(place, settings=settings) as index:
        index.add_documents(DOCUMENTS)
    served = ServedIndex("notes", place, settings=settings)
    service = SearchService([served], on_warning=warnings.append)
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    with serving_app(Guard(create_app(service), policy=policy, metrics=service.metrics)) as made:
        yield Client(made.port, TOKEN)
    service.close()
