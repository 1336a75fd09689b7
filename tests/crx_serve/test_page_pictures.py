"""Pages of PDFs over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from pdfs import pdf
from served import SETTINGS, Client, serving_app

import crx
from crx_serve.app import create_app
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    file = tmp_path / "docs" / "paper.pdf"
    file.parent.mkdir()
    file.write_bytes(pdf([["Whales eat krill."], ["Bread needs salt."]]))
    (file.parent / "notes.md").write_text("# Notes\n")
    with ZipFile(file.parent / "packed.zip", "w") as archive:
        archive.writestr("inner.pdf", pdf([["Crabs dig."]]))
    return file


@pytest.fixture
def client(paper: Path, tmp_path: Path) -> Iterator[Client]:
    folder = tmp_path / "own.crx"
    with crx.open(folder, settings=SETTINGS) as index:
        index.add(paper.parent)
    service = SearchService([ServedIndex("own", folder, settings=SETTINGS)])
    with serving_app(create_app(service)) as made:
        yield made
    service.close()


def id_of(client: Client, name: str) -> str:
    (document,) = client.get(f"/v1/documents?contains={name}").json["documents"]
    return str(document["id"])


def test_the_page_of_a_passage_is_a_picture(client: Client) -> None:
    (passage,) = client.post("/v1/search", {"query": "salt", "limit": 1}).json["passages"]
    span = f"start={passage['start']}&end={passage['end']}&page={passage['pages'][1]}"
    answer = client.get(f"/v1/documents/{passage['id']}/page?{span}&width=200")
    assert answer.status == 200
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-crx-page-number"] == "2"
    assert answer.headers["x-crx-pages"] == "2"


def test_without_a_page_it_is_that_of_the_start(client: Client) -> None:
    paper = id_of(client, "paper")
    assert client.get(f"/v1/documents/{paper}/page?start=19").headers["x-crx-page"] == "2"
    assert client.get(f"/v1/documents/{paper}/page").headers["x-crx-page"] == "1"


@pytest.mark.parametrize(
    ("query", "status", "fact"),
    [
        ("page=9", 422, "has no page 9"),
        ("width=90000", 422, "$.width"),
        ("pages=1", 422, "unknown field"),
    ],
)
def test_a_bad_request_names_the_fault(query: str, status: int, fact: str, client: Client) -> None:
    answer = client.get(f"/v1/documents/{id_of(client, 'paper')}/page?{query}")
    assert answer.status == status
    assert fact in answer.json["error"]["message"]


def test_only_pages_of_pdfs_are_drawn(client: Client) -> None:
    answer = client.get(f"/v1/documents/{id_of(client, 'notes')}/page")
    assert (answer.status, answer.json["error"]["type"]) == (422, "InputError")


def test_pages_of_pdfs_in_an_archive_are_not_drawn(client: Client) -> None:
    answer = client.get(f"/v1/documents/{id_of(client, 'inner')}/page")
    assert (answer.status, answer.json["error"]["type"]) == (422, "InputError")
    assert answer.json["error"]["message"].endswith("pages of PDFs in an archive are not drawn")


def test_a_file_that_has_changed_is_not_drawn(client: Client, paper: Path) -> None:
    document = id_of(client, "paper")
    paper.write_bytes(pdf([["A secret of another file."], ["Bread needs salt."]]))
    assert client.get(f"/v1/documents/{document}/page").status == 404
    paper.unlink()
    assert client.get(f"/v1/documents/{document}/page").status == 404


def test_a_link_or_a_pipe_under_the_name_is_not_read(client: Client, paper: Path) -> None:
    document = id_of(client, "paper")
    moved = paper.rename(paper.parent / "moved.pdf")
    paper.symlink_to(moved)
    assert client.get(f"/v1/documents/{document}/page").status == 404
    paper.unlink()
    os.mkfifo(paper)
    assert client.get(f"/v1/documents/{document}/page").status == 404


def test_the_route_is_described(client: Client) -> None:
    described = client.get("/openapi.json").json["paths"]["/v1/documents/{id}/page"]["get"]
    names = [each["name"] for each in described["parameters"]]
    assert names == ["id", "page", "start", "end", "width"]
    assert "image/png" in described["responses"]["200"]["content"]
