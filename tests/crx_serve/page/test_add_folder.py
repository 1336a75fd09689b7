"""Folders that are added from the page: with the token, below what is allowed, never otherwise."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from served import SETTINGS, TOKEN, Answered, Client, serving_app

import crx
from crx._index.handle import Index
from crx.errors import Busy, Locked, NotFound, UsageError
from crx.ingest.report import Report
from crx_serve import added_folders
from crx_serve.access import make_policy
from crx_serve.added_folders import AddedFolder, FolderAdder
from crx_serve.app import create_app
from crx_serve.commands.serve import command
from crx_serve.guard import Guard
from crx_serve.page.add_folder import add_folder_extension
from crx_serve.page.routes import page_extension
from crx_serve.page.state import render_state
from crx_serve.requests import SearchQuery
from crx_serve.responses import ServiceStatus
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder below which folders may be added, with one, and with a link out of it."""
    shelf = tmp_path / "shelf"
    (shelf / "new").mkdir(parents=True)
    (shelf / "new" / "narwhal.md").write_text("# Narwhal\n\nA narwhal has one tusk.\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.md").write_text("the key\n")
    (shelf / "link").symlink_to(tmp_path / "secret")
    return shelf


@pytest.fixture
def adder(tmp_path: Path, shelf: Path) -> Iterator[FolderAdder]:
    """What adds folders to an index of one document."""
    (tmp_path / "whales.md").write_text("# Whales\n\nBlue whales eat krill.\n")
    with crx.open(tmp_path / "sea.crx", settings=SETTINGS) as index:
        index.add(tmp_path / "whales.md")
    service = SearchService([ServedIndex("sea", tmp_path / "sea.crx", settings=SETTINGS)])
    made = FolderAdder(service, allowed=[shelf])
    yield made
    made.close()
    service.close()


@pytest.fixture
def client(adder: FolderAdder) -> Iterator[Client]:
    """A client with the token of a server that lets the page add folders."""
    service = adder.service
    policy = make_policy(host="127.0.0.1", token=TOKEN)
    extensions = [
        page_extension(service, adder=adder),
        add_folder_extension(adder, policy=policy),
    ]
    app = Guard(create_app(service, extensions=extensions), policy=policy, metrics=service.metrics)
    with serving_app(app) as made:
        yield Client(made.port, token=TOKEN)


def send(client: Client, folder: object, token: str = TOKEN, **headers: str) -> Answered:
    body = urlencode({"folder": str(folder), "token": token}).encode()
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    return client.send("POST", "/folders", body=body, headers=form)


def wait(adder: FolderAdder) -> AddedFolder:
    until = time.monotonic() + 60
    while adder.last is None or adder.last.is_running:
        assert time.monotonic() < until
        time.sleep(0.02)
    return adder.last


def test_a_folder_is_added_with_the_token_and_found(
    client: Client, adder: FolderAdder, shelf: Path
) -> None:
    assert '<a href="/folders">Add a folder</a>' in client.get("/").body.decode()
    answer = send(client, shelf / "new")
    assert (answer.status, answer.headers["location"]) == (303, "/folders")
    assert wait(adder).problem == ""
    assert "is in sea: 1 file added." in client.get("/folders").body.decode()
    assert b"narwhal.md" in client.get("/?q=narwhal+tusk").body


def test_a_session_without_the_token_in_the_form_adds_nothing(
    client: Client, adder: FolderAdder, shelf: Path
) -> None:
    for token in ("", "wrong", f"{TOKEN}0"):
        answer = send(client, shelf / "new", token)
        assert answer.status == 401
        assert b"That is not the token." in answer.body
    assert adder.last is None


def test_only_a_folder_below_what_is_allowed_is_added(
    client: Client, adder: FolderAdder, shelf: Path, tmp_path: Path
) -> None:
    outside = (
        tmp_path / "secret", shelf / ".." / "secret", shelf / "link", "/etc", "/", "", "new", "~",
        shelf / "missing", shelf / "new" / "narwhal.md", f"{shelf}-2", f"{shelf}/new\0",
    )  # fmt: skip
    for folder in outside:
        answer = send(client, folder)
        assert answer.status == 400, folder
        assert b"no folder below" in answer.body
    assert adder.last is None


def test_a_form_of_another_site_adds_nothing(
    client: Client, adder: FolderAdder, shelf: Path
) -> None:
    assert send(client, shelf / "new", Origin="http://evil.example").status == 403
    assert send(client, shelf / "new", Sec_Fetch_Site="cross-site").status == 403
    plain = {"Content-Type": "text/plain"}
    assert client.send("POST", "/folders", body=b"folder=x", headers=plain).status == 415
    assert adder.last is None


def test_one_folder_is_added_at_a_time_and_an_unknown_index_is_refused(
    adder: FolderAdder, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFound, match="no such index"):
        adder.add(str(shelf / "new"), index="x")
    adder.add(str(shelf / "new"))
    monkeypatch.setattr(type(adder), "is_running", property(lambda self: True))
    with pytest.raises(Busy, match="another folder is being added"):
        adder.add(str(shelf / "new"))
    assert wait(adder).folder == str(shelf / "new")


def test_a_server_adds_no_folders_unless_it_is_told_to(
    adder: FolderAdder, shelf: Path, tmp_path: Path
) -> None:
    app = create_app(adder.service, extensions=[page_extension(adder.service)])
    with serving_app(app) as client:
        assert client.get("/folders").status == 404
        assert b"Add a folder" not in client.get("/").body
    with pytest.raises(UsageError, match="no such folder"):
        FolderAdder(adder.service, allowed=[shelf / "missing"])
    options = ["--index", str(tmp_path / "sea.crx"), "--allow-add", str(shelf)]
    refused = CliRunner(env={"CRX_TOKEN": ""}).invoke(command, options)
    assert isinstance(refused.exception, UsageError)
    assert "--allow-add wants a token" in str(refused.exception)


def test_the_state_shows_how_far_a_folder_is_and_why_it_was_not_added() -> None:
    status = ServiceStatus(version="1", ready=True, generator="", indexes=())
    added = AddedFolder(index="sea", folder="/<b>", files_read=2, files_found=8)
    html = render_state(status, added=added)
    assert "data-busy" in html
    assert "/&lt;b&gt; is read: 2 of 8 files" in html
    assert '<progress max="8" value="2"' in html
    failed = AddedFolder(index="sea", folder="/x", is_running=False, problem="the disk is full")
    assert "/x was not added: the disk is full" in render_state(status, added=failed)


def test_the_form_says_what_was_not_read(client: Client, adder: FolderAdder, shelf: Path) -> None:
    (shelf / "new" / "broken.pdf").write_bytes(b"%PDF-1.7 broken")
    send(client, shelf / "new")
    assert wait(adder).problem == ""
    assert "is in sea: 1 file added, 1 not read." in client.get("/folders").body.decode()
    (shelf / "bad").mkdir()
    (shelf / "bad" / "broken.pdf").write_bytes(b"%PDF-1.7 also broken")
    send(client, shelf / "bad")
    wait(adder)
    shown = client.get("/folders").body.decode()
    assert "no file added, 1 not read." in shown
    assert f"{shelf}/bad is in sea" not in shown


def test_an_unexpected_error_ends_the_adding(
    adder: FolderAdder, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Report:
        raise ValueError("a bad value")

    monkeypatch.setattr(Index, "add", fail)
    adder.add(str(shelf / "new"))
    assert wait(adder).problem == "ValueError: a bad value"


def test_a_folder_waits_for_another_writer(
    adder: FolderAdder, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Index.add
    tries = []
    status = ServiceStatus(version="1", ready=True, generator="", indexes=())

    def add_later(index: Index, *paths: str, **options: object) -> Report:
        tries.append(render_state(status, added=adder.last))
        if len(tries) < 3:
            raise Locked("another process writes")
        return add(index, *paths, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(added_folders, "RETRY_S", 0.01, raising=False)
    monkeypatch.setattr(Index, "add", add_later)
    adder.add(str(shelf / "new"))
    assert wait(adder).problem == ""
    assert len(tries) == 3
    assert f"{shelf}/new waits to be read: another process writes" not in tries[0]
    assert f"{shelf}/new waits to be read: another process writes" in tries[2]
    assert "data-busy" in tries[2]
    assert wait(adder).waits_for == ""


def test_a_folder_that_becomes_a_link_while_it_waits_is_not_added(
    adder: FolderAdder, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Index.add
    tries = []

    def add_after_a_swap(index: Index, *paths: str, **options: object) -> Report:
        tries.append(paths)
        if len(tries) > 1:
            return add(index, *paths, **options)  # type: ignore[arg-type]
        (shelf / "new").rename(shelf / "old")
        (shelf / "new").symlink_to(tmp_path / "secret")
        raise Locked("another process writes")

    monkeypatch.setattr(added_folders, "RETRY_S", 0.01, raising=False)
    monkeypatch.setattr(Index, "add", add_after_a_swap)
    adder.add(str(shelf / "new"))
    assert "leads elsewhere by a link" in wait(adder).problem
    assert len(tries) == 1


def test_an_index_that_is_replaced_while_a_folder_waits_is_taken_anew(
    adder: FolderAdder, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = Index.add
    given: list[Index] = []

    def add_after_a_rebuild(index: Index, *paths: str, **options: object) -> Report:
        given.append(index)
        if len(given) > 1:
            return add(index, *paths, **options)  # type: ignore[arg-type]
        shutil.copytree(tmp_path / "sea.crx", tmp_path / "copy.crx")
        shutil.rmtree(tmp_path / "sea.crx")
        (tmp_path / "copy.crx").rename(tmp_path / "sea.crx")
        raise Locked("another process writes")

    monkeypatch.setattr(added_folders, "RETRY_S", 0.01, raising=False)
    monkeypatch.setattr(Index, "add", add_after_a_rebuild)
    adder.add(str(shelf / "new"))
    assert wait(adder).problem == ""
    assert given[0] is not given[1]
    assert adder.service.search(SearchQuery(query="narwhal")).passages[0].title == "Narwhal"


def test_a_server_that_ends_waits_for_no_writer(
    adder: FolderAdder, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Report:
        raise Locked("another process writes")

    monkeypatch.setattr(added_folders, "RETRY_S", 60.0, raising=False)
    monkeypatch.setattr(Index, "add", refuse)
    adder.add(str(shelf / "new"))
    adder.close()
    assert not adder.is_running
    assert wait(adder).problem == ""
