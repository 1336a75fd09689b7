"""What has changed in the indexed folders is found by the next call of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp")

import crx
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


def test_what_is_too_much_to_read_is_a_note(
    docs: Path, service: SearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresher = IndexRefresher(service)
    assert find(service, refresher, "first")[1] == []
    monkeypatch.setattr(fresh, "MOST_BYTES", 5)
    (docs / "a.py").write_text("second = 2\n")
    count, (note, *_) = find(service, refresher, "second")
    assert count == 0
    assert note == '1 changed files are not read: 11 bytes; "crx index" reads them'
