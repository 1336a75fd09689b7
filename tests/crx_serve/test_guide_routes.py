"""The requests of the guide are answered by a server, and they are all its routes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.app import create_app
from crx_serve.compatible.table import COMPATIBLE
from crx_serve.operations import OWN
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs/guides/server.md").read_text(encoding="utf-8")
TEXT = "# Contract\n\nThe supplier delivers the goods. Either party may end the agreement.\n"
COMMANDS = re.findall(r"^curl localhost:8000(\S+)(.*)$", GUIDE, re.MULTILINE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Client, str]]:
    """A client of an index called NAME, and the id of its only document."""
    with crx.open(tmp_path / "notes.crx", settings=SETTINGS) as index:
        index.add_documents([crx.Document("mem:contract", TEXT, "Contract", lang="en")])
    settings = {**SETTINGS, "reranker": "overlap"}
    service = SearchService([ServedIndex("NAME", tmp_path / "notes.crx", settings=settings)])
    with serving_app(create_app(service)) as client:
        yield client, client.get("/v1/documents").json["documents"][0]["id"]
    service.close()


@pytest.mark.parametrize(("path", "options"), COMMANDS, ids=[path for path, _ in COMMANDS])
def test_a_request_of_the_guide_is_answered(
    path: str, options: str, server: tuple[Client, str]
) -> None:
    client, document = server
    words = shlex.split(options, comments=True)
    path = path.replace("ID", document)
    if "-d" in words:
        body = words[words.index("-d") + 1].replace('"crx"', '"overlap"')
        headers = {"Content-Type": "application/json"}
        answer = client.send("POST", path, body=body.encode(), headers=headers)
    else:
        answer = client.get(path)
    assert answer.status == 200, answer.body
    assert re.search(rb"goods|agreement|ontract|ready|loading|crx|embedding|score", answer.body)


def test_the_guide_has_a_request_for_each_route() -> None:
    shown = {re.sub("ID$", "{id}", path).replace("NAME", "{id}") for path, _ in COMMANDS}
    shown = {path.partition("?")[0] for path in shown}
    routes = {each.path for each in (*OWN, *COMPATIBLE)} - {"/v2/rerank"}
    assert shown == routes | {"/v1/ask", "/health", "/metrics", "/openapi.json"}
