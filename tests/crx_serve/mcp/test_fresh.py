"""What has changed in the indexed folders is found by the next call of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import crx
from crx._index.handle import Index
from crx.errors import Locked
from crx_serve.mcp import fresh
from crx_serve.mcp.fresh import IndexRefresher
from crx_serve.mcp.tools import READING
from crx_serve.served_index import ServedIndex
from crx_serve.service import SearchService


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder that is indexed, with a text, a file without any, and a folder in it."""
    docs = tmp_path / "docs"
    (docs / "within").mkdir(parents=True)
    (docs / "a.py").write_text("first = 1\n")
    (docs / "within" / "b.md").write_text("A quoll.\n")
    (docs / "empty.py").touch()
    with crx.open(tmp_path / "docs.crx", settings={"embedder": "none"}) as index:
        index.add(docs)
    return docs


@pytest.fixture
def service(docs: Path) -> Iterator[SearchService]:
    """A service of the folder."""
    made = SearchService([ServedIndex("docs", docs.with_suffix(".crx"))])
    yield made
    made.close()


def find(service: SearchService, refresher: IndexRefresher, word: str) -> tuple[int, list[str]]:
    (tool,) = [each for each in READING if each.name == "search"]
    arguments = {"query": word, "match": "literal"}
    answer = tool.call(service, arguments, lambda *_: None, notes=refresher.refresh())
    (content,) = answer.content
    found = json.loads(content.text)  # type: ignore[union-attr]
    return found.get("count", 0), found.get("notes", [])


def test_each_edit_is_found_by_the_next_search(docs: Path, service: SearchService) -> None:
    refresher = IndexRefresher(service)
    (docs / "a.py").write_text("before = 2\n")
    assert find(service, refresher, "before = 2")[0] == 1
    for number in range(5):
        (docs / "a.py").write_text(f"value = {1000 + number}\n")
        assert find(service, refresher, f"value = {1000 + number}")[0] == 1
    assert find(service, refresher, "value = 1000")[0] == 0
    (docs / "empty.py").write_text("filled = 1\n")
    assert find(service, refresher, "filled = 1")[0] == 1
    (docs / "new" / "deep").mkdir(parents=True)
    (docs / "new" / "deep" / "c.md").write_text("A numbat.\n")
    assert find(service, refresher, "numbat")[0] == 1
    (docs / "new" / "deep" / "c.md").write_text("A wombat.\n")
    assert find(service, refresher, "wombat")[0] == 1
    (docs / "within" / "b.md").unlink()
    assert find(service, refresher, "quoll")[0] == 0


def test_an_edit_is_found_later_if_the_index_cannot_be_written_now(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresher = IndexRefresher(service)
    find(service, refresher, "first")
    (docs / "a.py").write_text("second = 2\n")

    def refuse(*_: object, **__: object) -> None:
        raise Locked("another process is writing")

    with monkeypatch.context() as held:
        held.setattr(Index, "refresh", refuse)
        note = "not refreshed: another process is writing"
        assert find(service, refresher, "second") == (0, ["nothing found", note])
    assert find(service, refresher, "second")[0] == 1


def test_a_large_file_is_left_and_the_others_are_read(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "MOST_BYTES", 30)
    refresher = IndexRefresher(service)
    (docs / "large").mkdir()
    (docs / "large" / "b.md").write_text("A bilby in a desert, and another one.\n")
    told = 'not read: 1 changed file, 38 bytes; "crx index" reads them'
    for number in range(3):
        (docs / "a.py").write_text(f"value = {1000 + number}\n")
        (docs / "large" / "c.md").write_text(f"Numbat {1000 + number}.\n")
        assert find(service, refresher, f"value = {1000 + number}") == (1, [told])
        assert find(service, refresher, f"Numbat {1000 + number}") == (1, [told])
    assert find(service, refresher, "bilby")[0] == 0
    with crx.open(docs.with_suffix(".crx")) as other:
        other.refresh()
    assert find(service, refresher, "bilby") == (1, [])


def test_what_was_changed_before_the_server_was_started_is_read_within_the_same_bounds(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "a.py").write_text("second = 2\n")
    (docs / "within" / "b.md").write_text("A quoll, a bilby, a numbat and a wombat.\n")
    monkeypatch.setattr(fresh, "MOST_BYTES", 30)
    refresher = IndexRefresher(service)
    assert find(service, refresher, "second")[0] == 1
    assert find(service, refresher, "bilby")[0] == 0


def test_nothing_is_written_if_nothing_has_changed(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Index, "refresh")
    for _ in range(2):
        refresher = IndexRefresher(service)
        assert find(service, refresher, "first") == (1, [])
        assert find(service, refresher, "first") == (1, [])


def test_ignore_files_and_folders_that_held_no_document_are_looked_at(
    docs: Path, service: SearchService
) -> None:
    (docs / "bare").mkdir()
    refresher = IndexRefresher(service)
    find(service, refresher, "first")
    (docs / "bare" / "c.md").write_text("A numbat.\n")
    assert find(service, refresher, "numbat")[0] == 1
    (docs / ".gitignore").write_text("a.py\n")
    assert find(service, refresher, "first")[0] == 0


def test_more_than_can_be_looked_at_in_time_is_a_note(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fresh, "LOOK_S", -1.0)
    note = 'not all files were looked at for changes; "crx index" looks at all'
    assert find(service, IndexRefresher(service), "first") == (1, [note])
    monkeypatch.setattr(fresh, "MOST_DOCUMENTS", 1)
    note = '2 documents are not looked at for changes; "crx index" does it'
    assert find(service, IndexRefresher(service), "first") == (1, [note])
